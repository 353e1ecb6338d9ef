"""Moves of offsets that no delivery explains: their causes, and the clients that requested them."""

import pytest
from engine_harness import EngineHarness, make_harness
from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.history.events import MoveKind, OffsetMove
from rocketmq_testkit.emulator.history.offset_moves import MOVES_MAX, QUEUES_MAX, OffsetMoves
from rocketmq_testkit.emulator.history.record_kind import RecordKind
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import PopMessage
from rocketmq_testkit.emulator.operations.groups import CloneGroupOffset, CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.offsets import ResetOffset, UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.topics import DeleteTopic

FIRST, RESET, CLONE, BACKWARD = MoveKind.FIRST, MoveKind.RESET, MoveKind.CLONE, MoveKind.BACKWARD


@pytest.fixture
def harness() -> EngineHarness:
    harness = make_harness()
    harness.topic("T")
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G")))
    for _ in range(10):
        harness.send("T")
    return harness


def ask(harness: EngineHarness, operation: Operation, channel: str = "c") -> None:
    """Submit an operation of a client, and assert that it is not rejected."""
    harness.engine.execute(harness.broker, operation, DirectChannel(channel))


def commit(harness: EngineHarness, offset: int, group: str = "G") -> None:
    ask(harness, UpdateConsumerOffset(group, "T", 0, offset))


def pull(harness: EngineHarness, offset: int, commit: int | None = None, count: int = 2) -> None:
    ask(harness, pull_of("G", "T", offset=offset, count=count, commit=commit))


def moves(harness: EngineHarness, group: str = "G") -> list[tuple[MoveKind, int | None, int, str]]:
    found = harness.engine.history.moves("broker-a", group, "T", 0)
    return [(each.kind, each.before, each.after, each.channel) for each in found]


def test_group_that_reads_and_commits_began_at_its_first_read(harness: EngineHarness) -> None:
    """The first commit is beyond the offset of the first read. Later commits of higher offsets are no moves."""
    pull(harness, 3)
    commit(harness, 5)
    pull(harness, 5, commit=6)
    commit(harness, 8)
    assert moves(harness) == [(FIRST, None, 3, "c")]


def test_group_that_commits_without_a_read_began_at_its_first_commit(harness: EngineHarness) -> None:
    """A consumer that starts at the end of the queue commits this offset."""
    commit(harness, 10)
    assert moves(harness) == [(FIRST, None, 10, "c")]


def test_first_offset_of_a_pop_is_that_of_the_popping_client(harness: EngineHarness) -> None:
    """The broker commits the start offset at the first pop of a group."""
    ask(harness, PopMessage("G", "T", queue_id=0, max_msg_nums=1, invisible_ms=10_000), "popper")
    assert moves(harness) == [(FIRST, None, 0, "popper")]


def test_lower_commit_is_a_move_back(harness: EngineHarness) -> None:
    """The commit is a request of its own, or part of a pull."""
    commit(harness, 8)
    commit(harness, 5)
    pull(harness, 5, commit=2)
    assert moves(harness) == [(FIRST, None, 8, "c"), (BACKWARD, 8, 5, "c"), (BACKWARD, 5, 2, "c")]


def test_reset_is_one_move_even_if_it_decreases_the_offset(harness: EngineHarness) -> None:
    """The commit that the reset causes is no further move."""
    commit(harness, 5)
    harness.advance(1)
    ask(harness, ResetOffset("G", "T", 0, 0, offset=2), "admin")
    assert moves(harness) == [(FIRST, None, 5, "c"), (RESET, 5, 2, "admin")]
    pull(harness, 5)
    assert len(moves(harness)) == 2, "the pull that takes the reset is no move"


def test_messages_that_a_reset_passes_are_not_acknowledged_by_the_next_commit(harness: EngineHarness) -> None:
    """The group reads two messages, is reset to offset 8, reads on there, and commits offset 9."""
    history = harness.engine.history
    pull(harness, 0)
    commit(harness, 2)
    ask(harness, ResetOffset("G", "T", 0, 0, offset=8), "admin")
    pull(harness, 2)
    pull(harness, 8)
    commit(harness, 9)
    kinds = [[each.kind for each in history.of("broker-a", "T", 0, offset)] for offset in (1, 5, 8, 9)]
    read = [RecordKind.PULLED, RecordKind.COMMITTED]
    assert kinds == [read, [], read, [RecordKind.PULLED]]


def test_reset_by_the_consumers_is_a_reset_of_the_administrator(harness: EngineHarness) -> None:
    """Without useServerSideResetOffset the consumers commit the new offset, which acknowledges no message."""
    harness.broker.config.use_server_side_reset_offset = False
    channel = DirectChannel("c")
    beat = Heartbeat("c", [], [ConsumerData("G", subscriptions=[SubscriptionData("T")])], version=500)
    harness.engine.execute(harness.broker, beat, channel)
    commit(harness, 2)
    ask(harness, ResetOffset("G", "T", -1, -1, force=True), "admin")
    commit(harness, 10)
    assert moves(harness) == [(FIRST, None, 2, "c"), (RESET, 2, 10, "admin")]
    assert harness.engine.history.of("broker-a", "T", 0, 5) == []


def test_copy_of_offsets_is_a_move_of_the_second_group(harness: EngineHarness) -> None:
    """The first group keeps its own moves."""
    commit(harness, 4)
    ask(harness, CloneGroupOffset("G", "other", "T", offline=True), "admin")
    assert moves(harness, "other") == [(CLONE, None, 4, "admin")]
    assert moves(harness) == [(FIRST, None, 4, "c")]


def test_group_begins_again_in_a_topic_that_was_created_again(harness: EngineHarness) -> None:
    """The group's old offset has no meaning in the new topic, so its first commit counts from its first read."""
    pull(harness, 0)
    commit(harness, 2)
    harness.engine.execute(harness.broker, DeleteTopic("T"))
    harness.topic("T")
    harness.advance(1)
    harness.send("T")
    pull(harness, 0)
    commit(harness, 1)
    assert moves(harness)[-1] == (FIRST, None, 0, "c")
    events = harness.engine.history.of("broker-a", "T", 0, 0)
    assert [each.kind for each in events if each.at_ms == harness.now_ms] == [RecordKind.PULLED, RecordKind.COMMITTED]


def test_moves_of_a_snapshot_are_no_moves_of_the_engine_that_starts_from_it(harness: EngineHarness) -> None:
    """The history does not record the restored offsets as moves."""
    commit(harness, 4)
    engine = type(harness.engine)(state=harness.engine.state())
    assert engine.history.moves("broker-a", "G", "T", 0) == []
    assert engine.history.complete_since_ms() == engine.scheduler.now_ms


def test_moves_are_bounded() -> None:
    """The number of moves is bounded per queue and in all; the newest remain."""
    held = OffsetMoves()
    for at in range(10):
        held.note("G", ("b", "T", 0), OffsetMove(at, BACKWARD, at + 1, at, channel=""))
    assert [each.at_ms for each in held.of("G", ("b", "T", 0))] == list(range(10 - MOVES_MAX, 10))
    for number in range(QUEUES_MAX + 5):
        held.note(f"G{number}", ("b", "T", 0), OffsetMove(0, FIRST, None, 0, channel=""))
    assert len(held.unnamed) <= QUEUES_MAX
    assert held.of("G", ("b", "T", 0)) == held.of("G4", ("b", "T", 0)) == []
    assert len(held.of(f"G{QUEUES_MAX + 4}", ("b", "T", 0))) == 1
