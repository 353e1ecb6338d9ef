"""Received messages that are not acknowledged."""

from functools import partial

from ..drivers.process import Fields
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, Producer, shown

SHORTEST_MS = 10_000
LONGER_MS = 40_000
SECONDS = 60.0
"""Timeout for the response to a receive."""


def _ready(s: ScenarioContext) -> tuple[str, Producer, Consumer]:
    """Create a topic, a producer, and a simple consumer that reads it."""
    topic, group = s.pair("simple")
    return topic, s.producer(topic), s.consumer(group, topic)


def _received(s: ScenarioContext, consumer: Consumer, count: int) -> list[Fields]:
    """Receive until there are `count` messages."""
    messages: list[Fields] = []
    while len(messages) < count:
        pending = consumer.post_receive(SHORTEST_MS)
        messages += s.finish(pending, seconds=SECONDS)["messages"]
    return messages


@scenario("PopReviveService.reviveRetry", verbs={"simple", "receive"}, time_passes=True)
def an_unacknowledged_message_is_redelivered_after_its_invisible_duration(s: ScenarioContext) -> None:
    """A received message is redelivered after its invisible duration, unless it is acknowledged."""
    topic, producer, consumer = _ready(s)
    producer.send(topic, "left")
    producer.send(topic, "done")
    first = _received(s, consumer, 2)
    consumer.ack([message for message in first if shown(message)["body"] == "done"])
    s.note("first", sorted((shown(message, "attempt") for message in first), key=str))
    again = _received(s, consumer, 1)
    s.note("again", [shown(message, "attempt") for message in again])
    consumer.ack(again)


@scenario("ChangeInvisibleTimeProcessor.processRequest", verbs={"simple", "invisible"}, time_passes=True)
def a_shortened_invisible_duration_leads_to_earlier_redelivery(s: ScenarioContext) -> None:
    """A message whose invisible duration is changed from an hour to ten seconds is redelivered soon."""
    topic, producer, consumer = _ready(s)
    producer.send(topic, "left")
    [message] = consumer.receive(3_600_000)
    consumer.driver.call("invisible", on=consumer.name, h=message["h"], ms=SHORTEST_MS)
    again = _received(s, consumer, 1)
    s.note("again", [shown(message, "attempt") for message in again])
    s.refusal("acknowledged", lambda: consumer.ack(again))


@scenario("ChangeInvisibleTimeProcessor.processRequest", verbs={"simple", "invisible"}, time_passes=True)
def a_prolonged_invisible_duration_leads_to_later_redelivery(s: ScenarioContext) -> None:
    """A message whose invisible duration is changed from ten seconds to forty is redelivered after unchanged ones."""
    topic, producer, consumer = _ready(s)
    producer.send(topic, "left")
    producer.send(topic, "kept")
    watch = s.stopwatch()
    [kept] = [message for message in _received(s, consumer, 2) if shown(message)["body"] == "kept"]
    consumer.driver.call("invisible", on=consumer.name, h=kept["h"], ms=LONGER_MS)
    for label, low, high in (("first", 9, 35), ("second", 39, 75)):
        again = _received(s, consumer, 1)
        consumer.ack(again)
        s.note(f"{label} again", [shown(message, "attempt") for message in again])
        s.note(f"{label} after", watch.between(low, high))


@scenario("AckMessageActivity.processAckMessage", verbs={"simple", "receive", "ack"}, time_passes=True)
def only_the_new_receipt_handle_acknowledges_a_redelivered_message(s: ScenarioContext) -> None:
    """The receipt handle of a message that was redelivered no longer has an effect; the new one does."""
    topic, producer, consumer = _ready(s)
    producer.send(topic, "left")
    old = _received(s, consumer, 1)
    new = _received(s, consumer, 1)
    s.note("again", [shown(message, "attempt") for message in new])
    s.refusal("acknowledged by the old handle", lambda: consumer.ack(old))
    if "invisible" in s.verbs:
        change = partial(consumer.driver.call, "invisible", on=consumer.name, h=old[0]["h"], ms=LONGER_MS)
        s.refusal("changed by the old handle", change)
    s.refusal("acknowledged by the new handle", lambda: consumer.ack(new))
