"""Waiting for messages."""

from ..actors import AWAIT_MS
from ..scenario import scenario
from ..stage import Stage


@scenario("PopLongPollingService.notifyMessageArriving", verbs={"simple"})
def a_waiting_receive_ends_with_the_message(s: Stage) -> None:
    """A receive that waits ends when a message comes, not when its time is over."""
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


@scenario("PullRequestHoldService.notifyMessageArriving", modes={"concurrent"})
def a_waiting_push_consumer_is_given_a_message_at_once(s: Stage) -> None:
    """A push consumer that has nothing to do is given a message when it comes, not when its poll is over."""
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
    """A receive that nothing comes for ends with nothing when its time is over."""
    topic, group = s.pair("simple")
    consumer = s.consumer(group, topic)
    watch = s.stopwatch()
    messages = consumer.receive()
    s.see("messages", messages)
    s.see("after", watch.between(AWAIT_MS / 1000 - 0.5, AWAIT_MS / 1000 + 4))


@scenario("DefaultLitePullConsumerImpl.poll", verbs={"lite", "poll"})
def an_empty_poll_ends_on_time(s: Stage) -> None:
    """A poll that nothing comes for ends with nothing when its time is over."""
    topic, group = s.pair("lite")
    consumer = s.consumer(group, topic, "lite")
    watch = s.stopwatch()
    messages = consumer.poll(1000)
    s.see("messages", messages)
    s.see("after", watch.between(0, 4))
