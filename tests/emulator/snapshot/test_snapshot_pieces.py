"""Snapshots that are written piece by piece while the engine continues."""

from engine_harness import make_harness
from rocketmq_testkit.emulator.operations.topics import DeleteTopic
from rocketmq_testkit.emulator.snapshot.snapshot_file import WRITTEN_PIECE_BYTES, snapshot_pieces
from snapshot_files import saved


def test_a_snapshot_has_the_state_at_its_begin_although_the_engine_changes_while_it_is_written() -> None:
    """The changes are sends, a new topic, full segments, a crash and a deleted topic."""
    harness = make_harness(mapped_file_size_commit_log=300_000, flush_disk_type="ASYNC_FLUSH")
    harness.topic("T")
    for number in range(40):
        harness.send("T", b"%d" % number * 5_000)
    expected = saved(harness.engine)
    pieces = snapshot_pieces(harness.engine.state())
    found = [next(pieces)]

    harness.send("T", b"later")
    harness.topic("U")
    found.append(next(pieces))
    harness.engine.crash(harness.broker)
    found.append(next(pieces))
    for _ in range(100):
        harness.send("T", b"x" * 50_000)
    harness.engine.execute(harness.broker, DeleteTopic("T"))
    found.extend(pieces)

    assert b"".join(found) == expected
    assert saved(harness.engine) != expected


def test_the_pieces_of_a_snapshot_have_a_bounded_size() -> None:
    harness = make_harness()
    harness.topic("T")
    for _ in range(3):
        harness.send("T", b"x" * 1_000_000)
    pieces = list(snapshot_pieces(harness.engine.state()))
    assert b"".join(pieces) == saved(harness.engine)
    assert max(map(len, pieces)) == WRITTEN_PIECE_BYTES
