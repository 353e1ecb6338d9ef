"""A copy of a log as of one instant returns the same as the log did, even for bytes that look like records."""

from array import array
from struct import pack

from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.message.message import MessageToStore
from rocketmq_testkit.emulator.store.commit_log import RECORD_BYTES_MIN, CommitLog
from rocketmq_testkit.emulator.store.log_at_instant import LogAtInstant

MAGIC = b"\xda\xa3\x20\xa7"
HEAD_BYTES = 36


def head(size: int, physical_offset: int) -> bytes:
    """Return the first bytes of a record, up to and including its physical offset."""
    return pack(">i4s20xq", size, MAGIC, physical_offset)


def store(harness: EngineHarness, body: bytes) -> int:
    """Store a message without properties, and return the offset of its record."""
    log, before = harness.broker.store.log, harness.broker.store.log.max_offset
    harness.broker.store.append(MessageToStore("A", 0, body, {}, harness.now_ms, harness.broker.store.store_host))
    assert log.record_at(before) is not None
    return before


def with_false_records(harness: EngineHarness) -> CommitLog:
    """Return a log whose last body has false heads: too short, too long, at another place, or without magic number."""
    harness.topic("A")
    body_at = len(harness.broker.store.log.record_at(store(harness, b"x" * 10)) or b"") - 10 - len(b"\x01A") - 2
    at = harness.broker.store.log.max_offset + body_at
    least = RECORD_BYTES_MIN
    sizes_and_shifts = ((10, 0), (least - 1, 0), (1_000_000, 0), (least, 1), (least, -1))
    step = HEAD_BYTES + 4
    body = b"".join(head(size, at + n * step + shift) + bytes(4) for n, (size, shift) in enumerate(sizes_and_shifts))
    body += pack(">iI20xq", least, 0, at + len(sizes_and_shifts) * step) + bytes(least)  # without the magic number
    store(harness, body + bytes(4) + MAGIC)
    return harness.broker.store.log


def test_records_at_all_positions_are_those_of_the_log(harness: EngineHarness) -> None:
    """At each position, from the first to after the last byte, log and copy find a record or none."""
    log = with_false_records(harness)
    copy = LogAtInstant.of(log)
    found = {position: copy.record_at(position) for position in range(-1, log.max_offset + 2)}
    assert found == {position: log.record_at(position) for position in found}
    starts = [position for position, record in found.items() if record is not None]
    assert starts == [position for position, _ in log.records_from(0)] == [0, len(log.record_at(0) or b"")]
    for begin in starts:
        assert list(copy.records_from(begin)) == list(log.records_from(begin))


def test_records_of_all_segments_are_read_in_order() -> None:
    harness = make_harness(mapped_file_size_commit_log=150 * 1024, max_message_size=16 * 1024)
    harness.topic("A")
    for number in range(40):
        harness.send("A", b"%d" % number + bytes(10_000))
    log = harness.broker.store.log
    found = list(LogAtInstant.of(log).records_from(0))
    assert found == list(log.records_from(0))
    assert len(found) == 40
    assert log.max_offset > 2 * log.segment_bytes


def test_bytes_beyond_the_segment_are_missing(harness: EngineHarness) -> None:
    log = with_false_records(harness)
    copy, end = LogAtInstant.of(log), log.max_offset
    assert [copy.bytes_at(end - 4, count) for count in (4, 5)] == [log.bytes_at(end - 4, count) for count in (4, 5)]
    assert copy.bytes_at(end - 4, 5) is None


def test_a_copy_has_the_truncations_of_the_log_before_it_and_no_later_ones(harness: EngineHarness) -> None:
    """An index of the copy starts again at a truncation."""
    log = with_false_records(harness)
    log.truncate(len(log.record_at(0) or b""))
    copy = LogAtInstant.of(log)
    assert copy.truncations == log.truncations != []
    log.truncate(0)
    assert len(copy.truncations) < len(log.truncations)
    assert copy.max_offset > 0


def test_records_of_a_read_are_those_of_the_log(harness: EngineHarness) -> None:
    log = with_false_records(harness)
    places = [position for position, _ in log.records_from(0)]
    sizes = array("i", [len(record) for _, record in log.records_from(0)])
    read = LogAtInstant.of(log).read_ascending(places, sizes, sum(sizes))
    assert list(read) == [record for _, record in log.records_from(0)]
