"""Long polling: requests that wait for messages."""

from ..drivers.process import Fields
from ..scenario import scenario
from ..sdk.scenario_context import Stage
from ..sdk.sdk_clients import AWAIT_MS, shown

SECOND_FORM = {"enableRetryTopicV2": "true", "retrieveMessageFromPopRetryTopicV1": "false"}
INVISIBLE_MS = 10_000
"""The shortest invisible duration that a proxy accepts."""


@scenario("PopLongPollingService.notifyMessageArriving", verbs={"simple"})
def a_waiting_receive_ends_with_the_message(s: Stage) -> None:
    """A waiting receive ends when a message arrives, not at its timeout."""
    topic, group = s.pair("simple")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, await_ms=4 * AWAIT_MS)
    producer.send(topic, "first")
    consumer.ack(consumer.receive(count=1))
    pending = consumer.post_receive(30_000)
    s.idle(1.0)
    s.see("ended before anything came", pending.done())
    watch = s.stopwatch()
    producer.send(topic, "second")
    messages = s.finish(pending, passing=0)["messages"]
    s.see("messages", len(messages))
    s.see("after", watch.between(0, 3))


def _see_what_ends_it(s: Stage, expression: object, unwanted: Fields, wanted: Fields) -> None:
    """Wait with one receive of an expression, send a message that does not match, and then one that does."""
    topic, group = s.pair("simple")
    producer = s.producer(topic)
    consumer = s.consumer(group, {topic: expression}, await_ms=4 * AWAIT_MS)
    producer.send(topic, "first", **wanted)
    consumer.ack(consumer.receive(count=1))
    pending = consumer.post_receive(30_000)
    s.idle(1.0)
    producer.send(topic, "unwanted", **unwanted)
    s.idle(1.0)
    s.see("ended by what it does not want", pending.done())
    watch = s.stopwatch()
    producer.send(topic, "wanted", **wanted)
    messages = s.finish(pending, passing=0)["messages"]
    s.see("messages", [shown(message) for message in messages])
    s.see("after", watch.between(0, 3))
    consumer.ack(messages)


@scenario("PopLongPollingService.notifyMessageArriving", verbs={"simple"})
def a_waiting_receive_of_a_tag_ends_with_its_message(s: Stage) -> None:
    """A receive of one tag keeps waiting when a message of another tag arrives, and ends with the first of its own."""
    _see_what_ends_it(s, "a", {"tag": "b"}, {"tag": "a"})


@scenario("PopLongPollingService.notifyMessageArriving", verbs={"simple"})
def a_waiting_receive_of_a_condition_ends_with_its_message(s: Stage) -> None:
    """A receive with an SQL92 condition keeps waiting when a message does not satisfy it, and ends with the next."""
    condition = {"expr": "n > 5", "type": "SQL92"}
    _see_what_ends_it(s, condition, {"props": {"n": "1"}}, {"props": {"n": "9"}})


@scenario("PullRequestHoldService.notifyMessageArriving", modes={"concurrent"})
def a_waiting_push_consumer_is_given_a_message_at_once(s: Stage) -> None:
    """An idle push consumer receives a message when it arrives, not when its poll times out."""
    topic, group = s.pair("concurrent")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent")
    producer.send(topic, "first")
    s.wait_for(1, consumer)
    s.idle(1.0)
    watch = s.stopwatch()
    producer.send(topic, "second")
    s.wait_for(2, consumer)
    s.see("after", watch.between(0, 3))


@scenario("ReceiveMessageActivity.receiveMessage", verbs={"simple"})
def an_empty_receive_ends_on_time(s: Stage) -> None:
    """A receive without messages ends empty at its timeout."""
    topic, group = s.pair("simple")
    consumer = s.consumer(group, topic)
    watch = s.stopwatch()
    messages = consumer.receive()
    s.see("messages", messages)
    s.see("after", watch.between(AWAIT_MS / 1000 - 0.5, AWAIT_MS / 1000 + 4))


HEARD_SECONDS, NOT_HEARD_SECONDS = (10, 18), (19.5, 27)
"""Bounds of a 20 s receive that is woken by a redelivery after 10 s, and of one that is not."""


def _see_what_comes_back(s: Stage) -> None:
    """Wait with one receive until an unacknowledged message is redelivered."""
    topic, group = s.pair("simple")
    consumer = s.consumer(group, topic, await_ms=4 * AWAIT_MS)
    s.producer(topic).send(topic, "left")
    s.see("first", [shown(message, "attempt") for message in consumer.receive(INVISIBLE_MS)])
    watch = s.stopwatch()
    again = s.finish(consumer.post_receive(INVISIBLE_MS))["messages"]
    s.see("after", watch.within(HEARD_SECONDS, NOT_HEARD_SECONDS))
    s.see("again", [shown(message, "attempt") for message in again])
    consumer.ack(again)


@scenario("PopLongPollingService.notifyMessageArrivingWithRetryTopic", verbs={"simple"}, passes=True)
def a_waiting_receive_does_not_hear_of_what_comes_back(s: Stage) -> None:
    """A waiting receive returns a redelivered message at its timeout, not as soon as the message is redelivered."""
    _see_what_comes_back(s)


@scenario(
    "PopLongPollingService.notifyMessageArrivingWithRetryTopic",
    verbs={"simple"},
    settings=SECOND_FORM,
    passes=True,
)
def a_waiting_receive_hears_of_what_comes_back_by_v2(s: Stage) -> None:
    """With v2 retry topics a waiting receive ends as soon as a message is redelivered."""
    _see_what_comes_back(s)


@scenario("ReceiveMessageActivity.receiveMessage", verbs={"simple", "receive"})
def a_receive_brings_no_more_than_32(s: Stage) -> None:
    """A receive of more than 32 messages returns 32, and the next receive returns the rest."""
    topic, group = s.pair("simple")
    s.producer(topic).send_numbered(topic, 40)
    consumer = s.consumer(group, topic)
    for label in ("first", "second"):
        messages = consumer.receive(count=33)
        consumer.ack(messages)
        s.see(label, len(messages))


@scenario("DefaultLitePullConsumerImpl.poll", verbs={"lite", "poll"})
def an_empty_poll_ends_on_time(s: Stage) -> None:
    """A poll without messages ends empty at its timeout."""
    topic, group = s.pair("lite")
    consumer = s.consumer(group, topic, "lite")
    watch = s.stopwatch()
    messages = consumer.poll(1000)
    s.see("messages", messages)
    s.see("after", watch.between(0, 4))
