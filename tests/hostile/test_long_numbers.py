"""Numbers of thousands of digits, which Python does not convert, in texts of clients, files and users."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.cluster import PutKvConfig
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.offsets import GetMaxOffset, OffsetResult
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.emulator.transaction.op_queue import half_offsets
from rocketmq_testkit.fixtures.options.configuration import resolve
from rocketmq_testkit.fixtures.options.options import OptionError, Options
from rocketmq_testkit.grpc_v2.proxy.routes import _order_conf_queues as order_conf_queues

DIGITS = "9" * 5_000
"""More digits than sys.get_int_max_str_digits() allows."""
DAY_MS = 86_400_000


@pytest.fixture
def harness() -> EngineHarness:
    return make_harness(enable_lmq=True, enable_multi_dispatch=True)


def end(harness: EngineHarness, topic: str) -> int:
    return harness.ask(OffsetResult, GetMaxOffset(topic, 0)).offset


@pytest.mark.parametrize("number", [DIGITS, "32768", str(10**9)])
def test_an_inner_number_beyond_a_short_counts_as_one_message(harness: EngineHarness, number: str) -> None:
    """A record that claims to hold more messages than a short can count takes one offset of its queue."""
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("T", 1, 1, 6), {"+queue.type": "BatchCQ"}))
    message = SendMessage("PG", "T", 0, b"x", {"INNER_NUM": number}, ("10.0.0.1", 5000), harness.now_ms, sys_flag=0x80)
    harness.ask(SendResult, message)
    assert end(harness, "T") == 1


def test_a_timed_message_with_any_number_of_rolls_is_rolled_and_delivered(harness: EngineHarness) -> None:
    harness.topic("T")
    harness.send("T", TIMER_DELAY_SEC="259200", TIMER_ROLL_TIMES=DIGITS)
    harness.advance(3 * DAY_MS)
    outcome = harness.pull("T").outcome
    assert isinstance(outcome, PullResult)
    assert len(outcome.records) == 1
    assert b"TIMER_ROLL_TIMES\x011\x02" in outcome.records[0]


def test_a_delayed_message_with_an_unreadable_lmq_offset_is_delivered(harness: EngineHarness) -> None:
    """The broker assigns no LMQ offsets while a message is delayed, and leaves those of the client."""
    harness.topic("T")
    harness.send("T", DELAY="1", INNER_MULTI_DISPATCH="%LMQ%a", INNER_MULTI_QUEUE_OFFSET=DIGITS)
    harness.advance(1_000)
    assert (end(harness, "T"), end(harness, "%LMQ%a")) == (1, 1)


def test_a_delay_level_of_thousands_of_digits_is_rejected_as_in_java(harness: EngineHarness) -> None:
    harness.topic("T")
    with pytest.raises(EngineError, match=f'java.lang.NumberFormatException: For input string: "{DIGITS}"'):
        harness.send("T", DELAY=DIGITS)


def test_an_op_message_names_only_offsets_of_at_most_19_digits() -> None:
    assert half_offsets(f"7,{DIGITS},x,,9".encode()) == [7, 9]


def test_an_order_configuration_names_only_readable_numbers_of_queues(harness: EngineHarness) -> None:
    names = harness.engine.name_server
    names.config.order_message_enable = True
    harness.engine.execute(names, PutKvConfig("ORDER_TOPIC_CONFIG", "T", f"a:{DIGITS};b:4"))
    assert order_conf_queues(names.order_conf("T")) == {"b": 4}


@pytest.mark.parametrize(
    "options",
    [
        {"topics": [f"orders:NORMAL:{DIGITS}"]},
        {"brokers": DIGITS},
        {"slaves": DIGITS},
        {"config": {"maxMessageSize": DIGITS}},
        {"config": {"requestTimes": f"send={DIGITS}"}},
        {"config": {"grpcClientConsumerMaxLongPollingTimeoutMillis": DIGITS}},
        {"advertise": [f"endpoint=127.0.0.1:{DIGITS}"]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_an_option_of_thousands_of_digits_is_refused_with_its_name(options: dict[str, object]) -> None:
    with pytest.raises(OptionError) as found:
        resolve(Options.of(options))
    assert "Exceeds the limit" not in str(found.value)
