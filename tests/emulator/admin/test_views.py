"""Times in the key index, and queues that administrators can query."""

import pytest
from engine_world import World, make_world, refused
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations import (
    DeleteTopic,
    Done,
    EndTransaction,
    GetEarliestStoreTime,
    GetMaxOffset,
    GetMinOffset,
    GetTopicStats,
    MessagesResult,
    Operation,
    QueryConsumeQueue,
    QueryConsumeQueueResult,
    QueryConsumerOffset,
    QueryMessage,
    SearchOffset,
    SendMessage,
    SendMessageBack,
    SendResult,
    UpdateBrokerConfig,
    ViewMessage,
)


def found(world: World, begin: int, end: int) -> list[bytes]:
    call = world.engine.submit(world.broker, QueryMessage("A", "k", 32, begin, end, False))
    return [decode(each).body for each in call.outcome.records] if isinstance(call.outcome, MessagesResult) else []


def test_an_index_counts_seconds_from_its_first_message(world: World) -> None:
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


def test_messages_are_indexed_by_what_holds_when_they_are_stored(world: World) -> None:
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


def test_nothing_is_found_without_an_index() -> None:
    """Without an index no message is found, neither by key nor by unique key."""
    world = make_world(message_index_enable=False)
    world.topic("A")
    world.send("A", KEYS="k", UNIQ_KEY="u")
    assert found(world, 0, world.now_ms) == []
    call = world.engine.submit(world.broker, QueryMessage("A", "u", 32, 0, world.now_ms, True))
    assert refused(call).code == ResponseCode.QUERY_NOT_FOUND


def looked_into(world: World) -> str:
    """Return the error code of a query of queue 0 of `A`, or its remark."""
    call = world.engine.submit(world.broker, QueryConsumeQueue("A", 0, 0, 10, None))
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
def test_a_question_makes_a_queue(world: World, operation: Operation, makes_it: bool) -> None:
    """A request that reads a queue creates it, one for its maximum offset does not; its topic's deletion deletes it."""
    world.topic("A")
    assert looked_into(world) == ResponseCode.SYSTEM_ERROR.name
    world.engine.submit(world.broker, operation)
    assert looked_into(world) == ("Index 0 of 0@A is not exist!" if makes_it else ResponseCode.SYSTEM_ERROR.name)
    world.engine.ask(world.broker, DeleteTopic("A"))
    assert looked_into(world) == ResponseCode.SYSTEM_ERROR.name


def test_a_read_makes_a_queue(world: World) -> None:
    """A pull and a pop create the queue that they read; a crash deletes it."""
    for read in (world.pull, world.popped):
        world.topic("A")
        read("A")
        assert looked_into(world) == "Index 0 of 0@A is not exist!"
        world.broker.crash()
        assert looked_into(world) == ResponseCode.SYSTEM_ERROR.name


def flagged(world: World, flag: int) -> int:
    """Send a message with a flag; return the physical offset of the flag in its record."""
    if world.broker.topics.find("A") is None:
        world.topic("A")
    operation = SendMessage("PG", "A", 0, b"m", {}, ("10.0.0.1", 5000), world.now_ms, 0, flag)
    return world.ask(SendResult, operation).physical_offset + 16


def looked_at(world: World, operation: Operation) -> str | None:
    return refused(world.engine.submit(world.broker, operation)).remark


@pytest.mark.parametrize("size", [20, 1, 0])
def test_a_number_inside_a_record_is_taken_for_a_size(world: World, size: int) -> None:
    """A view of an offset inside a record returns as many bytes as the number there says."""
    place = flagged(world, size)
    [found] = world.ask(MessagesResult, ViewMessage(place)).records
    assert found == world.broker.store.log.read(place, size)
    assert looked_at(world, SendMessageBack("G", place, 1)) == f"look message by offset failed, {place}"


def test_a_number_that_is_too_large_is_no_size(world: World) -> None:
    """A view fails if the number at its offset exceeds the rest of the log, or if the log ends within the number."""
    place = flagged(world, 1 << 30)
    assert looked_at(world, ViewMessage(place)) == f"can not find message by the offset, {place}"
    end = world.broker.store.log.max_offset
    assert looked_at(world, ViewMessage(end - 2)) == f"can not find message by the offset, {end - 2}"


def test_a_negative_number_is_no_size(world: World) -> None:
    """A negative number at the offset fails every request that reads a message there."""
    place = flagged(world, -5)
    thrown = "java.lang.IllegalArgumentException: newLimit < 0: (-5 < 0)"
    text = f"{thrown}, java.base/java.nio.Buffer.createLimitException(Buffer.java:395)"
    assert looked_at(world, ViewMessage(place)) == text
    assert looked_at(world, SendMessageBack("G", place, 1)) == text
    assert looked_at(world, EndTransaction("PG", 0, place, 8, False, "id")) == text
