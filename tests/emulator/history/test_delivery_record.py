"""The delivery record, a ring of fixed-size records: order, bound, searches, renewals, and the table of names.

A run is a record of several consecutive messages of a queue.
"""

import random
from collections.abc import Iterable

import pytest
from operation_counts import operations
from rocketmq_testkit.emulator.history.delivery_record import (
    CHUNK_RECORDS,
    HOLD_MAX,
    NO_HOLD,
    RECORD_BYTES,
    DeliveryEntry,
    DeliveryRecord,
)
from rocketmq_testkit.emulator.history.record_keys import KEYS_MAX, RecordKeys
from rocketmq_testkit.emulator.history.record_kind import RecordKind

QUEUE, OTHER = ("broker-a", "T", 0), ("broker-a", "T", 1)
LINK = ("G", "1")


def a_record(max_entries: int = 65_536) -> DeliveryRecord:
    return DeliveryRecord(max_entries, RecordKeys())


def places(found: Iterable[DeliveryEntry]) -> list[tuple[int, int, int]]:
    """Return (time, first offset, number of messages) of records."""
    return [(each.at_ms, each.first, each.length) for each in found]


def test_records_of_an_offset_are_returned_oldest_first_and_those_of_other_queues_not() -> None:
    """A search finds a run by each of its offsets, and by no other offset."""
    record = a_record()
    record.append(RecordKind.PULLED, 1, QUEUE, LINK, 10, 3)
    record.append(RecordKind.PULLED, 2, OTHER, LINK, 10, 3)
    record.append(RecordKind.POPPED, 3, QUEUE, LINK, 12, 1, 500)
    assert places(record.of(QUEUE, 12)) == [(1, 10, 3), (3, 12, 1)]
    assert places(record.of(QUEUE, 10)) == [(1, 10, 3)]
    assert (record.of(QUEUE, 9), record.of(QUEUE, 13), record.of(("broker-b", "T", 0), 10)) == ([], [], [])
    assert [(each.kind, each.hold_ms) for each in record.of(QUEUE, 12)] == [
        (RecordKind.PULLED, None),
        (RecordKind.POPPED, 500),
    ]
    assert [record.keys.links.key(each.link) for each in record.of(QUEUE)] == [LINK, LINK]


@pytest.mark.parametrize("hold_ms", [0, 1, HOLD_MAX, NO_HOLD])
def test_a_record_keeps_the_extremes_of_its_fields(hold_ms: int) -> None:
    """Offsets and times have 63 bits, a run has up to 65,535 messages, and the duration NO_HOLD is read as None."""
    record = a_record()
    record.append(RecordKind.POPPED, 2**63 - 1, QUEUE, LINK, 2**62, 0xFFFF, hold_ms, 3)
    (found,) = record.of(QUEUE, 2**62 + 0xFFFE)
    assert found == DeliveryEntry(
        2**63 - 1, 2**62, 0, 0, None if hold_ms == NO_HOLD else hold_ms, 0xFFFF, RecordKind.POPPED, 3
    )


def test_a_commit_passes_more_messages_than_a_run_has() -> None:
    """The number of messages of a commit has 32 bits; a larger commit covers only the newest messages."""
    record = a_record()
    record.append_commit(1, QUEUE, LINK, first=5, end=1_000_005)
    record.append_commit(2, OTHER, LINK, first=0, end=2**62)
    assert places(record.of(QUEUE, 1_000_004)) == [(1, 5, 1_000_000)]
    assert record.of(QUEUE, 1_000_005) == []
    assert (record.of(OTHER, 2**62 - 1)[0].length, record.of(OTHER, 0)) == (2**32 - 1, [])


@pytest.mark.parametrize("max_entries", [1, 7, 8, 100, 3 * CHUNK_RECORDS, 10_000])
def test_record_is_bounded(max_entries: int) -> None:
    """There are at most `max_entries` records of 32 bytes; at most the oldest eighth is dropped at once."""
    record = a_record(max_entries)
    for at_ms in range(3 * max_entries):
        record.append(RecordKind.PULLED, at_ms, QUEUE, LINK, at_ms)
        assert len(record) <= max_entries
        assert record.dropped + len(record) == at_ms + 1
        assert record.since_ms == record.dropped
    assert len(record) > max_entries * 3 // 4 - 1
    assert record.held_bytes <= max_entries * RECORD_BYTES
    offsets = range(record.dropped, 3 * max_entries)
    assert [each.first for each in record.of(QUEUE)] == list(offsets)
    assert [places(record.of(QUEUE, offset)) for offset in offsets[:: len(offsets)]] == [[(offsets[0], offsets[0], 1)]]
    assert record.of(QUEUE, record.dropped - 1) == []


def test_a_record_of_zero_entries_keeps_nothing() -> None:
    """All writers are no-ops, and the tables of names stay empty."""
    record = a_record(0)
    record.append(RecordKind.PULLED, 1, QUEUE, LINK, 0)
    record.append_commit(1, QUEUE, LINK, first=0, end=5)
    record.renew(1, QUEUE, LINK, offset=0, hold_ms=5)
    assert (len(record), record.held_bytes, record.since_ms, record.dropped) == (0, 0, None, 0)
    assert record.of(QUEUE, 0) == []
    assert (len(record.keys.queues), len(record.keys.links)) == (0, 0)


def test_an_unused_record_has_no_chunks() -> None:
    """The first record allocates memory."""
    record = a_record()
    assert record.held_bytes == 0
    record.append(RecordKind.PULLED, 1, QUEUE, LINK, 0)
    assert record.held_bytes == CHUNK_RECORDS * RECORD_BYTES


@pytest.mark.parametrize("longest", [1, 30, 200])
def test_a_search_finds_the_same_records_as_a_scan(longest: int) -> None:
    """The records are random runs and commits in many queues."""
    chance, record = random.Random(7), a_record(800)
    written: list[tuple[tuple[str, str, int], int, int, int]] = []
    for at_ms in range(2_000):
        queue = ("broker-a", "T", chance.randrange(130))
        first, length = chance.randrange(200), chance.randrange(1, longest + 1)
        written.append((queue, at_ms, first, length))
        if chance.random() < 0.3:
            record.append_commit(at_ms, queue, LINK, first=first, end=first + length)
        else:
            record.append(RecordKind.PULLED, at_ms, queue, LINK, first, length)
    kept = written[record.dropped :]
    for _ in range(500):
        queue, offset = ("broker-a", "T", chance.randrange(130)), chance.randrange(240)
        wanted = [each[1:] for each in kept if each[0] == queue and each[2] <= offset < each[2] + each[3]]
        assert places(record.of(queue, offset)) == wanted


@pytest.mark.parametrize("filled", [CHUNK_RECORDS, CHUNK_RECORDS // 2])
def test_a_search_for_an_offset_decodes_only_records_near_it(filled: int) -> None:
    """An assertion about many messages in flight therefore does not decode each record once per message."""
    record = a_record()
    for offset in range(CHUNK_RECORDS + filled):
        record.append(RecordKind.PULLED, offset, QUEUE, LINK, offset)
    assert places(record.of(QUEUE, CHUNK_RECORDS + 7)) == [(CHUNK_RECORDS + 7, CHUNK_RECORDS + 7, 1)]
    assert operations(lambda: record.of(QUEUE, CHUNK_RECORDS + 7)) < 200
    assert operations(lambda: record.of(QUEUE, 7)) < 200


def test_summary_of_a_chunk_counts_all_messages_of_a_commit() -> None:
    """The summary has the range of offsets of a commit, even in a full chunk, so that a search finds the commit."""
    record = a_record(80)
    for at_ms in range(20):
        record.append_commit(at_ms, QUEUE, LINK, first=0, end=100_000)
    assert len(record.of(QUEUE, 99_999)) == 20


def test_renewals_of_a_message_share_a_record_until_it_is_dropped() -> None:
    """Renewals of one message during an hour therefore drop no other records."""
    record = a_record(100)
    record.append(RecordKind.POPPED, 0, QUEUE, LINK, 7, 1, 10)
    for at_ms in range(1, 1_000):
        record.renew(at_ms, QUEUE, LINK, offset=7, hold_ms=at_ms)
    assert [(each.kind, each.at_ms, each.hold_ms) for each in record.of(QUEUE, 7)] == [
        (RecordKind.POPPED, 0, 10),
        (RecordKind.RENEWED, 999, 999),
    ]
    for at_ms in range(1_000, 1_100):
        record.append(RecordKind.PULLED, at_ms, OTHER, LINK, at_ms)
    record.renew(1_100, QUEUE, LINK, offset=7, hold_ms=5)
    record.renew(1_101, QUEUE, LINK, offset=7, hold_ms=6)
    assert [(each.at_ms, each.hold_ms) for each in record.of(QUEUE, 7)] == [(1_101, 6)]
    assert len(record.of(OTHER)) > 80


def test_names_that_no_record_uses_are_removed() -> None:
    """A client with another name for each request cannot fill the memory. Names of existing records stay readable."""
    record = a_record(1_000)
    for number in range(3 * KEYS_MAX):
        record.append(RecordKind.PULLED, number, ("broker-a", f"T{number}", 0), (f"G{number}", "c" * 10_000), 0)
    keys = record.keys
    assert len(keys.queues) <= KEYS_MAX + 1_000
    assert len(keys.links) <= KEYS_MAX + 1_000
    for number in range(3 * KEYS_MAX - len(record), 3 * KEYS_MAX):
        (found,) = record.of(("broker-a", f"T{number}", 0), 0)
        assert keys.links.key(found.link) == (f"G{number}", "c" * 255)


def test_records_are_numbered_in_the_order_in_which_they_were_appended() -> None:
    """Numbers count the records of all queues, and continue after the oldest records were dropped."""
    record = a_record(8)
    for offset in range(20):
        record.append(RecordKind.PULLED, 1, QUEUE if offset % 2 else OTHER, LINK, offset)
    assert [(each.first, each.number) for each in record.of(QUEUE)] == [(each, each) for each in (13, 15, 17, 19)]


def test_numbers_of_a_writer_are_kept_when_it_begins_a_chunk_and_other_keys_are_removed() -> None:
    """The record that begins the chunk keeps the numbers of its queue and link, although others are removed."""
    record = DeliveryRecord(64, RecordKeys())
    own = record.numbers_of(QUEUE, LINK)
    version = record.keys_version
    for number in range(KEYS_MAX):
        record.append(RecordKind.PULLED, number, ("broker-a", f"t{number}", 0), ("G", "other"), 0)
    assert record.keys_version == version
    while record.keys_version == version:
        record.append_numbered(RecordKind.PULLED, KEYS_MAX, *own, 7, 2, 0)
    assert len(record.keys.queues) < KEYS_MAX
    (*_, newest) = record.of(QUEUE, 8)
    assert (newest.first, newest.length, newest.hold_ms) == (7, 2, None)
    assert record.keys.queues.key(newest.queue) == QUEUE
    assert record.keys.links.key(newest.link) == LINK


def test_record_of_zero_entries_assigns_no_numbers_to_names() -> None:
    record = DeliveryRecord(0, RecordKeys())
    assert record.numbers_of(QUEUE, LINK) == (0, 0)
    record.append_numbered(RecordKind.PULLED, 0, 0, 0, 0, 1, 0)
    assert (len(record), len(record.keys.queues)) == (0, 0)
