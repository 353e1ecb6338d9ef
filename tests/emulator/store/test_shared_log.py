"""Logs of forks: each has the same records as an unshared log with the same changes."""

import random
from collections.abc import Callable
from struct import pack

import pytest
from rocketmq_testkit.emulator.store.commit_log import CommitLog
from rocketmq_testkit.emulator.store.shared_log import SharedLog, share_segments
from rocketmq_testkit.emulator.store.shared_segment import SharedSegment

SEGMENT_BYTES, MAX_BYTES = 1_000, 4_000


class Member:
    """A log of a family, and an unshared log with the same changes."""

    def __init__(self, log: CommitLog, model: CommitLog) -> None:
        self.log = log
        self.model = model

    def append(self, record: bytes, now_ms: int) -> None:
        for each in (self.log, self.model):
            each.reserve(len(record), now_ms)
            each.append(record)

    def change(self, act: Callable[[CommitLog], None]) -> None:
        act(self.log)
        act(self.model)

    def fork(self) -> "Member":
        segments, full = self.log.files()
        own, shared = share_segments(segments, self.log.shared)
        log = SharedLog(SEGMENT_BYTES, MAX_BYTES, lambda _: None, lambda: None)
        log.restore(SEGMENT_BYTES, own, dict(full), shared)
        copy = new_log()
        of_model, full = self.model.files()
        copy.restore(SEGMENT_BYTES, {number: bytearray(each) for number, each in of_model.items()}, dict(full))
        return Member(log, copy)

    def check(self) -> None:
        """Compare all ways to read both logs."""
        log, model = self.log, self.model
        for name in ("min_offset", "max_offset", "stored_bytes", "free_bytes"):
            assert getattr(log, name) == getattr(model, name), name
        assert list(log.full_files()) == list(model.full_files())
        records = list(model.records_from(0))
        assert list(log.records_from(0)) == records
        for offset, record in records:
            assert log.read(offset, len(record)) == record
            assert log.size_at(offset) == model.size_at(offset)
            assert log.bytes_at(offset, len(record)) == record
            buffer, at, end = log.part_of(offset)
            assert bytes(buffer[at:end]).startswith(record)
        assert [log.bytes_of_segment(number) for number in range(12)] == [
            model.bytes_of_segment(number) for number in range(12)
        ]
        parts = b"".join(bytes(part[at:end]) for _, part, at, end in log.parts(log.min_offset, log.max_offset))
        assert parts == b"".join(record for _, record in records)
        for offset, part, at, end in log.parts(log.min_offset, log.max_offset):
            assert bytes(part[at:end]) == b"".join(
                record for begin, record in records if offset + at <= begin < offset + end
            )
        assert log.common_end(model) == model.common_end(log) == model.max_offset
        assert log.size_at(model.max_offset) is None


def new_log() -> CommitLog:
    return CommitLog(SEGMENT_BYTES, MAX_BYTES, lambda _: None, lambda: None)


def a_record(chance: random.Random) -> bytes:
    size = chance.randint(5, 120)
    return pack(">i", size) + chance.randbytes(size - 4)


@pytest.mark.parametrize("seed", range(60))
def test_each_log_of_a_family_has_only_its_own_and_inherited_records(seed: int) -> None:
    """Logs append, truncate, delete files and are forked in random order."""
    chance = random.Random(seed)
    family = [Member(new_log(), new_log())]
    for step in range(250):
        member = chance.choice(family)
        kind = chance.random()
        if kind < 0.05 and len(family) < 8:
            family.append(member.fork())
        elif kind < 0.09:
            ends = [0, *(at + len(record) for at, record in member.model.records_from(0))]
            end = max(chance.choice(ends[-12:]), member.model.min_offset)
            member.change(lambda log, end=end: log.truncate(end))  # type: ignore[misc]  # lambdas have no types
        elif kind < 0.1:
            member.change(lambda log: log.drop_oldest(1))
        else:
            member.append(a_record(chance), step)
        if chance.random() < 0.05:
            member.check()
    for member in family:
        member.check()


def test_ascending_reads_cross_the_border_between_shared_and_own_bytes() -> None:
    """A read of consecutive records returns the same from one buffer as from two."""
    from array import array

    chance = random.Random(1)
    member = Member(new_log(), new_log())
    for number in range(4):
        member.append(a_record(chance), number)
    child = member.fork()
    member.append(a_record(chance), 5)
    for number in range(3):
        child.append(a_record(chance), number)
    records = list(child.model.records_from(0))
    for first in range(len(records)):
        for stop in range(first, len(records) + 1):
            some = records[first:stop]
            offsets, sizes = [at for at, _ in some], array("i", [len(record) for _, record in some])
            found = child.log.read_ascending(offsets, sizes, sum(sizes))
            assert list(found) == [record for _, record in some]
            found = child.log.read_ascending(offsets[::2], sizes[::2], sum(sizes[::2]))
            assert list(found) == [record for _, record in some[::2]]


def test_a_parent_appends_while_a_fork_reads() -> None:
    """An open generator over the fork's records does not prevent the parent's buffer from growing."""
    member = Member(new_log(), new_log())
    member.append(a_record(random.Random(1)), 0)
    member.append(a_record(random.Random(2)), 0)
    child = member.fork()
    reading = child.log.records_from(0)
    next(reading)
    for _ in range(5):
        member.append(a_record(random.Random(3)), 0)
    assert len([*reading]) == 1


def test_a_cut_segment_keeps_only_the_buffers_that_it_needs() -> None:
    shared = SharedSegment((bytearray(b"abc"), bytearray(b"defX")), (0, 3), 6)
    assert [(bytes(part), length) for part, length in shared.cut(3).parts()] == [(b"abc", 3)]
    assert [(bytes(part), length) for part, length in shared.cut(4).parts()] == [(b"abc", 3), (b"defX", 1)]
    assert [shared.find(at)[1:] for at in range(6)] == [(0, 3), (1, 3), (2, 3), (0, 3), (1, 3), (2, 3)]
