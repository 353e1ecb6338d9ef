"""The size limit of the log deletes the oldest files; everything that pointed into them continues after them."""

from typing import Any

import pytest
from engine_harness import EngineHarness, bodies, make_harness, refused
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


def limited_harness(**keys: object) -> EngineHarness:
    """Create a harness that holds about a hundred messages of 10 kB, in files of 25."""
    sizes: dict[str, object] = {
        "store_max_bytes": 1024 * 1024,
        "max_message_size": 16 * 1024,
        "mapped_file_size_commit_log": 256 * 1024,
    }
    return make_harness(1, **sizes, **keys)


def fill(harness: EngineHarness, topic: str = "A", count: int = 200) -> None:
    """Send enough messages to queue 0 that earlier ones are deleted."""
    for _ in range(count):
        harness.send(topic, BODY)


def min_offset(harness: EngineHarness, topic: str = "A") -> int:
    """Return the first stored offset of queue 0."""
    return harness.ask(OffsetResult, GetMinOffset(topic, 0)).offset


def test_the_log_is_limited_to_512_mib_by_default() -> None:
    assert EmulationConfig().store_max_bytes == 512 * 1024 * 1024
    assert make_harness().broker.store.log.max_bytes == 512 * 1024 * 1024


@any_pops
def test_a_pop_at_a_deleted_offset_continues_at_the_min_offset(pops: dict[str, object]) -> None:
    """A pop of a group whose offset was deleted continues at the minimum offset."""
    harness = limited_harness(**pops)
    harness.topic("A")
    fill(harness, count=10)
    assert len(harness.popped("A", count=3)) == 3
    fill(harness)
    low = min_offset(harness)
    assert low > 10
    offsets = [message.queue_offset for _ in range(4) for message in harness.popped("A", count=2)]
    assert offsets[0] == low
    assert offsets == list(range(low, low + len(offsets)))


@any_pops
def test_an_expired_ordered_batch_of_deleted_messages_moves_to_the_min_offset(pops: dict[str, object]) -> None:
    """An ordered batch of deleted messages blocks its queue until it expires; then the minimum offset is read."""
    harness = limited_harness(**pops)
    harness.topic("A")
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G", consume_message_orderly=True)))
    fill(harness, count=10)
    assert len(harness.popped("A", count=2, order=True)) == 2
    fill(harness)
    low = min_offset(harness)
    assert harness.popped("A", count=2, order=True) == []
    harness.advance(10_001)
    offsets = [message.queue_offset for message in harness.popped("A", count=2, order=True)]
    assert offsets == [low, low + 1]


@any_pops
def test_an_ack_or_change_of_a_deleted_message_returns_no_message(pops: dict[str, object]) -> None:
    harness = limited_harness(**pops)
    harness.topic("A")
    fill(harness, count=10)
    one, two = (harness.receipt(message) for message in harness.popped("A", count=2))
    fill(harness)
    low, high = min_offset(harness), harness.broker.store.max_offset("A", 0)
    refusal = refused(harness.ack("A", one))
    assert (refusal.code, refusal.remark) == (208, f"offset is illegal, key:A@0, commit:0, store:{low}~{high}")
    with pytest.raises(EngineError) as refused_change:
        harness.change("A", two, 20_000)
    assert refused_change.value.code == 208


@any_pops
def test_a_deleted_popped_message_is_skipped_and_a_stored_one_redelivered(pops: dict[str, object]) -> None:
    """A popped message that was deleted is skipped, and the next expired one is redelivered."""
    harness = limited_harness(**pops)
    harness.topic("A")
    harness.topic("B")
    fill(harness, count=88)
    harness.send("B", b"kept")
    # Stored check points are in the same log, so they must be younger than the deleted files.
    assert len(harness.popped("A", count=2)) == 2
    assert bodies(harness.popped("B", count=2)) == [b"kept"]
    fill(harness, count=30)
    assert min_offset(harness) > 2
    assert min_offset(harness, "B") == 0
    harness.advance(60_000)
    assert bodies(harness.popped("B")) == [b"kept"]
    taken: list[int] = []
    while messages := harness.popped("A"):
        taken += [message.queue_offset for message in messages]
    assert taken == list(range(taken[0], 118))
    assert taken[0] == min_offset(harness)


@pytest.mark.parametrize("pops", [POPS["check points"], POPS["records"]], ids=["check points", "records"])
def test_later_pops_are_redelivered_although_the_revive_log_was_truncated(pops: dict[str, object]) -> None:
    """If the revive log was truncated, later pops are still redelivered, because reading continues after the gap."""
    harness = limited_harness(**pops)
    harness.topic("A")
    harness.topic("B")
    fill(harness, count=5)
    harness.popped("A", count=5, invisible_ms=60_000)
    fill(harness)
    harness.send("B", b"later")
    assert bodies(harness.popped("B", count=1, invisible_ms=60_000)) == [b"later"]
    harness.advance(120_000)
    assert bodies(harness.popped("B")) == [b"later"]


@pytest.mark.parametrize(
    ("time", "within_ms"), [({"DELAY": "4"}, 30_000), ({"TIMER_DELAY_MS": "20000"}, 25_000)], ids=["level", "timer"]
)
def test_a_deleted_delayed_message_does_not_delay_one_sent_after_it(time: dict[str, Any], within_ms: int) -> None:
    """A waiting message that was deleted is never delivered and does not delay one sent after it."""
    harness = limited_harness()
    harness.topic("A")
    harness.topic("B")
    harness.send("B", b"gone", **time)
    harness.advance(10_000)
    fill(harness)
    harness.send("B", b"held", **time)
    harness.advance(within_ms)
    assert [record.body for record in stored(harness, "B")] == [b"held"]


def test_keys_of_deleted_messages_leave_the_index() -> None:
    """Keys of deleted messages find nothing, and the index does not grow with deleted messages."""
    harness = limited_harness()
    harness.topic("A")

    def query(key: str) -> list[bytes]:
        result = harness.engine.execute(
            harness.broker, QueryMessage("A", key, 32, 0, end_timestamp=2**63 - 1, unique_key=False)
        )
        assert isinstance(result, MessagesResult)
        return result.records

    places = harness.broker.message_queries.index._positions
    sizes = []
    for number in range(400):
        harness.send("A", BODY, KEYS=f"k{number}")
        assert len(query(f"k{number}")) == 1
        sizes.append(len(places))
    for gone in ("k0", f"k{min_offset(harness) - 1}"):
        with pytest.raises(EngineError) as nothing:
            query(gone)
        assert nothing.value.code == 22
    assert len(query(f"k{min_offset(harness)}")) == 1
    assert max(sizes[200:]) <= max(sizes[:200])
    held = harness.broker.store.max_offset("A", 0) - min_offset(harness)
    assert len(places) <= 2 * (held + 26)  # a key and an id for each message; removed once per file


def test_store_times_begin_at_the_min_offset() -> None:
    """The earliest store time is that of the minimum offset, and a search for an older time returns it."""
    harness = limited_harness()
    harness.topic("A")
    start = harness.now_ms
    for _ in range(200):
        harness.send("A", BODY)
        harness.advance(10)
    low = min_offset(harness)
    assert low > 0
    assert harness.ask(TimestampResult, GetEarliestStoreTime("A", 0)).timestamp == start + 10 * low
    assert harness.ask(OffsetResult, SearchOffset("A", 0, start, False)).offset == low
    assert harness.ask(OffsetResult, SearchOffset("A", 0, start + 10 * (low + 5), False)).offset == low + 5


def test_consume_stats_show_a_committed_offset_below_the_min_offset() -> None:
    """The stats show the committed offset of a group even if it is below the minimum offset."""
    harness = limited_harness()
    harness.topic("A")
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G")))
    fill(harness, count=10)
    harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "A", 0, 5))
    fill(harness)
    (queue,) = harness.ask(ConsumeStatsResult, GetConsumeStats("G", "A")).offsets.values()
    assert (queue.consumer_offset, queue.broker_offset) == (5, 210)


def test_a_view_of_offset_0_returns_the_first_stored_record() -> None:
    """A view of offset 0 returns the first stored record; other deleted offsets fail."""
    harness = limited_harness()
    harness.topic("A")
    places = [harness.send("A", b"%d" % number + BODY).physical_offset for number in range(200)]
    low = min_offset(harness)
    assert places[0] == 0
    for place in (0, places[low]):
        found = harness.ask(MessagesResult, ViewMessage(place))
        assert decode(found.records[0]).body == b"%d" % low + BODY
    with pytest.raises(EngineError, match="can not find message by the offset"):
        harness.ask(MessagesResult, ViewMessage(places[1]))
