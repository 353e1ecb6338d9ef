"""Reads of the commit log at offsets where no record begins."""

from struct import pack

import pytest
from rocketmq_testkit.emulator.store.commit_log import CommitLog

SEGMENT_BYTES = 128
FULL = SEGMENT_BYTES - 8


@pytest.fixture
def log() -> CommitLog:
    """Create a log of two segments: 120 bytes, with eight bytes kept free after them, and 10 bytes."""
    made = CommitLog(SEGMENT_BYTES, 1 << 20, lambda _: None, lambda: None)
    for data in (b"\x00" * (FULL - 4) + pack(">i", 7), pack(">i", -5) + bytes(6)):
        made.reserve(len(data), 0)
        made.append(data)
    assert made.max_offset == SEGMENT_BYTES + 10
    return made


@pytest.mark.parametrize(
    ("offset", "size"),
    [
        (-1, None),
        (0, 0),
        (FULL - 4, 7),
        (FULL - 3, None),
        (FULL - 1, None),
        (SEGMENT_BYTES, -5),
        (SEGMENT_BYTES + 6, 0),
        (SEGMENT_BYTES + 7, None),
        (SEGMENT_BYTES + 10, None),
    ],
)
def test_a_size_is_read_up_to_the_last_four_bytes_of_a_segment(log: CommitLog, offset: int, size: int | None) -> None:
    """A size is read up to the last four bytes of a segment, and not beyond or outside of the log."""
    assert log.size_at(offset) == size


@pytest.mark.parametrize(
    ("offset", "size", "data"),
    [
        (FULL - 4, 4, pack(">i", 7)),
        (FULL - 4, 5, None),
        (SEGMENT_BYTES + 8, 2, b"\x00\x00"),
        (SEGMENT_BYTES + 8, 3, None),
    ],
)
def test_a_read_does_not_continue_in_the_next_segment(
    log: CommitLog, offset: int, size: int, data: bytes | None
) -> None:
    assert log.bytes_at(offset, size) == data


def records(*numbers: int) -> list[bytes]:
    """Return records of 40 bytes, three of which fit into a segment; each contains its number."""
    return [pack(">i", 40) + bytes([number]) * 36 for number in numbers]


def filled(*stored: bytes, max_bytes: int = 1 << 20) -> CommitLog:
    """Create a log of records."""
    made = CommitLog(SEGMENT_BYTES, max_bytes, lambda _: None, lambda: None)
    for each in stored:
        made.reserve(len(each), 0)
        made.append(each)
    return made


@pytest.mark.parametrize(
    ("own", "other", "parts"),
    [
        ((1, 2, 3, 4), (1, 2, 3, 4, 5), 2 * SEGMENT_BYTES - 48),
        ((1, 2, 3, 4), (1, 2, 3, 9, 5), FULL),
        ((1, 2, 3, 4, 5), (1, 2, 3, 4), SEGMENT_BYTES + 40),
        ((1, 2), (1, 9, 3), 40),
        ((1, 2), (9, 2), 0),
    ],
)
def test_two_logs_part_at_the_first_record_that_differs(
    own: tuple[int, ...], other: tuple[int, ...], parts: int
) -> None:
    """Two logs part at the first record that differs, or at the own end if the other log continues."""
    ours = filled(*records(*own))
    assert ours.common_end(filled(*records(*other))) == min(parts, ours.max_offset)


@pytest.mark.parametrize(("last", "parts"), [(5, SEGMENT_BYTES + 80), (9, SEGMENT_BYTES + 40)])
def test_a_segment_that_the_other_log_has_deleted_counts_as_equal(last: int, parts: int) -> None:
    """A segment that the other log has deleted counts as equal, and the segments after it are compared."""
    ours = filled(*records(1, 2, 3, 4, 5))
    other = filled(*records(1, 2, 3, 4, last, 6, 7), max_bytes=SEGMENT_BYTES + 50)
    assert other.min_offset == SEGMENT_BYTES
    assert ours.common_end(other) == parts
