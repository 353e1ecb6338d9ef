"""The table of offsets: commits, resets, copies, deletions, and the offsets that a crash leaves."""

from collections.abc import Callable

import pytest
from engine_harness import START_MS, EngineHarness
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.group.offset_table import OffsetTable
from rocketmq_testkit.emulator.history.events import MoveKind
from rocketmq_testkit.emulator.kernel.file_image import FIRST_WRITE_MS
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.offsets import OffsetResult, QueryConsumerOffset, ResetOffset
from rocketmq_testkit.emulator.operations.topics import DeleteTopic

Move = tuple[MoveKind, str, str, int, int | None, int]


class Offsets(OffsetTable):
    """A table with its scheduler and the moves that it has reported."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(START_MS)
        self.moves: list[Move] = []
        super().__init__(BrokerConfig(), self.scheduler, lambda *move: self.moves.append(move))

    def advance(self, ms: int) -> None:
        self.scheduler.advance_to(self.scheduler.now_ms + ms)


@pytest.fixture
def offsets() -> Offsets:
    return Offsets()


def test_a_commit_overwrites_a_higher_offset_and_only_that_is_reported(offsets: Offsets) -> None:
    """The first offset of a group in a queue is reported, too."""
    assert offsets.query("G", "T", 0) == -1
    for offset in (3, 7, 7, 5):
        offsets.commit("G", "T", 0, offset)
    assert offsets.query("G", "T", 0) == 5
    assert offsets.moves == [(MoveKind.FIRST, "G", "T", 0, None, 3), (MoveKind.BACKWARD, "G", "T", 0, 7, 5)]


def test_a_pending_reset_comes_before_commits_until_a_read_takes_it(offsets: Offsets) -> None:
    offsets.commit("G", "T", 0, 5)
    offsets.reset("G", "T", 0, 2)
    offsets.commit("G", "T", 0, 9)
    assert (offsets.query("G", "T", 0), offsets.pending_reset("G", "T", 0), offsets.pending_reset("G", "T", 1)) == (
        2,
        2,
        None,
    )
    assert [offsets.take_reset("G", "T", 0), offsets.take_reset("G", "T", 0)] == [2, None]
    assert offsets.query("G", "T", 0) == 9
    assert (MoveKind.RESET, "G", "T", 0, 5, 2) in offsets.moves


def test_a_clone_replaces_all_offsets_of_the_other_group(offsets: Offsets) -> None:
    """A group without offsets is not cloned."""
    offsets.commit("G", "T", 0, 5)
    offsets.commit("H", "T", 0, 1)
    offsets.commit("H", "T", 1, 2)
    offsets.clone("none", "H", "T")
    assert offsets.committed["H", "T"] == {0: 1, 1: 2}
    offsets.clone("G", "H", "T")
    offsets.commit("G", "T", 0, 6)
    assert offsets.committed["H", "T"] == {0: 5}
    assert offsets.moves[-1] == (MoveKind.CLONE, "H", "T", 0, 1, 5)


def test_pull_offsets_are_apart_from_committed_offsets(offsets: Offsets) -> None:
    offsets.set_pull_offset("G", "T", 0, 8)
    assert (offsets.pull_offset("G", "T", 0), offsets.pull_offset("G", "T", 1), offsets.query("G", "T", 0)) == (
        8,
        -1,
        -1,
    )
    assert (offsets.topics_of("G"), offsets.groups_of("T")) == ([], [])
    offsets.delete_pull_offsets("G", "T")
    assert offsets.pull_offset("G", "T", 0) == -1


def test_lists_have_groups_and_topics_with_commits_but_none_with_an_at_sign(offsets: Offsets) -> None:
    """The broker's own entries for broadcast consumers have an @, at which upstream splits its keys TOPIC@GROUP."""
    for group, topic in (("G", "A"), ("G", "B"), ("H", "B"), ("G@broadcast", "B")):
        offsets.commit(group, topic, 0, 1)
    assert offsets.topics_of("G") == ["A", "B"]
    assert offsets.topics_of("G@broadcast") == []
    assert offsets.groups_of("B") == ["G", "H"]
    assert [(group, topic) for group, topic, _ in offsets.all()] == [
        ("G", "A"),
        ("G", "B"),
        ("H", "B"),
        ("G@broadcast", "B"),
    ]


def test_a_deletion_of_a_group_deletes_commits_pull_offsets_and_resets(offsets: Offsets) -> None:
    """Offsets of other groups stay. Source: ConsumerOffsetManager.removeOffset (5.3.3)."""
    for group, topic in (("G", "A"), ("H", "B")):
        offsets.reset(group, topic, 0, 4)
        offsets.set_pull_offset(group, topic, 0, 6)
    offsets.delete_group("G")
    left = {
        group: (offsets.query(group, topic, 0), offsets.pull_offset(group, topic, 0), offsets.topics_of(group))
        for group, topic in (("G", "A"), ("H", "B"))
    }
    assert left == {"G": (-1, -1, []), "H": (4, 6, ["B"])}


@pytest.mark.parametrize(
    ("delete", "kept"),
    [
        (lambda offsets: offsets.delete_topic("A"), [("G", "B"), ("G@broadcast", "A")]),
        (lambda offsets: offsets.delete_committed_of_group("G"), [("H", "A")]),
    ],
    ids=["topic", "group left out of a correction query"],
)
def test_pull_offsets_and_resets_outlive_the_commits_of_a_topic_or_of_a_filtered_group(
    offsets: Offsets, delete: Callable[[Offsets], None], kept: list[tuple[str, str]]
) -> None:
    """Only a filtered group loses the offset of its broadcast consumers, too.

    Source: ConsumerOffsetManager.cleanOffsetByTopic, queryMinOffsetInAllGroup (5.3.3).
    """
    for pair in (("G", "A"), ("G", "B"), ("H", "A"), ("G@broadcast", "A")):
        offsets.reset(*pair, 0, 4)
        offsets.set_pull_offset(*pair, 0, 6)
    delete(offsets)
    assert list(offsets.committed) == kept
    for pair in (("G", "A"), ("G", "B"), ("H", "A"), ("G@broadcast", "A")):
        assert (offsets.pending_reset(*pair, 0), offsets.pull_offset(*pair, 0)) == (4, 6)
    offsets.delete_group("G")
    assert (offsets.pending_reset("G", "A", 0), offsets.pull_offset("G", "A", 0)) == (None, -1)


def test_a_pending_reset_of_a_deleted_topic_is_applied_to_the_topic_created_again(harness: EngineHarness) -> None:
    harness.topic("A")
    for body in (b"0", b"1", b"2"):
        harness.send("A", body)
    harness.broker.groups.find_or_create("G")
    harness.engine.execute(harness.broker, ResetOffset("G", "A", 0, 0, offset=1))
    harness.engine.execute(harness.broker, DeleteTopic("A"))
    harness.topic("A")
    assert harness.broker.offsets.committed.get(("G", "A")) is None
    assert harness.ask(OffsetResult, QueryConsumerOffset("G", "A", 0)).offset == 1
    pulled = harness.pull("A").outcome
    assert isinstance(pulled, PullResult)
    assert pulled.next_begin_offset == 1


def test_after_a_crash_commits_are_those_of_the_last_write(offsets: Offsets) -> None:
    """Later commits, queues and deletions are undone. Pull offsets and resets are never written."""
    offsets.commit("G", "T", 0, 1)
    offsets.commit("H", "T", 0, 7)
    offsets.advance(FIRST_WRITE_MS)
    offsets.commit("G", "T", 0, 2)
    offsets.commit("G", "T", 1, 3)
    offsets.delete_group("H")
    offsets.set_pull_offset("G", "T", 0, 9)
    offsets.reset("G", "U", 0, 4)
    offsets.recover()
    assert offsets.committed == {("G", "T"): {0: 1}, ("H", "T"): {0: 7}}
    assert (offsets.pull_offset("G", "T", 0), offsets.pending_reset("G", "U", 0)) == (-1, None)
    assert offsets.groups_of("T") == ["G", "H"]


def test_a_crash_after_the_next_write_loses_no_commit(offsets: Offsets) -> None:
    offsets.advance(FIRST_WRITE_MS)
    offsets.commit("G", "T", 0, 2)
    offsets.advance(BrokerConfig().flush_consumer_offset_interval)
    offsets.recover()
    assert offsets.query("G", "T", 0) == 2


def test_a_crash_after_a_write_outside_the_schedule_loses_no_commit(offsets: Offsets) -> None:
    offsets.commit("G", "T", 0, 2)
    offsets.write()
    offsets.commit("G", "T", 0, 3)
    offsets.recover()
    assert offsets.query("G", "T", 0) == 2


def test_a_copy_has_the_commits_of_the_other_table_and_keeps_those_of_other_groups(offsets: Offsets) -> None:
    master = Offsets()
    master.commit("G", "T", 0, 5)
    offsets.commit("G", "T", 1, 9)
    offsets.commit("only here", "T", 0, 1)
    offsets.copy_from(master)
    master.commit("G", "T", 0, 6)
    assert offsets.committed == {("G", "T"): {0: 5}, ("only here", "T"): {0: 1}}


def test_a_fork_continues_with_pull_offsets_and_resets_of_its_own(offsets: Offsets) -> None:
    offsets.set_pull_offset("G", "T", 0, 8)
    offsets.reset("G", "T", 0, 4)
    fork = Offsets()
    fork.continue_from(offsets.fork_state())
    assert offsets.take_reset("G", "T", 0) == 4
    offsets.set_pull_offset("G", "T", 0, 9)
    assert (fork.pull_offset("G", "T", 0), fork.pending_reset("G", "T", 0)) == (8, 4)
    fork.delete_group("G")
    assert (fork.pull_offset("G", "T", 0), fork.pending_reset("G", "T", 0)) == (-1, None)
