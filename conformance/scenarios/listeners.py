"""Listeners that hang, throw, or suspend their queue."""

from collections.abc import Sequence

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..drivers.process import Fields
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, text
from .order import send_four

SECONDS = 240.0
"""Timeout for a redelivery: Java checks for hanging listeners every minute; a message sent back takes 10 s more."""
HANG_SECONDS = 6
SUSPEND_SECONDS = 3
FOREVER_MS = 600_000
BRIEF_SECONDS = 3
LEAVE_SECONDS = 3
"""Within this time the proxy learns that a client has left, if the SDK reports it before its listener returns."""
SOON_SECONDS = 55
"""A message that was not released is redelivered after a minute."""
TOGETHER_SECONDS = 5
"""Messages released at once are redelivered within this time."""
TICK_SECONDS = 0.5
_CONCURRENT_LIMIT_MS = 60_000
_POP_LIMIT_MS = 5000
"""Shortest consume timeouts of the Java SDK: whole minutes for a concurrent consumer, 5 s for a popping one."""
_NO_LIMIT = "it has no consume timeout"
_NO_RETRY = "it never retries a failed message of an ordered group"


def _history(consumer: Consumer) -> list[list[object]]:
    return [[text(message), message["attempt"], message["did"]] for message in consumer.messages]


def _seconds(first: Fields, second: Fields) -> float:
    return float(second["t"] - first["t"]) / 1000


# --- hang


@scenario("ConsumeMessageConcurrentlyService.submitConsumeRequest", modes={"concurrent"}, outcomes={"hang"})
def other_messages_are_consumed_while_a_listener_hangs_on_one(s: ScenarioContext) -> None:
    """While a listener hangs on a message, others arrive; the first counts as consumed when the listener returns."""
    topic, group = s.pair("concurrent")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent", hang_ms={"slow": HANG_SECONDS * 1000})
    producer.send(topic, "slow")
    producer.send(topic, "quick")
    s.wait_for(2, consumer)
    s.wait_until_idle(consumer)
    s.note("history", _history(consumer))


@scenario("ConsumeMessageOrderlyService.ConsumeRequest.run", modes={"orderly"}, outcomes={"hang"})
def a_hanging_orderly_listener_blocks_its_message_group(s: ScenarioContext) -> None:
    """While an orderly listener hangs on a message, the next one of its message group waits."""
    topic, group = s.pair("orderly")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "orderly", hang_ms={"slow": SUSPEND_SECONDS * 1000})
    producer.send(topic, "slow", group="one")
    producer.send(topic, "quick", group="one")
    slow, quick = s.wait_for(2, consumer)
    s.wait_until_idle(consumer)
    s.note("history", _history(consumer))
    s.note("the next one waited", _seconds(slow, quick) >= SUSPEND_SECONDS)


def _again_while_it_hangs(s: ScenarioContext, consumer: Consumer, *, jump_s: float = 0) -> None:
    def called() -> Sequence[Fields]:
        return consumer.started_messages()

    if not s.becomes_true(lambda: len(called()) > 1, consumers=[consumer], seconds=SECONDS, jump_s=jump_s):
        s.note("called again", f"not within {SECONDS:g} s")
        return
    s.note("called", [[text(message), message["attempt"]] for message in called()[:2]])
    s.note("the same id", len({message["id"] for message in called()[:2]}) == 1)
    s.note("responded", len(consumer.messages))


@scenario(
    "ReceiveMessageActivity.receiveMessage", modes={"concurrent"}, outcomes={"hang"}, protocol="grpc", time_passes=True
)
def a_message_is_redelivered_to_a_hanging_grpc_listener_unless_renewed(s: ScenarioContext) -> None:
    """A message on which a gRPC listener hangs for over a minute is redelivered: the proxy does not renew it."""
    topic, group = s.pair("concurrent")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent", begin=True, hang_ms={"slow": FOREVER_MS})
    producer.send(topic, "slow")
    s.wait_until(consumer.started_messages, "a first call", consumers=[consumer])
    _again_while_it_hangs(s, consumer, jump_s=s.poll_step)


@scenario(
    "ProcessQueue.cleanExpiredMsg",
    modes={"concurrent"},
    outcomes={"hang"},
    protocol="remoting",
    long=True,
    without={"go-remoting": _NO_LIMIT, "cpp": _NO_LIMIT},
)
def a_message_is_sent_back_while_a_java_listener_hangs(s: ScenarioContext) -> None:
    """A message on which a Java listener hangs for more than its consume timeout is sent back and redelivered."""
    topic, group = s.pair("concurrent")
    producer = s.producer(topic)
    consumer = s.consumer(
        group, topic, "concurrent", begin=True, hang_ms={"slow": FOREVER_MS}, consume_ms=_CONCURRENT_LIMIT_MS
    )
    producer.send(topic, "slow")
    _again_while_it_hangs(s, consumer)


@scenario("ConsumeMessagePopConcurrentlyService.ConsumeRequest.run", modes={"pop"}, outcomes={"hang"})
def a_popped_message_is_redelivered_while_a_listener_hangs(s: ScenarioContext) -> None:
    """A popped message on which a listener hangs for more than its invisible duration is redelivered."""
    topic, group = s.pair("pop")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "pop", begin=True, hang_ms={"slow": FOREVER_MS}, consume_ms=_POP_LIMIT_MS)
    producer.send(topic, "slow")
    _again_while_it_hangs(s, consumer)


# --- close while the listener hangs


@scenario(
    "DefaultReceiptHandleManager.clearGroup", modes={"concurrent"}, outcomes={"hang"}, protocol="grpc", time_passes=True
)
def closing_a_hanging_grpc_consumer_redelivers_its_message_unless_renewed(s: ScenarioContext) -> None:
    """A message on which a closed gRPC consumer's listener hangs is delivered to another consumer of its group.

    It arrives at once if the SDK abandons its listener and tells the proxy that the client has left. Otherwise it
    arrives after its invisible duration of one minute, or much later if the proxy renews it. A result at the end of a
    short hang counts if the SDK waits for it.
    """
    topic, group = s.pair("concurrent")
    producer = s.producer(topic)
    hangs = {"long": FOREVER_MS, "short": BRIEF_SECONDS * 1000}
    leaver = s.consumer(group, topic, "concurrent", begin=True, hang_ms=hangs)
    producer.send(topic, "long")
    producer.send(topic, "short")
    s.wait_until(lambda: len(leaver.started_messages()) == 2, "two calls", consumers=[leaver])
    watch = s.stopwatch()
    closing = leaver.post_close()
    members = {"consumerGroup": group}
    s.becomes_true(
        lambda: s.admin.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, members).code != 0, seconds=LEAVE_SECONDS
    )
    # A receive that the closed consumer has left waiting takes this message instead of the redelivered one.
    producer.send(topic, "tick")
    s.idle(TICK_SECONDS)
    other = s.consumer(group, topic, "concurrent", process=1)

    def given(body: str) -> list[Fields]:
        # A redelivery wakes no poll, but this message does.
        producer.send(topic, "tick")
        s.idle(TICK_SECONDS)
        return other.with_prefix(body)

    if not s.becomes_true(lambda: given("long"), consumers=[other], seconds=SECONDS, jump_s=4):
        s.note("it came", f"not within {SECONDS:g} s")
        return
    s.note("it came", "at once" if watch.seconds < SOON_SECONDS else "after a minute")
    s.becomes_true(lambda: given("short"), consumers=[other], seconds=TOGETHER_SECONDS)
    came = [[text(each), each["attempt"]] for each in other.messages if text(each) in hangs]
    s.note("given to the other", sorted(came))
    s.note("closed", closing.done())


# --- throw


@scenario(
    "ConsumeMessageConcurrentlyService.ConsumeRequest.run", modes={"concurrent"}, outcomes={"throw"}, time_passes=True
)
def a_message_whose_listener_throws_is_redelivered(s: ScenarioContext) -> None:
    """A message whose listener throws counts as failed and is redelivered."""
    topic, group = s.pair("concurrent")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent", throw={"bad": 1})
    producer.send(topic, "bad")
    s.wait_for(2, consumer, seconds=SECONDS, jump_s=5)
    s.note("history", _history(consumer))
    s.note("the same id", len({message["id"] for message in consumer.messages}) == 1)


@scenario("ConsumeMessagePopConcurrentlyService.ConsumeRequest.run", modes={"pop"}, outcomes={"throw"})
def a_popped_message_whose_listener_throws_is_redelivered(s: ScenarioContext) -> None:
    """A popped message whose listener throws counts as failed and is redelivered."""
    topic, group = s.pair("pop")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "pop", throw={"bad": 1})
    producer.send(topic, "bad")
    s.wait_for(2, consumer, seconds=SECONDS)
    s.note("history", _history(consumer))


@scenario(
    "ConsumeMessageOrderlyService.ConsumeRequest.run",
    modes={"orderly"},
    outcomes={"throw"},
    without={"node": _NO_RETRY},
)
def a_message_whose_orderly_listener_throws_is_redelivered(s: ScenarioContext) -> None:
    """A message whose orderly listener throws is redelivered. Some SDKs hold back the next one till then."""
    topic, group = s.pair("orderly")
    send_four(s, topic)
    consumer = s.consumer(group, topic, "orderly", throw={"m-1": 1})
    s.wait_for(5, consumer)
    s.note("history", _history(consumer))


# --- suspend


@scenario("ConsumeMessageOrderlyService.processConsumeResult", modes={"orderly"}, outcomes={"suspend"})
def a_suspended_queue_redelivers_its_message_before_the_next_one(s: ScenarioContext) -> None:
    """A message whose orderly listener suspends the queue is redelivered after the pause, before the next message."""
    topic, group = s.pair("orderly")
    send_four(s, topic)
    consumer = s.consumer(group, topic, "orderly", suspend={"m-1": 1}, suspend_ms=SUSPEND_SECONDS * 1000)
    s.wait_for(5, consumer)
    s.note("history", _history(consumer))
    first, second = consumer.with_prefix("m-1")
    pause = _seconds(first, second)
    s.note("it came again", "after the pause" if pause >= SUSPEND_SECONDS else "before the end of the pause")
