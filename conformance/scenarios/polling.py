"""Long polling: requests that wait for messages."""

from ..drivers.process import Fields
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import AWAIT_MS, shown

SECOND_FORM = {"enableRetryTopicV2": "true", "retrieveMessageFromPopRetryTopicV1": "false"}
"""The broker uses pop retry topics with V2 names only."""
INVISIBLE_MS = 10_000
"""The shortest invisible duration that a proxy accepts."""


@scenario("PopLongPollingService.notifyMessageArriving", verbs={"simple"})
def a_new_message_wakes_a_held_receive(s: ScenarioContext) -> None:
    """A waiting receive ends when a message arrives, not at its timeout."""
    topic, group = s.pair("simple")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, await_ms=4 * AWAIT_MS)
    producer.send(topic, "first")
    consumer.ack(consumer.receive(count=1))
    pending = consumer.post_receive(30_000)
    s.idle(1.0)
    s.note("ended before anything came", pending.done())
    watch = s.stopwatch()
    producer.send(topic, "second")
    messages = s.finish(pending, jump_s=0)["messages"]
    s.note("messages", len(messages))
    s.note("after", watch.between(0, 3))


def _note_what_ends_it(s: ScenarioContext, expression: object, unwanted: Fields, wanted: Fields) -> None:
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
    s.note("ended by what it does not want", pending.done())
    watch = s.stopwatch()
    producer.send(topic, "wanted", **wanted)
    messages = s.finish(pending, jump_s=0)["messages"]
    s.note("messages", [shown(message) for message in messages])
    s.note("after", watch.between(0, 3))
    consumer.ack(messages)


@scenario("PopLongPollingService.notifyMessageArriving", verbs={"simple"})
def a_held_receive_with_a_tag_is_woken_only_by_a_matching_message(s: ScenarioContext) -> None:
    """A receive of one tag keeps waiting when a message of another tag arrives, and ends with the first of its own."""
    _note_what_ends_it(s, "a", {"tag": "b"}, {"tag": "a"})


@scenario("PopLongPollingService.notifyMessageArriving", verbs={"simple"})
def a_held_receive_with_sql92_is_woken_only_by_a_matching_message(s: ScenarioContext) -> None:
    """A receive with an SQL92 condition keeps waiting when a message does not satisfy it, and ends with the next."""
    condition = {"expr": "n > 5", "type": "SQL92"}
    _note_what_ends_it(s, condition, {"props": {"n": "1"}}, {"props": {"n": "9"}})


@scenario("PullRequestHoldService.notifyMessageArriving", modes={"concurrent"})
def an_idle_push_consumer_receives_a_new_message_at_once(s: ScenarioContext) -> None:
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
    s.note("after", watch.between(0, 3))


@scenario("ReceiveMessageActivity.receiveMessage", verbs={"simple"})
def a_receive_without_messages_ends_at_its_timeout(s: ScenarioContext) -> None:
    """A receive without messages ends empty at its timeout."""
    topic, group = s.pair("simple")
    consumer = s.consumer(group, topic)
    watch = s.stopwatch()
    messages = consumer.receive()
    s.note("messages", messages)
    s.note("after", watch.between(AWAIT_MS / 1000 - 0.5, AWAIT_MS / 1000 + 4))


HEARD_SECONDS, NOT_HEARD_SECONDS = (10, 18), (19.5, 27)
"""Bounds of a 20 s receive that is woken by a redelivery after 10 s, and of one that is not."""


def _note_what_comes_back(s: ScenarioContext) -> None:
    """Wait with one receive until an unacknowledged message is redelivered."""
    topic, group = s.pair("simple")
    consumer = s.consumer(group, topic, await_ms=4 * AWAIT_MS)
    s.producer(topic).send(topic, "left")
    s.note("first", [shown(message, "attempt") for message in consumer.receive(INVISIBLE_MS)])
    watch = s.stopwatch()
    again = s.finish(consumer.post_receive(INVISIBLE_MS))["messages"]
    s.note("after", watch.within(HEARD_SECONDS, NOT_HEARD_SECONDS))
    s.note("again", [shown(message, "attempt") for message in again])
    consumer.ack(again)


@scenario("PopLongPollingService.notifyMessageArrivingWithRetryTopic", verbs={"simple"}, time_passes=True)
def a_held_receive_returns_a_redelivered_message_by_its_timeout(s: ScenarioContext) -> None:
    """A waiting receive returns a redelivered message at its timeout, not as soon as the message is redelivered."""
    _note_what_comes_back(s)


@scenario(
    "PopLongPollingService.notifyMessageArrivingWithRetryTopic",
    verbs={"simple"},
    settings=SECOND_FORM,
    time_passes=True,
)
def a_redelivered_message_in_a_v2_retry_topic_wakes_a_held_receive(s: ScenarioContext) -> None:
    """With v2 retry topics a waiting receive ends as soon as a message is redelivered."""
    _note_what_comes_back(s)


@scenario("ReceiveMessageActivity.receiveMessage", verbs={"simple", "receive"})
def a_receive_returns_at_most_32_messages(s: ScenarioContext) -> None:
    """A receive of more than 32 messages returns 32, and the next receive returns the rest."""
    topic, group = s.pair("simple")
    s.producer(topic).send_numbered(topic, 40)
    consumer = s.consumer(group, topic)
    for label in ("first", "second"):
        messages = consumer.receive(count=33)
        consumer.ack(messages)
        s.note(label, len(messages))


@scenario("DefaultLitePullConsumerImpl.poll", verbs={"lite", "poll"})
def a_poll_without_messages_ends_at_its_timeout(s: ScenarioContext) -> None:
    """A poll without messages ends empty at its timeout."""
    topic, group = s.pair("lite")
    consumer = s.consumer(group, topic, "lite")
    watch = s.stopwatch()
    messages = consumer.poll(1000)
    s.note("messages", messages)
    s.note("after", watch.between(0, 4))
