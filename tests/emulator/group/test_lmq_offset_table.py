"""Offsets of groups with LMQ names: one per topic for all queue ids, which lists and copies omit."""

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.group.lmq_offset_table import LmqOffsetTable
from rocketmq_testkit.emulator.group.offset_table import OffsetTable
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.groups import GetGroup
from rocketmq_testkit.emulator.operations.offsets import (
    AllOffsetsResult,
    GetAllConsumerOffset,
    OffsetResult,
    QueryConsumerOffset,
    ResetOffset,
    UpdateConsumerOffset,
)

A, B = "%LMQ%a", "%LMQ%b"


@pytest.fixture
def harness() -> EngineHarness:
    made = make_harness(enable_lmq=True, enable_multi_dispatch=True)
    made.topic("T", 2)
    return made


@pytest.fixture
def offsets() -> LmqOffsetTable:
    """A table with offsets of group `A`, which has an LMQ name, and of group G."""
    made = LmqOffsetTable(BrokerConfig(), Scheduler(START_MS))
    made.commit(A, "T", 3, 5)
    made.commit("G", "T", 3, 7)
    return made


def test_lists_omit_groups_with_lmq_names(offsets: LmqOffsetTable) -> None:
    """Only the list of LMQ offsets has them."""
    assert [*offsets.all()] == [("G", "T", {3: 7})]
    assert (offsets.groups_of("T"), offsets.topics_of(A), offsets.topics_of("G")) == (["G"], [], ["T"])
    assert offsets.lmq_offsets() == {(A, "T"): 5}


def test_a_slave_does_not_copy_lmq_offsets(offsets: LmqOffsetTable) -> None:
    slave = OffsetTable(BrokerConfig(), Scheduler(START_MS))
    slave.copy_from(offsets)
    assert slave.committed == {("G", "T"): {3: 7}}


def test_the_deletion_of_a_topic_keeps_lmq_offsets_and_that_of_a_group_does_not(offsets: LmqOffsetTable) -> None:
    offsets.delete_topic("T")
    assert (offsets.query(A, "T", 0), offsets.query("G", "T", 3)) == (5, -1)
    offsets.delete_group(A)
    assert offsets.lmq_offsets() == {}


def test_lmq_offsets_outlive_a_correction_query_and_lmq_resets_the_deletion_of_the_group(
    offsets: LmqOffsetTable,
) -> None:
    """Source: LmqConsumerOffsetManager.removeOffset, ConsumerOffsetManager.queryMinOffsetInAllGroup (5.3.3)."""
    offsets.reset(A, "T", 0, 2)
    for group in (A, "G"):
        offsets.delete_committed_of_group(group)
    assert (offsets.lmq_offsets(), offsets.query("G", "T", 3)) == ({(A, "T"): 5}, -1)
    offsets.delete_group(A)
    assert (offsets.lmq_offsets(), offsets.pending_reset(A, "T", 0)) == ({}, 2)


def test_a_restored_lmq_offset_is_the_last_one_of_its_topic(offsets: LmqOffsetTable) -> None:
    """A run without `enableLmq` may have written one offset for each queue."""
    offsets.restore({(B, "T"): {0: 4, 2: 6}, ("H", "T"): {0: 4, 2: 6}, (B, "U"): {}})
    assert offsets.lmq_offsets() == {(A, "T"): 5, (B, "T"): 6}
    assert offsets.committed["H", "T"] == {0: 4, 2: 6}


def test_an_lmq_group_has_one_offset_for_all_queue_ids(harness: EngineHarness) -> None:
    """A group with an LMQ name has one offset for all queue ids, which lists omit; a reset moves only the next read."""
    harness.send("T", INNER_MULTI_DISPATCH=A)
    group = "%LMQ%g"
    harness.ask(Done, UpdateConsumerOffset(group, A, queue_id=3, commit_offset=1))
    for queue in (0, 7):
        assert harness.ask(OffsetResult, QueryConsumerOffset(group, A, queue)).offset == 1
    table = harness.ask(AllOffsetsResult, GetAllConsumerOffset())
    assert (table.offsets, table.lmq_offsets) == ({}, {(group, A): 1})
    harness.engine.execute(harness.broker, ResetOffset(group, A, timestamp=0, queue_id=0, offset=0))
    assert harness.ask(OffsetResult, QueryConsumerOffset(group, A, 0)).offset == 1
    outcome = harness.pull(A, 1, group=group).outcome
    assert isinstance(outcome, PullResult)
    assert (outcome.code, outcome.next_begin_offset) == (ResponseCode.PULL_OFFSET_MOVED, 0)


def test_a_reset_of_another_group_moves_its_offset_of_one_queue(harness: EngineHarness) -> None:
    harness.topic("U", 4)
    for _ in range(3):
        harness.send("U", queue=2)
    harness.engine.execute(harness.broker, GetGroup("G"))  # creates the group
    harness.ask(Done, UpdateConsumerOffset("G", "U", queue_id=2, commit_offset=3))
    harness.engine.execute(harness.broker, ResetOffset("G", "U", timestamp=-1, queue_id=2, offset=1))
    assert harness.ask(OffsetResult, QueryConsumerOffset("G", "U", 2)).offset == 1
    assert harness.broker.offsets.query("G", "U", 1) == -1


@pytest.mark.parametrize(("source", "dest", "cloned"), [("G", "H", 3), (A, "H", -1), ("G", B, -1)])
def test_offsets_are_cloned_unless_a_group_is_an_lmq(
    harness: EngineHarness, source: str, dest: str, cloned: int
) -> None:
    """Offsets are cloned from group to group, unless one of them is an LMQ."""
    harness.broker.offsets.commit(source, "T", 0, 3)
    harness.broker.offsets.clone(source, dest, "T")
    assert harness.broker.offsets.query(dest, "T", 0) == cloned
