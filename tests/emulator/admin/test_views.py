"""Queries of messages by key, of consume queues, and of messages by physical offset."""

import pytest
from engine_world import World, make_world, refused
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


def found(world: World, begin: int, end: int) -> list[bytes]:
    call = world.engine.submit(world.broker, QueryMessage("A", "k", 32, begin, end_timestamp=end, unique_key=False))
    return [decode(each).body for each in call.outcome.records] if isinstance(call.outcome, MessagesResult) else []


def test_the_key_index_counts_whole_seconds_from_its_first_message(world: World) -> None:
    """Indexed times are whole seconds after the first message with a key, not seconds of the clock."""
    world.topic("A")
    world.advance(735)
    first = world.now_ms
    for ms in (0, 999, 1, 1500):
        world.advance(ms)
        world.send("A", b"%d" % (world.now_ms - first), KEYS="k")
    assert found(world, 0, first - 1) == []
    assert found(world, first, first) == [b"0", b"999"]
    assert found(world, first + 1, first + 999) == []
    assert found(world, first + 1000, first + 1000) == [b"1000"]
    assert found(world, first + 2000, first + 2500) == [b"2500"]
    assert found(world, first + 2001, first + 9000) == []


def test_messages_stored_while_the_index_is_disabled_are_not_found_by_key(world: World) -> None:
    """Messages stored while messageIndexEnable=false are not found by key; all others are."""
    world.topic("A")
    world.send("A", b"before", KEYS="k")
    world.ask(Done, UpdateBrokerConfig({"messageIndexEnable": "false"}))
    hidden = world.send("A", b"meanwhile", KEYS="k")
    world.ask(Done, UpdateBrokerConfig({"messageIndexEnable": "true"}))
    world.send("A", b"after", KEYS="k")
    assert found(world, 0, world.now_ms) == [b"before", b"after"]
    by_place = world.ask(MessagesResult, ViewMessage(hidden.physical_offset))
    assert decode(by_place.records[0]).body == b"meanwhile"


def test_without_the_index_no_message_is_found_by_key_or_unique_key() -> None:
    world = make_world(message_index_enable=False)
    world.topic("A")
    world.send("A", KEYS="k", UNIQ_KEY="u")
    assert found(world, 0, world.now_ms) == []
    call = world.engine.submit(world.broker, QueryMessage("A", "u", 32, 0, end_timestamp=world.now_ms, unique_key=True))
    assert refused(call).code == ResponseCode.QUERY_NOT_FOUND


def queue_query_outcome(world: World) -> str:
    """Query index 0 of queue 0 of topic `A`; return the remark of the response, or the error code."""
    call = world.engine.submit(world.broker, QueryConsumeQueue("A", 0, 0, 10, consumer_group=None))
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
def test_a_query_that_reads_a_queue_creates_it(world: World, operation: Operation, makes_it: bool) -> None:
    """A request that reads messages of a queue creates the queue, a query of its maximum offset does not.

    The deletion of the topic deletes the queue.
    """
    world.topic("A")
    assert queue_query_outcome(world) == ResponseCode.SYSTEM_ERROR.name
    world.engine.submit(world.broker, operation)
    assert queue_query_outcome(world) == (
        "Index 0 of 0@A is not exist!" if makes_it else ResponseCode.SYSTEM_ERROR.name
    )
    world.engine.execute(world.broker, DeleteTopic("A"))
    assert queue_query_outcome(world) == ResponseCode.SYSTEM_ERROR.name


def test_a_pull_or_pop_creates_the_queue_that_it_reads(world: World) -> None:
    """A pull and a pop create the queue that they read; a crash deletes it."""
    for read in (world.pull, world.popped):
        world.topic("A")
        read("A")
        assert queue_query_outcome(world) == "Index 0 of 0@A is not exist!"
        world.broker.crash()
        assert queue_query_outcome(world) == ResponseCode.SYSTEM_ERROR.name


def send_flagged(world: World, flag: int) -> int:
    """Send a message with a flag; return the physical offset of the flag in its record."""
    if world.broker.topics.find("A") is None:
        world.topic("A")
    operation = SendMessage("PG", "A", 0, b"m", {}, ("10.0.0.1", 5000), world.now_ms, 0, flag)
    return world.ask(SendResult, operation).physical_offset + 16


def refusal_of(world: World, operation: Operation) -> str | None:
    return refused(world.engine.submit(world.broker, operation)).remark


@pytest.mark.parametrize("size", [20, 1, 0])
def test_a_view_of_an_offset_inside_a_record_takes_the_number_there_as_size(world: World, size: int) -> None:
    """A view of an offset inside a record takes the four bytes there as a size, and returns bytes of this number."""
    place = send_flagged(world, size)
    [found] = world.ask(MessagesResult, ViewMessage(place)).records
    assert found == world.broker.store.log.read(place, size)
    assert refusal_of(world, SendMessageBack("G", place, 1)) == f"look message by offset failed, {place}"


def test_a_view_fails_if_the_size_at_its_offset_exceeds_the_log(world: World) -> None:
    """A view fails if the number at its offset exceeds the rest of the log, or if the log ends within the number."""
    place = send_flagged(world, 1 << 30)
    assert refusal_of(world, ViewMessage(place)) == f"can not find message by the offset, {place}"
    end = world.broker.store.log.max_offset
    assert refusal_of(world, ViewMessage(end - 2)) == f"can not find message by the offset, {end - 2}"


def test_a_negative_size_at_the_offset_fails_every_request_that_reads_there(world: World) -> None:
    place = send_flagged(world, -5)
    thrown = "java.lang.IllegalArgumentException: newLimit < 0: (-5 < 0)"
    text = f"{thrown}, java.base/java.nio.Buffer.createLimitException(Buffer.java:395)"
    assert refusal_of(world, ViewMessage(place)) == text
    assert refusal_of(world, SendMessageBack("G", place, 1)) == text
    assert refusal_of(world, EndTransaction("PG", 0, place, 8, False, "id")) == text
