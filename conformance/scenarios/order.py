"""Ordered messages."""

from rocketmq_testkit.emulator.message.names import dlq_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..drivers.process import Fields
from ..scenario import scenario
from ..sdk.bulk_messages import COUNT, QUEUES, order_of, send_bulk
from ..sdk.scenario_context import Stage
from ..sdk.sdk_clients import Consumer, shown, text

SECONDS = 150.0
INVISIBLE_MS = 10_000
"""The shortest invisible duration that a proxy accepts."""
LONGER_MS = 20_000


def send_four(s: Stage, topic: str) -> None:
    """Send `m-0` to `m-3` of one message group, for a consumer that starts later.

    If an SDK does not wait for a failed message, its next message depends on those that it received together with it.
    """
    s.producer(topic).send_numbered(topic, 4, "m-", group="one")


@scenario("ConsumeMessageOrderlyService.ConsumeRequest.run", modes={"orderly"})
def each_message_group_in_order(s: Stage) -> None:
    """An orderly push consumer receives the messages of each message group in the order of sending."""
    topic, group = s.pair("orderly", queues=QUEUES)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "orderly")
    send_bulk(producer, topic, "orderly")
    received = s.wait_for(COUNT, consumer)
    s.see("count", len(received))
    s.see("order", order_of(received))


@scenario("PopMessageProcessor.popMsgFromQueue", verbs={"simple"})
def an_ordered_group_waits_for_acknowledgement(s: Stage) -> None:
    """A simple consumer of an ordered group receives the next messages only after it acknowledges those it holds."""
    topic, group = s.pair("orderly")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    producer.send_numbered(topic, 4, group="one")
    first = consumer.receive(count=2)
    s.see("first", [text(message) for message in first])
    s.see("while these are held", [text(message) for message in consumer.receive(count=2)])
    consumer.ack(first)
    second = consumer.receive(count=2)
    s.see("after the acknowledgement", [text(message) for message in second])
    consumer.ack(second)


def _two_of_three(s: Stage) -> tuple[Consumer, list[Fields]]:
    """Return a simple consumer of an ordered group that holds m0 and m1, while m2 waits behind them."""
    topic, group = s.pair("orderly")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    producer.send_numbered(topic, 3, group="one")
    first = consumer.receive(INVISIBLE_MS, count=2)
    s.see("first", [shown(message, "attempt") for message in first])
    return consumer, first


def _next(s: Stage, consumer: Consumer, count: int = 16) -> list[dict[str, object]]:
    """Acknowledge and return the messages of the next receive that returns some."""
    messages: list[Fields] = []
    while not messages:
        messages = s.finish(consumer.post_receive(INVISIBLE_MS, count), seconds=SECONDS)["messages"]
    consumer.ack(messages)
    return [shown(message, "attempt") for message in messages]


@scenario("ConsumerOrderInfoManager.commitAndNext", verbs={"simple", "receive"}, passes=True)
def the_second_of_two_is_acknowledged(s: Stage) -> None:
    """If only the second of two ordered messages is acknowledged, both are redelivered, and then the next."""
    consumer, [_, second] = _two_of_three(s)
    consumer.ack([second])
    held = s.finish(consumer.post_receive(INVISIBLE_MS))
    s.see("while the first is held", held["messages"])
    s.see("again", [_next(s, consumer, count=1) for _ in range(3)])


@scenario("ConsumerOrderInfoManager.updateNextVisibleTime", verbs={"simple", "receive", "invisible"}, passes=True)
def the_invisible_time_of_an_ordered_message_is_changed(s: Stage) -> None:
    """An ordered message whose invisible duration is extended holds back the following ones until it is redelivered."""
    consumer, [first, second] = _two_of_three(s)
    consumer.driver.call("invisible", on=consumer.name, h=first["h"], ms=LONGER_MS)
    consumer.ack([second])
    watch = s.stopwatch()
    s.see("again", _next(s, consumer, count=1))
    s.see("after", watch.between(LONGER_MS / 1000 - 1, LONGER_MS / 1000 + 15))
    s.see("then", [_next(s, consumer, count=1) for _ in range(2)])


@scenario(
    "ConsumeMessageOrderlyService.processConsumeResult",
    modes={"orderly"},
    without={"node": "it never retries a failed message of an ordered group"},
)
def a_failed_message_comes_again(s: Stage) -> None:
    """A message that an orderly push consumer fails once is redelivered, in order if the SDK waits."""
    topic, group = s.pair("orderly")
    send_four(s, topic)
    consumer = s.consumer(group, topic, "orderly", fail={"m-1": 1})
    s.wait_for(5, consumer)
    s.see("received", [[text(message), message["ok"]] for message in consumer.messages])


@scenario(
    "ConsumeMessageOrderlyService.checkReconsumeTimes",
    modes={"orderly"},
    without={
        "node": "it never retries a failed message of an ordered group",
        "cpp": "it does not limit delivery attempts",
    },
)
def a_message_that_always_fails_is_skipped(s: Stage) -> None:
    """A message that always fails goes to the dead letter queue, and the next ones of its message group arrive."""
    topic, group = s.topic(kind="FIFO"), s.group(orderly=True, retryMaxTimes=1)
    send_four(s, topic)
    more = {} if s.grpc else {"max_reconsume": 1}
    consumer = s.consumer(group, topic, "orderly", fail={"m-1": 9}, **more)
    s.wait_for(5, consumer, seconds=SECONDS)
    dead = {"topic": dlq_topic(group), "queueId": 0}

    def buried() -> bool:
        answer = s.world.ask(RequestCode.GET_MAX_OFFSET, dead)
        return answer.code == 0 and answer["offset"] == "1"

    s.wait_until(buried, "a dead letter", consumers=[consumer], seconds=SECONDS)
    s.settle(consumer)  # the driver may report the last call after its effect
    s.see("received", [[text(message), message["attempt"], message["ok"]] for message in consumer.messages])
