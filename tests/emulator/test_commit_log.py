"""The commit log read at places where no record begins."""

from struct import pack

import pytest
from rocketmq_testkit.emulator.commit_log import CommitLog

SEGMENT_BYTES = 128
FULL = SEGMENT_BYTES - 8


@pytest.fixture
def log() -> CommitLog:
    """A log of two segments: 120 bytes, behind which the log keeps eight free, and 10 bytes."""
    made = CommitLog(SEGMENT_BYTES, 1 << 20, lambda _: None, lambda: None)
    for data in (b"\x00" * (FULL - 4) + pack(">i", 7), pack(">i", -5) + bytes(6)):
        made.place(len(data), 0)
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
    """Behind them, and outside of the log, there is none."""
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
def test_bytes_are_read_within_one_segment(log: CommitLog, offset: int, size: int, data: bytes | None) -> None:
    """A read does not continue in the next segment."""
    assert log.bytes_at(offset, size) == data
