"""Tests of positions: their JSON form, the distribution of a rate limit, and the division of ranges into tasks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark_rocketmq.options.offsets import MessageQueue, Offsets, Range, from_json, limited, to_json
from pyspark_rocketmq.reading.planning import SPREAD_SIZE, TASK_SIZE, plan

QUEUES = st.builds(
    MessageQueue, st.sampled_from(["orders", "payments"]), st.sampled_from(["broker-a", "broker-b"]), st.integers(0, 7)
)
OFFSETS = st.dictionaries(QUEUES, st.integers(0, 1 << 40))


@given(OFFSETS)
def test_offsets_survive_a_round_trip_through_json(offsets: Offsets) -> None:
    assert from_json(json.loads(json.dumps(to_json(offsets)))) == offsets


@given(st.dictionaries(QUEUES, st.tuples(st.integers(0, 1000), st.integers(0, 1000))), st.integers(1, 3000))
def test_a_limit_is_kept_and_every_queue_with_a_backlog_advances(
    queues: dict[MessageQueue, tuple[int, int]], most: int
) -> None:
    """A limit distributes exactly the allowed offsets, within each range, and every queue with a backlog advances."""
    start = {queue: low for queue, (low, _) in queues.items()}
    end = {queue: low + size for queue, (low, size) in queues.items()}

    found = limited(start, end, most)

    total = sum(size for _, size in queues.values())
    assert sum(found[queue] - start[queue] for queue in queues) == min(most, total)
    assert all(start[queue] <= found[queue] <= end[queue] for queue in queues)
    waiting = [queue for queue in queues if end[queue] > start[queue]]
    if most >= len(waiting):
        assert all(found[queue] > start[queue] for queue in waiting)


def test_a_limit_is_distributed_in_proportion_to_the_backlog() -> None:
    """A queue with nine times the backlog gets nine times as many offsets."""
    big, small = MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)

    assert limited({big: 10, small: 0}, {big: 910, small: 100}, 100) == {big: 100, small: 10}


def test_queues_that_end_before_their_start_keep_their_end() -> None:
    """A queue whose broker lost messages is not moved by a limit."""
    lost, other = MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)

    assert limited({lost: 50, other: 0}, {lost: 20, other: 100}, 10) == {lost: 20, other: 10}


RANGES = st.dictionaries(QUEUES, st.tuples(st.integers(0, 100), st.integers(0, 5 * TASK_SIZE)), max_size=12).map(
    lambda found: [Range(queue, low, low + size) for queue, (low, size) in found.items()]
)


@given(RANGES, st.none() | st.integers(1, 40), st.none() | st.integers(40, 80))
def test_tasks_have_every_offset_once(ranges: list[Range], least: int | None, most: int | None) -> None:
    """Any division into tasks contains every offset once, and each task is in the order of offsets."""
    tasks = plan(ranges, least, most)

    pieces = sorted(piece for task in tasks for piece in task)
    together: dict[MessageQueue, list[tuple[int, int]]] = {}
    for queue, start, end in pieces:
        assert start < end
        known = together.setdefault(queue, [(start, start)])
        assert known[-1][1] == start
        known[-1] = (known[-1][0], end)
    assert together == {queue: [(start, end)] for queue, start, end in ranges if start < end}
    assert all(task == tuple(sorted(task)) and task for task in tasks)
    total = sum(each.size for each in ranges)
    assert len(tasks) <= min(most or 1 << 30, total)
    if least is not None:
        assert len(tasks) >= min(least, total)


def test_small_queues_share_a_task() -> None:
    """Small queues share a task, because a task costs more than reading some messages."""
    ranges = [Range(MessageQueue("t", "b", queue), 0, 100) for queue in range(16)]

    assert [len(task) for task in plan(ranges)] == [16]


def test_a_large_range_is_split() -> None:
    """A large range is split as far as it pays and is allowed."""
    [large] = [Range(MessageQueue("t", "b", 0), 0, 4 * TASK_SIZE)]

    assert [sum(each.size for each in task) for task in plan([large], most=4)] == [TASK_SIZE] * 4
    assert len(plan([large], most=2)) == 2
    assert len(plan([large], least=9, most=9)) == 9


@pytest.mark.parametrize("processors", [1, 2, 8])
def test_large_reads_have_more_tasks_than_processors(monkeypatch: pytest.MonkeyPatch, processors: int) -> None:
    """Large reads have two tasks per processor to even out slow ones; smaller reads have one, and small ones fewer."""
    monkeypatch.setattr("os.cpu_count", lambda: processors)

    def tasks(size: int) -> int:
        return len(plan([Range(MessageQueue("t", "b", 0), 0, size)]))

    large = 2 * processors * SPREAD_SIZE
    assert [tasks(TASK_SIZE), tasks(large - 1), tasks(large)] == [1, processors, 2 * processors]
