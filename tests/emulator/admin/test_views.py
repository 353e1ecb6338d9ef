"""Queries of messages by key, of consume queues, and of messages by physical offset."""

import pytest
from engine_harness import EngineHarness, make_harness, refused
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Done, Operation
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.message_queries import (
    MessagesResult,
    QueryConsumeQueue,
    QueryConsumeQueueResult,
    QueryMessage,
    ViewMessage,
)
from rocketmq_testkit.emulator.operations.offsets import (
    GetEarliestStoreTime,
    GetMaxOffset,
    GetMinOffset,
    QueryConsumerOffset,
    SearchOffset,
)
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendMessage, SendMessageBack, SendResult
from rocketmq_testkit.emulator.operations.topics import DeleteTopic, GetTopicStats


def found(harness: EngineHarness, begin: int, end: int) -> list[bytes]:
    call = harness.engine.submit(harness.broker, QueryMessage("A", "k", 32, begin, end_timestamp=end, unique_key=False))
    return [decode(each).body for each in call.outcome.records] if isinstance(call.outcome, MessagesResult) else []


def test_the_key_index_counts_whole_seconds_from_its_first_message(harness: EngineHarness) -> None:
    """Indexed times are whole seconds after the first message with a key, not seconds of the clock."""
    harness.topic("A")
    harness.advance(735)
    first = harness.now_ms
    for ms in (0, 999, 1, 1500):
        harness.advance(ms)
        harness.send("A", b"%d" % (harness.now_ms - first), KEYS="k")
    assert found(harness, 0, first - 1) == []
    assert found(harness, first, first) == [b"0", b"999"]
    assert found(harness, first + 1, first + 999) == []
    assert found(harness, first + 1000, first + 1000) == [b"1000"]
    assert found(harness, first + 2000, first + 2500) == [b"2500"]
    assert found(harness, first + 2001, first + 9000) == []


def test_messages_stored_while_the_index_is_disabled_are_not_found_by_key(harness: EngineHarness) -> None:
    """Messages stored while messageIndexEnable=false are not found by key; all others are."""
    harness.topic("A")
    harness.send("A", b"before", KEYS="k")
    harness.ask(Done, UpdateBrokerConfig({"messageIndexEnable": "false"}))
    hidden = harness.send("A", b"meanwhile", KEYS="k")
    harness.ask(Done, UpdateBrokerConfig({"messageIndexEnable": "true"}))
    harness.send("A", b"after", KEYS="k")
    assert found(harness, 0, harness.now_ms) == [b"before", b"after"]
    by_place = harness.ask(MessagesResult, ViewMessage(hidden.physical_offset))
    assert decode(by_place.records[0]).body == b"meanwhile"


def test_without_the_index_no_message_is_found_by_key_or_unique_key() -> None:
    harness = make_harness(message_index_enable=False)
    harness.topic("A")
    harness.send("A", KEYS="k", UNIQ_KEY="u")
    assert found(harness, 0, harness.now_ms) == []
    call = harness.engine.submit(
        harness.broker, QueryMessage("A", "u", 32, 0, end_timestamp=harness.now_ms, unique_key=True)
    )
    assert refused(call).code == ResponseCode.QUERY_NOT_FOUND


def queue_query_outcome(harness: EngineHarness) -> str:
    """Query index 0 of queue 0 of topic `A`; return the remark of the response, or the error code."""
    call = harness.engine.submit(harness.broker, QueryConsumeQueue("A", 0, 0, 10, consumer_group=None))
    if isinstance(call.outcome, QueryConsumeQueueResult):
        return call.outcome.remark or "found"
    return refused(call).code.name


@pytest.mark.parametrize(
    ("operation", "makes_it"),
    [
        (GetMinOffset("A", 0), True),
        (SearchOffset("A", 0, 0), True),
        (QueryConsumerOffset("G", "A", 0), True),
        (GetTopicStats("A"), True),
        (GetMaxOffset("A", 0), False),
        (GetEarliestStoreTime("A", 0), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Operation) else None,
)
def test_a_query_that_reads_a_queue_creates_it(harness: EngineHarness, operation: Operation, makes_it: bool) -> None:
    """A request that reads messages of a queue creates the queue, a query of its maximum offset does not.

    The deletion of the topic deletes the queue.
    """
    harness.topic("A")
    assert queue_query_outcome(harness) == ResponseCode.SYSTEM_ERROR.name
    harness.engine.submit(harness.broker, operation)
    assert queue_query_outcome(harness) == (
        "Index 0 of 0@A is not exist!" if makes_it else ResponseCode.SYSTEM_ERROR.name
    )
    harness.engine.execute(harness.broker, DeleteTopic("A"))
    assert queue_query_outcome(harness) == ResponseCode.SYSTEM_ERROR.name


def test_a_pull_or_pop_creates_the_queue_that_it_reads(harness: EngineHarness) -> None:
    """A pull and a pop create the queue that they read; a crash deletes it."""
    for read in (harness.pull, harness.popped):
        harness.topic("A")
        read("A")
        assert queue_query_outcome(harness) == "Index 0 of 0@A is not exist!"
        harness.broker.crash()
        assert queue_query_outcome(harness) == ResponseCode.SYSTEM_ERROR.name


def send_flagged(harness: EngineHarness, flag: int) -> int:
    """Send a message with a flag; return the physical offset of the flag in its record."""
    if harness.broker.topics.find("A") is None:
        harness.topic("A")
    operation = SendMessage("PG", "A", 0, b"m", {}, ("10.0.0.1", 5000), harness.now_ms, 0, flag)
    return harness.ask(SendResult, operation).physical_offset + 16


def refusal_of(harness: EngineHarness, operation: Operation) -> str | None:
    return refused(harness.engine.submit(harness.broker, operation)).remark


@pytest.mark.parametrize("size", [20, 1, 0])
def test_a_view_of_an_offset_inside_a_record_takes_the_number_there_as_size(harness: EngineHarness, size: int) -> None:
    """A view of an offset inside a record takes the four bytes there as a size, and returns bytes of this number."""
    place = send_flagged(harness, size)
    [found] = harness.ask(MessagesResult, ViewMessage(place)).records
    assert found == harness.broker.store.log.read(place, size)
    assert refusal_of(harness, SendMessageBack("G", place, 1)) == f"look message by offset failed, {place}"


def test_a_view_fails_if_the_size_at_its_offset_exceeds_the_log(harness: EngineHarness) -> None:
    """A view fails if the number at its offset exceeds the rest of the log, or if the log ends within the number."""
    place = send_flagged(harness, 1 << 30)
    assert refusal_of(harness, ViewMessage(place)) == f"can not find message by the offset, {place}"
    end = harness.broker.store.log.max_offset
    assert refusal_of(harness, ViewMessage(end - 2)) == f"can not find message by the offset, {end - 2}"


def test_a_negative_size_at_the_offset_fails_every_request_that_reads_there(harness: EngineHarness) -> None:
    place = send_flagged(harness, -5)
    thrown = "java.lang.IllegalArgumentException: newLimit < 0: (-5 < 0)"
    text = f"{thrown}, java.base/java.nio.Buffer.createLimitException(Buffer.java:395)"
    assert refusal_of(harness, ViewMessage(place)) == text
    assert refusal_of(harness, SendMessageBack("G", place, 1)) == text
    assert refusal_of(harness, EndTransaction("PG", 0, place, 8, False, "id")) == text
