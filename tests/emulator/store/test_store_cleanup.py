"""The size limit of the log deletes the oldest files; everything that pointed into them continues after them."""

from typing import Any

import pytest
from engine_world import World, bodies, make_world, refused
from rocketmq_testkit.emulator.config import EmulationConfig
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.groups import ConsumeStatsResult, CreateGroup, GetConsumeStats, GroupConfig
from rocketmq_testkit.emulator.operations.message_queries import MessagesResult, QueryMessage, ViewMessage
from rocketmq_testkit.emulator.operations.offsets import (
    GetEarliestStoreTime,
    GetMinOffset,
    OffsetResult,
    SearchOffset,
    TimestampResult,
    UpdateConsumerOffset,
)
from stored import stored

POPS: dict[str, dict[str, object]] = {
    "check points": {},
    "buffer": {"enable_pop_buffer_merge": True},
    "records": {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True},
    "records in memory": {
        "pop_consumer_kv_service_init": True,
        "pop_consumer_kv_service_enable": True,
        "enable_pop_buffer_merge": True,
    },
}
any_pops = pytest.mark.parametrize("pops", POPS.values(), ids=POPS)
BODY = b"x" * 10_000


def limited_world(**keys: object) -> World:
    """Create a world that holds about a hundred messages of 10 kB, in files of 25."""
    sizes: dict[str, object] = {
        "store_max_bytes": 1024 * 1024,
        "max_message_size": 16 * 1024,
        "mapped_file_size_commit_log": 256 * 1024,
    }
    return make_world(1, **sizes, **keys)


def fill(world: World, topic: str = "A", count: int = 200) -> None:
    """Send enough messages to queue 0 that earlier ones are deleted."""
    for _ in range(count):
        world.send(topic, BODY)


def min_offset(world: World, topic: str = "A") -> int:
    """Return the first stored offset of queue 0."""
    return world.ask(OffsetResult, GetMinOffset(topic, 0)).offset


def test_the_log_is_limited_to_512_mib_by_default() -> None:
    assert EmulationConfig().store_max_bytes == 512 * 1024 * 1024
    assert make_world().broker.store.log.max_bytes == 512 * 1024 * 1024


@any_pops
def test_a_pop_at_a_deleted_offset_continues_at_the_min_offset(pops: dict[str, object]) -> None:
    """A pop of a group whose offset was deleted continues at the minimum offset."""
    world = limited_world(**pops)
    world.topic("A")
    fill(world, count=10)
    assert len(world.popped("A", count=3)) == 3
    fill(world)
    low = min_offset(world)
    assert low > 10
    offsets = [message.queue_offset for _ in range(4) for message in world.popped("A", count=2)]
    assert offsets[0] == low
    assert offsets == list(range(low, low + len(offsets)))


@any_pops
def test_an_expired_ordered_batch_of_deleted_messages_moves_to_the_min_offset(pops: dict[str, object]) -> None:
    """An ordered batch of deleted messages blocks its queue until it expires; then the minimum offset is read."""
    world = limited_world(**pops)
    world.topic("A")
    world.engine.execute(world.broker, CreateGroup(GroupConfig("G", consume_message_orderly=True)))
    fill(world, count=10)
    assert len(world.popped("A", count=2, order=True)) == 2
    fill(world)
    low = min_offset(world)
    assert world.popped("A", count=2, order=True) == []
    world.advance(10_001)
    offsets = [message.queue_offset for message in world.popped("A", count=2, order=True)]
    assert offsets == [low, low + 1]


@any_pops
def test_an_ack_or_change_of_a_deleted_message_returns_no_message(pops: dict[str, object]) -> None:
    world = limited_world(**pops)
    world.topic("A")
    fill(world, count=10)
    one, two = (world.receipt(message) for message in world.popped("A", count=2))
    fill(world)
    low, high = min_offset(world), world.broker.store.max_offset("A", 0)
    refusal = refused(world.ack("A", one))
    assert (refusal.code, refusal.remark) == (208, f"offset is illegal, key:A@0, commit:0, store:{low}~{high}")
    with pytest.raises(EngineError) as refused_change:
        world.change("A", two, 20_000)
    assert refused_change.value.code == 208


@any_pops
def test_a_deleted_popped_message_is_skipped_and_a_stored_one_redelivered(pops: dict[str, object]) -> None:
    """A popped message that was deleted is skipped, and the next expired one is redelivered."""
    world = limited_world(**pops)
    world.topic("A")
    world.topic("B")
    fill(world, count=88)
    world.send("B", b"kept")
    # Stored check points are in the same log, so they must be younger than the deleted files.
    assert len(world.popped("A", count=2)) == 2
    assert bodies(world.popped("B", count=2)) == [b"kept"]
    fill(world, count=30)
    assert min_offset(world) > 2
    assert min_offset(world, "B") == 0
    world.advance(60_000)
    assert bodies(world.popped("B")) == [b"kept"]
    taken: list[int] = []
    while messages := world.popped("A"):
        taken += [message.queue_offset for message in messages]
    assert taken == list(range(taken[0], 118))
    assert taken[0] == min_offset(world)


@pytest.mark.parametrize("pops", [POPS["check points"], POPS["records"]], ids=["check points", "records"])
def test_later_pops_are_redelivered_although_the_revive_log_was_truncated(pops: dict[str, object]) -> None:
    """If the revive log was truncated, later pops are still redelivered, because reading continues after the gap."""
    world = limited_world(**pops)
    world.topic("A")
    world.topic("B")
    fill(world, count=5)
    world.popped("A", count=5, invisible_ms=60_000)
    fill(world)
    world.send("B", b"later")
    assert bodies(world.popped("B", count=1, invisible_ms=60_000)) == [b"later"]
    world.advance(120_000)
    assert bodies(world.popped("B")) == [b"later"]


@pytest.mark.parametrize(
    ("time", "within_ms"), [({"DELAY": "4"}, 30_000), ({"TIMER_DELAY_MS": "20000"}, 25_000)], ids=["level", "timer"]
)
def test_a_deleted_delayed_message_does_not_delay_one_sent_after_it(time: dict[str, Any], within_ms: int) -> None:
    """A waiting message that was deleted is never delivered and does not delay one sent after it."""
    world = limited_world()
    world.topic("A")
    world.topic("B")
    world.send("B", b"gone", **time)
    world.advance(10_000)
    fill(world)
    world.send("B", b"held", **time)
    world.advance(within_ms)
    assert [record.body for record in stored(world, "B")] == [b"held"]


def test_keys_of_deleted_messages_leave_the_index() -> None:
    """Keys of deleted messages find nothing, and the index does not grow with deleted messages."""
    world = limited_world()
    world.topic("A")

    def query(key: str) -> list[bytes]:
        result = world.engine.execute(
            world.broker, QueryMessage("A", key, 32, 0, end_timestamp=2**63 - 1, unique_key=False)
        )
        assert isinstance(result, MessagesResult)
        return result.records

    places = world.broker.message_queries.index._positions
    sizes = []
    for number in range(400):
        world.send("A", BODY, KEYS=f"k{number}")
        assert len(query(f"k{number}")) == 1
        sizes.append(len(places))
    for gone in ("k0", f"k{min_offset(world) - 1}"):
        with pytest.raises(EngineError) as nothing:
            query(gone)
        assert nothing.value.code == 22
    assert len(query(f"k{min_offset(world)}")) == 1
    assert max(sizes[200:]) <= max(sizes[:200])
    held = world.broker.store.max_offset("A", 0) - min_offset(world)
    assert len(places) <= 2 * (held + 26)  # a key and an id for each message; removed once per file


def test_store_times_begin_at_the_min_offset() -> None:
    """The earliest store time is that of the minimum offset, and a search for an older time returns it."""
    world = limited_world()
    world.topic("A")
    start = world.now_ms
    for _ in range(200):
        world.send("A", BODY)
        world.advance(10)
    low = min_offset(world)
    assert low > 0
    assert world.ask(TimestampResult, GetEarliestStoreTime("A", 0)).timestamp == start + 10 * low
    assert world.ask(OffsetResult, SearchOffset("A", 0, start, False)).offset == low
    assert world.ask(OffsetResult, SearchOffset("A", 0, start + 10 * (low + 5), False)).offset == low + 5


def test_consume_stats_show_a_committed_offset_below_the_min_offset() -> None:
    """The stats show the committed offset of a group even if it is below the minimum offset."""
    world = limited_world()
    world.topic("A")
    world.engine.execute(world.broker, CreateGroup(GroupConfig("G")))
    fill(world, count=10)
    world.engine.execute(world.broker, UpdateConsumerOffset("G", "A", 0, 5))
    fill(world)
    (queue,) = world.ask(ConsumeStatsResult, GetConsumeStats("G", "A")).offsets.values()
    assert (queue.consumer_offset, queue.broker_offset) == (5, 210)


def test_a_view_of_offset_0_returns_the_first_stored_record() -> None:
    """A view of offset 0 returns the first stored record; other deleted offsets fail."""
    world = limited_world()
    world.topic("A")
    places = [world.send("A", b"%d" % number + BODY).physical_offset for number in range(200)]
    low = min_offset(world)
    assert places[0] == 0
    for place in (0, places[low]):
        found = world.ask(MessagesResult, ViewMessage(place))
        assert decode(found.records[0]).body == b"%d" % low + BODY
    with pytest.raises(EngineError, match="can not find message by the offset"):
        world.ask(MessagesResult, ViewMessage(places[1]))
