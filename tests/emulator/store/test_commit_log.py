"""The commit log: reads at offsets where no record begins, and the offset from which two logs differ."""

from struct import pack

import pytest
from rocketmq_testkit.emulator.store.commit_log import CommitLog

SEGMENT_BYTES = 128
FULL = SEGMENT_BYTES - 8
"""The bytes of records that fit into a segment: the log keeps eight bytes free for upstream's mark of a full file."""


def empty_log(max_bytes: int = 1 << 20) -> CommitLog:
    """Create a log that reports neither dropped nor full segments."""
    return CommitLog(SEGMENT_BYTES, max_bytes, on_trim=lambda _: None, on_full=lambda: None)


@pytest.fixture
def log() -> CommitLog:
    """Create a log of two segments. The first has FULL bytes, the last four of which are the number 7.

    The second has 10 bytes, the first four of which are the number -5. All other bytes are 0.
    """
    made = empty_log()
    for data in (b"\x00" * (FULL - 4) + pack(">i", 7), pack(">i", -5) + bytes(6)):
        made.reserve(len(data), now_ms=0)
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
    made = empty_log(max_bytes)
    for each in stored:
        made.reserve(len(each), now_ms=0)
        made.append(each)
    return made


@pytest.mark.parametrize(
    ("own", "other", "common_end"),
    [
        ((1, 2, 3, 4), (1, 2, 3, 4, 5), SEGMENT_BYTES + 40),
        ((1, 2, 3, 4), (1, 2, 3, 9, 5), FULL),
        ((1, 2, 3, 4, 5), (1, 2, 3, 4), SEGMENT_BYTES + 40),
        ((1, 2), (1, 9, 3), 40),
        ((1, 2), (9, 2), 0),
    ],
)
def test_two_logs_are_equal_up_to_the_first_record_that_differs(
    own: tuple[int, ...], other: tuple[int, ...], common_end: int
) -> None:
    """Two logs are equal up to the first record that differs, or up to the end of the shorter log."""
    assert filled(*records(*own)).common_end(filled(*records(*other))) == common_end


@pytest.mark.parametrize(("last", "common_end"), [(5, SEGMENT_BYTES + 80), (9, SEGMENT_BYTES + 40)])
def test_a_segment_that_the_other_log_has_deleted_counts_as_equal(last: int, common_end: int) -> None:
    """A segment that the other log has deleted counts as equal, and the segments after it are compared."""
    ours = filled(*records(1, 2, 3, 4, 5))
    other = filled(*records(1, 2, 3, 4, last, 6, 7), max_bytes=SEGMENT_BYTES + 50)
    assert other.min_offset == SEGMENT_BYTES
    assert ours.common_end(other) == common_end
