"""BatchCQ topics (queue.type=BatchCQ), whose records may hold several messages."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.offsets import GetMaxOffset, OffsetResult, SearchOffset
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.emulator.store.consume_queue import messages_in_record
from rocketmq_testkit.remoting.client import batch_body

PARTS = [(b"one", {"TAGS": "A"}), (b"two", {}), (b"three", {})]


@pytest.fixture
def harness(harness: EngineHarness) -> EngineHarness:
    batched(harness)
    return harness


def batched(harness: EngineHarness) -> None:
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("T", 1, 1, 6), {"+queue.type": "BatchCQ"}))


def send_batch(harness: EngineHarness, topic: str = "T", **properties: str) -> SendResult:
    message = SendMessage(
        "PG", topic, 0, batch_body(PARTS), dict(properties), ("10.0.0.1", 5000), harness.now_ms, batch=True
    )
    return harness.ask(SendResult, message)


def end(harness: EngineHarness) -> int:
    return harness.ask(OffsetResult, GetMaxOffset("T", 0)).offset


def read(harness: EngineHarness, offset: int = 0, count: int = 32) -> tuple[list[int], int]:
    """Pull; return the offsets of the records and the next offset."""
    outcome = harness.pull("T", offset, count=count).outcome
    assert isinstance(outcome, PullResult)
    return [decode(record).queue_offset for record in outcome.records], outcome.next_begin_offset


def test_a_batch_in_a_batch_cq_topic_is_one_record(harness: EngineHarness) -> None:
    """A batch is one record with one offset per message, and a read at any of them returns it."""
    assert (send_batch(harness, UNIQ_KEY="U").queue_offset, end(harness)) == (0, 3)
    assert send_batch(harness, UNIQ_KEY="V").queue_offset == 3
    assert harness.send("T").queue_offset == 6
    assert read(harness) == read(harness, 2) == ([0, 3, 6], 7)
    assert read(harness, 5) == ([3, 6], 7)
    outcome = harness.pull("T").outcome
    assert isinstance(outcome, PullResult)
    whole = decode(outcome.records[0])
    assert (whole.body, whole.sys_flag, whole.property_map()["INNER_NUM"]) == (batch_body(PARTS), 0xC0, "3")


@pytest.mark.parametrize(("count", "found"), [(1, [0]), (3, [0]), (5, [0]), (6, [0, 3])])
def test_a_read_of_batches_counts_messages_but_always_returns_the_first_record(
    harness: EngineHarness, count: int, found: list[int]
) -> None:
    """A read counts messages, but returns its first record regardless of how many it holds."""
    for key in "UV":
        send_batch(harness, UNIQ_KEY=key)
    assert read(harness, 0, count)[0] == found


@pytest.mark.parametrize(
    ("count", "found"),
    [(8, [0, 3]), (9, [0, 3, 6]), (11, [0, 3, 6]), (12, [0, 3, 6, 9]), (32, [0, 3, 6, 9])],
)
def test_a_read_of_batches_adds_up_the_messages_of_all_batches(
    harness: EngineHarness, count: int, found: list[int]
) -> None:
    """Each batch adds its own messages to the count, the third and the fourth as much as the first."""
    for key in "UVWX":
        send_batch(harness, UNIQ_KEY=key)
    assert read(harness, 0, count) == (found, 3 * len(found))


def test_a_read_of_batches_ends_before_the_batch_that_exceeds_the_byte_limit() -> None:
    """The limit is on the sum of all records; the first record is read even if it alone exceeds the limit."""
    harness = make_harness()
    batched(harness)
    for key in "UVWX":
        send_batch(harness, UNIQ_KEY=key)
    record = harness.broker.store.record("T", 0, 0)
    assert record is not None
    for limit, found in ((1, [0]), (len(record), [0]), (3 * len(record) - 1, [0, 3]), (3 * len(record), [0, 3, 6])):
        harness.broker.config.max_transfer_bytes_on_message_in_memory = limit
        assert read(harness) == (found, 3 * len(found))


def test_a_batch_with_another_tag_is_skipped_and_not_counted(harness: EngineHarness) -> None:
    """A batch with another tag is skipped and not counted; the next offset is the end of the last batch examined."""
    for tag in ("a", "b", "a", "b"):
        send_batch(harness, UNIQ_KEY=tag, TAGS=tag)
    outcome = harness.pull("T", count=6, expression="a").outcome
    assert isinstance(outcome, PullResult)
    assert ([decode(each).queue_offset for each in outcome.records], outcome.next_begin_offset) == ([0, 6], 9)


def test_a_batch_without_unique_key_is_stored_as_separate_messages(harness: EngineHarness) -> None:
    """A batch without a unique key is stored as separate messages, as in any queue."""
    send_batch(harness)
    assert read(harness) == ([0, 1, 2], 3)


def test_topics_other_than_batch_cq_store_a_batch_as_separate_messages(harness: EngineHarness) -> None:
    """Other topics store a batch as separate messages, with or without a key, and reject INNER_NUM."""
    send_batch(harness, harness.topic("U"), UNIQ_KEY="U")
    assert harness.ask(OffsetResult, GetMaxOffset("U", 0)).offset == 3
    message = SendMessage("PG", "U", 0, b"x", {"INNER_NUM": "2"}, ("10.0.0.1", 5000), harness.now_ms, sys_flag=0x80)
    with pytest.raises(EngineError) as found:
        harness.ask(SendResult, message)
    assert found.value.code == ResponseCode.MESSAGE_ILLEGAL


def test_a_rejected_batch_takes_no_offsets(harness: EngineHarness) -> None:
    """A rejected batch takes no offsets, and the next message takes only one."""
    with pytest.raises(EngineError):
        send_batch(harness, UNIQ_KEY="U", big="x" * 40_000)
    assert (harness.send("T").queue_offset, end(harness)) == (0, 1)


def test_a_waiting_pull_gets_the_whole_batch_and_the_offset_after_it(harness: EngineHarness) -> None:
    waiting = harness.pull("T", suspend_ms=10_000)
    send_batch(harness, UNIQ_KEY="U")
    assert isinstance(waiting.outcome, PullResult)
    assert (len(waiting.outcome.records), waiting.outcome.next_begin_offset) == (1, 3)


def test_a_batch_is_popped_as_one_message_and_not_redelivered_once_acknowledged(harness: EngineHarness) -> None:
    send_batch(harness, UNIQ_KEY="U")
    [message] = harness.popped("T")
    assert harness.popped("T") == []
    harness.ack("T", harness.receipt(message))
    harness.advance(60_000)
    assert harness.popped("T") == []


def test_a_search_by_time_between_two_batches_finds_the_second(harness: EngineHarness) -> None:
    """A search for a time between two batches, or after both, returns the first offset of the second batch."""
    send_batch(harness, UNIQ_KEY="U")
    harness.advance(1000)
    between = harness.now_ms
    harness.advance(1000)
    send_batch(harness, UNIQ_KEY="V")
    for time, offset in ((0, 0), (between, 3), (harness.now_ms, 3), (harness.now_ms + 1000, 3)):
        assert harness.ask(OffsetResult, SearchOffset("T", 0, time)).offset == offset


def test_flushed_batches_and_queue_offsets_survive_a_crash(harness: EngineHarness) -> None:
    """After a crash the flushed batches and the queue's offsets are unchanged."""
    send_batch(harness, UNIQ_KEY="U")
    harness.advance(60_000)
    harness.engine.crash(harness.broker)
    assert (read(harness), end(harness)) == (([0], 3), 3)
    assert send_batch(harness, UNIQ_KEY="V").queue_offset == 3


def test_a_slave_has_the_batch_cq_queue_of_its_master() -> None:
    """A slave's queue has the same units as its master's."""
    configs = [BrokerConfig(), BrokerConfig(broker_id=1, broker_role="SLAVE")]
    engine = Engine(brokers=configs)
    harness = EngineHarness(engine, engine.brokers[0])
    batched(harness)
    slave = engine.brokers[1]
    slave.topics.copy_from(harness.broker.topics)
    send_batch(harness, UNIQ_KEY="U")
    queue = slave.store.queue("T", 0)
    assert queue is not None
    assert (queue.max_offset, queue.unit(2)) == (3, queue.unit(0))


@pytest.mark.parametrize(
    ("text", "number"), [("3", 3), ("0", 1), ("", 1), ("-2", 1), ("x", 1), ("1.5", 1), ("\u0665", 1), ("\u00b2", 1)]
)
def test_a_record_counts_as_inner_num_messages_or_one_if_invalid(text: str, number: int) -> None:
    """A record counts as INNER_NUM messages, or as one if that is not a positive number."""
    assert messages_in_record({"INNER_NUM": text}) == number
    assert messages_in_record({}) == 1


@pytest.mark.parametrize(("topic", "flag"), [("T", 0), ("U", 0), ("U", 0x80)])
def test_inner_num_without_batch_flag_or_batch_cq_topic_is_rejected(
    harness: EngineHarness, topic: str, flag: int
) -> None:
    """A record with INNER_NUM is rejected without the system flag of a batch or outside a BatchCQ topic."""
    harness.topic("U")
    message = SendMessage("PG", topic, 0, b"x", {"INNER_NUM": "2"}, ("10.0.0.1", 5000), harness.now_ms, sys_flag=flag)
    with pytest.raises(EngineError) as found:
        harness.ask(SendResult, message)
    assert found.value.code == ResponseCode.MESSAGE_ILLEGAL


def test_a_batch_as_one_record_returns_its_queue_and_its_unique_key(harness: EngineHarness) -> None:
    result = send_batch(harness, UNIQ_KEY="U")
    assert (result.queue_id, result.queue_offset) == (0, 0)
    assert result.transaction_id == "U"
