"""A search by time returns the same as a scan of all messages, after deletions, power losses and restores."""

from collections.abc import Sequence

from engine_harness import EngineHarness, make_harness
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.offsets import OffsetResult, SearchOffset

QUEUES = 2
BODY = b"x" * 30_000
"""About ten of these bodies fill a log file."""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, QUEUES - 1)),
        st.tuples(st.just("wait"), st.integers(1, 400)),
        st.tuples(st.just("drop"), st.integers(1, 2)),
        st.tuples(st.just("lose power"), st.just(0)),
        st.tuples(st.just("go on elsewhere"), st.just(0)),
    ),
    max_size=60,
)


def small_harness() -> EngineHarness:
    """Create a broker with small files, which loses unflushed messages in a power loss."""
    harness = make_harness(mapped_file_size_commit_log=300_000, max_message_size=len(BODY) + 10)
    harness.topic("A", QUEUES)
    return harness


def stored_at(harness: EngineHarness, queue: int) -> tuple[int, list[int]]:
    """Return the first offset of a queue and the store times of its messages."""
    store = harness.broker.store
    low, high = store.min_offset("A", queue), store.max_offset("A", queue)
    records = [store.record("A", queue, offset) or b"" for offset in range(low, high)]
    return low, [decode(record).store_timestamp for record in records]


def found(harness: EngineHarness, queue: int, time_ms: int, *, upper: bool) -> int:
    """Return the offset that the broker finds for a time."""
    return harness.ask(OffsetResult, SearchOffset("A", queue, time_ms, upper)).offset


def lower_bound(first: int, times: Sequence[int], time_ms: int) -> int:
    """Return the first offset at or after a time, the end if all are older, and 0 for an empty queue."""
    return first + sum(each < time_ms for each in times) if times else 0


def upper_bound(first: int, times: Sequence[int], time_ms: int) -> int:
    """Return the last offset at or before a time, and 0 if all are newer."""
    older = sum(each <= time_ms for each in times)
    return first + older - 1 if older else 0


@given(STEPS)
def test_a_search_by_time_equals_a_scan_of_all_messages(steps: list[tuple[str, int]]) -> None:
    """A search equals a scan after deletions, power losses and a start from a snapshot."""
    harness = small_harness()
    for step, number in steps:
        if step == "send":
            harness.send("A", BODY, queue=number)
        elif step == "wait":
            harness.advance(number)
        elif step == "drop":
            harness.broker.store.log.drop_oldest(number)
        elif step == "lose power":
            harness.engine.crash()
        else:
            engine = Engine(state=harness.engine.state())
            harness = EngineHarness(engine, engine.brokers[0])
    for queue in range(QUEUES):
        first, times = stored_at(harness, queue)
        for time_ms in {time_ms + beside for time_ms in [harness.now_ms, *times] for beside in (-1, 0, 1)}:
            assert found(harness, queue, time_ms, upper=False) == lower_bound(first, times, time_ms)
            assert found(harness, queue, time_ms, upper=True) == upper_bound(first, times, time_ms)


def test_after_a_snapshot_starts_earlier_a_time_search_finds_the_new_messages() -> None:
    """With a snapshot started at an earlier time, a search finds the messages stored since then."""
    harness = small_harness()
    harness.send("A", BODY)
    harness.advance(60_000)
    harness.send("A", BODY)
    earlier_ms = harness.now_ms - 600_000
    engine = Engine(state=harness.engine.state(), now_ms=earlier_ms)
    again = EngineHarness(engine, engine.brokers[0])
    again.send("A", BODY)
    again.advance(10)
    again.send("A", BODY)
    assert [found(again, 0, earlier_ms + after, upper=False) for after in (1, 10, 11)] == [3, 3, 4]


def test_a_slave_searches_by_the_store_times_of_its_master() -> None:
    """A message that a slave received later has its master's store time."""
    configs = [BrokerConfig(), BrokerConfig(broker_id=1, broker_role="SLAVE")]
    engine = Engine(brokers=configs, now_ms=1_700_000_000_000)
    master, slave = EngineHarness(engine, engine.brokers[0]), EngineHarness(engine, engine.brokers[1])
    master.topic("A")
    start_ms = master.now_ms
    engine.stop(slave.broker)
    for _ in range(3):
        master.send("A")
        master.advance(10)
    engine.start(slave.broker)
    for time_ms in range(start_ms - 1, start_ms + 32):
        for upper in (False, True):
            assert found(slave, 0, time_ms, upper=upper) == found(master, 0, time_ms, upper=upper)
    assert found(slave, 0, start_ms + 10, upper=False) == 1
