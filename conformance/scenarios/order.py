"""Messages in order."""

from rocketmq_testkit.emulator.message.names import dlq_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..actors import Consumer, shown, text
from ..bulk import COUNT, QUEUES, order_of, send_bulk
from ..drivers.process import Fields
from ..scenario import scenario
from ..stage import Stage

SECONDS = 150.0
INVISIBLE_MS = 10_000
"""The shortest that a proxy takes."""
LONGER_MS = 20_000


def send_four(s: Stage, topic: str) -> None:
    """Send `m-0` to `m-3` of one message group, for a consumer that comes later.

    What an SDK that does not wait is given next depends on what it took along with the message that fails.
    """
    s.producer(topic).send_numbered(topic, 4, "m-", group="one")


@scenario("ConsumeMessageOrderlyService.ConsumeRequest.run", modes={"orderly"})
def each_message_group_in_order(s: Stage) -> None:
    """An orderly push consumer is given the messages of each message group in the order of sending."""
    topic, group = s.pair("orderly", queues=QUEUES)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "orderly")
    send_bulk(producer, topic, "orderly")
    received = s.wait_for(COUNT, consumer)
    s.see("count", len(received))
    s.see("order", order_of(received))


@scenario("PopMessageProcessor.popMsgFromQueue", verbs={"simple"})
def an_ordered_group_waits_for_acknowledgement(s: Stage) -> None:
    """A simple consumer of an ordered group is given the next messages only after those that it holds."""
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
    """A simple consumer of an ordered group and what it holds: m0 and m1, while m2 waits behind them."""
    topic, group = s.pair("orderly")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    producer.send_numbered(topic, 3, group="one")
    first = consumer.receive(INVISIBLE_MS, count=2)
    s.see("first", [shown(message, "attempt") for message in first])
    return consumer, first


def _next(s: Stage, consumer: Consumer, count: int = 16) -> list[dict[str, object]]:
    """What the next receive that is given something is given, which is acknowledged."""
    messages: list[Fields] = []
    while not messages:
        messages = s.finish(consumer.post_receive(INVISIBLE_MS, count), seconds=SECONDS)["messages"]
    consumer.ack(messages)
    return [shown(message, "attempt") for message in messages]


@scenario("ConsumerOrderInfoManager.commitAndNext", verbs={"simple", "receive"}, passes=True)
def the_second_of_two_is_acknowledged(s: Stage) -> None:
    """Acknowledging the second of two ordered messages lets nobody pass: both come again, and then the next."""
    consumer, [_, second] = _two_of_three(s)
    consumer.ack([second])
    held = s.finish(consumer.post_receive(INVISIBLE_MS))
    s.see("while the first is held", held["messages"])
    s.see("again", [_next(s, consumer, count=1) for _ in range(3)])


@scenario("ConsumerOrderInfoManager.updateNextVisibleTime", verbs={"simple", "receive", "invisible"}, passes=True)
def the_invisible_time_of_an_ordered_message_is_changed(s: Stage) -> None:
    """An ordered message whose invisible time is made longer keeps those behind it back until it comes again."""
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
    without={"node": "it never tries a failed message of an ordered group again"},
)
def a_failed_message_comes_again(s: Stage) -> None:
    """An orderly push consumer that fails a message once is given it again; the order holds where the SDK waits."""
    topic, group = s.pair("orderly")
    send_four(s, topic)
    consumer = s.consumer(group, topic, "orderly", fail={"m-1": 1})
    s.wait_for(5, consumer)
    s.see("received", [[text(message), message["ok"]] for message in consumer.messages])


@scenario(
    "ConsumeMessageOrderlyService.checkReconsumeTimes",
    modes={"orderly"},
    without={
        "node": "it never tries a failed message of an ordered group again",
        "cpp": "it has no limit of attempts",
    },
)
def a_message_that_always_fails_is_skipped(s: Stage) -> None:
    """A message that fails as often as it may goes to the dead letter queue, and the next of its message group come."""
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
    s.settle(consumer)  # its last call may be told after what came of it
    s.see("received", [[text(message), message["attempt"], message["ok"]] for message in consumer.messages])
