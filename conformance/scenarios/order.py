"""Ordered messages."""

from rocketmq_testkit.emulator.message.names import dlq_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..drivers.process import Fields
from ..scenario import scenario
from ..sdk.bulk_messages import COUNT, QUEUES, order_of_bulk, send_bulk
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, shown, text

SECONDS = 150.0
"""Timeout for a redelivery, and for the dead letter after the last one."""
INVISIBLE_MS = 10_000
"""The shortest invisible duration that a proxy accepts."""
LONGER_MS = 20_000


def send_four(s: ScenarioContext, topic: str) -> None:
    """Send `m-0` to `m-3` of one message group, for a consumer that starts later.

    Some SDKs call the listener with the next messages while a failed one waits for its redelivery. The order of these
    calls depends on which messages they received together.
    """
    s.producer(topic).send_numbered(topic, 4, "m-", group="one")


@scenario("ConsumeMessageOrderlyService.ConsumeRequest.run", modes={"orderly"})
def messages_of_a_message_group_arrive_in_send_order(s: ScenarioContext) -> None:
    """An orderly push consumer receives the messages of each message group in the order of sending."""
    topic, group = s.pair("orderly", queues=QUEUES)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "orderly")
    send_bulk(producer, topic, "orderly")
    received = s.wait_for(COUNT, consumer)
    s.note("count", len(received))
    s.note("order", order_of_bulk(received))


@scenario("PopMessageProcessor.popMsgFromQueue", verbs={"simple"})
def an_ordered_group_waits_for_acknowledgement(s: ScenarioContext) -> None:
    """A simple consumer of an ordered group receives the next messages only after it acknowledges those it holds."""
    topic, group = s.pair("orderly")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    producer.send_numbered(topic, 4, group="one")
    first = consumer.receive(count=2)
    s.note("first", [text(message) for message in first])
    s.note("while these are held", [text(message) for message in consumer.receive(count=2)])
    consumer.ack(first)
    second = consumer.receive(count=2)
    s.note("after the acknowledgement", [text(message) for message in second])
    consumer.ack(second)


def _two_of_three(s: ScenarioContext) -> tuple[Consumer, list[Fields]]:
    """Return a simple consumer of an ordered group that holds m0 and m1, while m2 waits behind them."""
    topic, group = s.pair("orderly")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    producer.send_numbered(topic, 3, group="one")
    first = consumer.receive(INVISIBLE_MS, count=2)
    s.note("first", [shown(message, "attempt") for message in first])
    return consumer, first


def _next(s: ScenarioContext, consumer: Consumer, count: int = 16) -> list[dict[str, object]]:
    """Acknowledge and return the messages of the next receive that returns some."""
    messages: list[Fields] = []
    while not messages:
        messages = s.finish(consumer.post_receive(INVISIBLE_MS, count), seconds=SECONDS)["messages"]
    consumer.ack(messages)
    return [shown(message, "attempt") for message in messages]


@scenario("ConsumerOrderInfoManager.commitAndNext", verbs={"simple", "receive"}, time_passes=True)
def an_ack_of_only_the_second_ordered_message_redelivers_both(s: ScenarioContext) -> None:
    """If only the second of two ordered messages is acknowledged, both are redelivered, and then the next."""
    consumer, [_, second] = _two_of_three(s)
    consumer.ack([second])
    held = s.finish(consumer.post_receive(INVISIBLE_MS))
    s.note("while the first is held", held["messages"])
    s.note("again", [_next(s, consumer, count=1) for _ in range(3)])


@scenario("ConsumerOrderInfoManager.updateNextVisibleTime", verbs={"simple", "receive", "invisible"}, time_passes=True)
def a_longer_invisible_duration_blocks_the_following_ordered_messages(s: ScenarioContext) -> None:
    """An ordered message whose invisible duration is extended holds back the following ones until it is redelivered."""
    consumer, [first, second] = _two_of_three(s)
    consumer.driver.call("invisible", on=consumer.name, h=first["h"], ms=LONGER_MS)
    consumer.ack([second])
    watch = s.stopwatch()
    s.note("again", _next(s, consumer, count=1))
    s.note("after", watch.between(LONGER_MS / 1000 - 1, LONGER_MS / 1000 + 15))
    s.note("then", [_next(s, consumer, count=1) for _ in range(2)])


@scenario(
    "ConsumeMessageOrderlyService.processConsumeResult",
    modes={"orderly"},
    without={"node": "it never retries a failed message of an ordered group"},
)
def a_message_failed_by_an_orderly_consumer_is_redelivered(s: ScenarioContext) -> None:
    """A message that an orderly push consumer fails once is redelivered. Some SDKs hold back the next one till then."""
    topic, group = s.pair("orderly")
    send_four(s, topic)
    consumer = s.consumer(group, topic, "orderly", fail={"m-1": 1})
    s.wait_for(5, consumer)
    s.note("received", [[text(message), message["ok"]] for message in consumer.messages])


@scenario(
    "ConsumeMessageOrderlyService.checkReconsumeTimes",
    modes={"orderly"},
    without={
        "node": "it never retries a failed message of an ordered group",
        "cpp": "it does not limit delivery attempts",
    },
)
def an_ordered_message_that_always_fails_goes_to_the_dlq(s: ScenarioContext) -> None:
    """A message that always fails goes to the dead letter queue, and the next ones of its message group arrive."""
    topic, group = s.topic(kind="FIFO"), s.group(orderly=True, retryMaxTimes=1)
    send_four(s, topic)
    more = {} if s.grpc else {"max_reconsume": 1}
    consumer = s.consumer(group, topic, "orderly", fail={"m-1": 9}, **more)
    s.wait_for(5, consumer, seconds=SECONDS)
    dead = {"topic": dlq_topic(group), "queueId": 0}

    def buried() -> bool:
        response = s.admin.request(RequestCode.GET_MAX_OFFSET, dead)
        return response.code == 0 and response["offset"] == "1"

    s.wait_until(buried, "a dead letter", consumers=[consumer], seconds=SECONDS)
    s.wait_until_idle(consumer)  # the driver may report the last call after its effect
    s.note("received", [[text(message), message["attempt"], message["ok"]] for message in consumer.messages])
