"""The index of ids and keys grows in bounded steps, and finds the same records as a search of the log."""

import pytest
from engine_harness import EngineHarness, make_harness
from inspected import look
from rocketmq_testkit.emulator.inspection import log_index
from rocketmq_testkit.emulator.inspection.engine_parts import NoSurroundings
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.inspection.log_index import LogIndex
from rocketmq_testkit.emulator.inspection.messages import CopyState
from rocketmq_testkit.emulator.instant_copy import instant_copy
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig

MESSAGES = 200


def id_of(number: int) -> str:
    return f"7F0000010A2B18B4AAC2{number:012X}"


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> EngineHarness:
    """Return a harness whose messages fill many blocks of the index.

    The index covers blocks of BLOCK_BYTES. The last SEARCHED_BYTES of the log may stay without an index.
    """
    monkeypatch.setattr(log_index, "SEARCHED_BYTES", 1 << 10)
    monkeypatch.setattr(log_index, "BLOCK_BYTES", 500)
    harness = make_harness()
    harness.topic("A")
    for number in range(MESSAGES):
        harness.send("A", UNIQ_KEY=id_of(number), KEYS=f"k{number} all")
    return harness


def searched_bytes(index: LogIndex, monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """Return the number of bytes of the log that a search for `text` reads."""
    read, search = list[int](), LogIndex._search

    def counted(own: LogIndex, wanted: bytes, begin: int, end: int) -> object:
        read.append(end - begin)
        return search(own, wanted, begin, end)

    with monkeypatch.context() as patch:
        patch.setattr(LogIndex, "_search", counted)
        assert index.records(text)
    return sum(read)


def test_a_search_finds_the_same_records_after_each_indexing_step(filled: EngineHarness) -> None:
    index = LogIndex(filled.broker.store.log)
    expected = {text: LogIndex(filled.broker.store.log).records(text) for text in (id_of(3), id_of(199), "k7", "all")}
    assert [len(found) for found in expected.values()] == [1, 1, 1, MESSAGES]
    steps = 0
    while index.extend():
        steps += 1
        assert {text: index.records(text) for text in expected} == expected
    assert steps > 10


def test_records_of_all_segments_are_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No block spans two segments: the next block begins with the first record of the next segment."""
    monkeypatch.setattr(log_index, "SEARCHED_BYTES", 1 << 10)
    monkeypatch.setattr(log_index, "BLOCK_BYTES", 25_000)
    harness = make_harness(mapped_file_size_commit_log=150 * 1024, max_message_size=16 * 1024)
    harness.topic("A")
    for number in range(60):
        harness.send("A", bytes(10_000), UNIQ_KEY=id_of(number))
    log = harness.broker.store.log
    assert log.max_offset > 3 * log.segment_bytes
    index = LogIndex(log)
    while index.is_behind:
        index.extend()
    assert [len(index.records(id_of(number))) for number in range(60)] == [1] * 60


def test_a_step_indexes_one_block_and_the_search_reads_only_blocks_with_the_text(
    filled: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled.broker.store.log
    index = LogIndex(log)
    assert searched_bytes(index, monkeypatch, id_of(3)) == log.max_offset
    index.extend()
    rest = searched_bytes(index, monkeypatch, id_of(199))
    assert log.max_offset - 1_000 < rest < log.max_offset
    while index.extend():
        pass
    assert searched_bytes(index, monkeypatch, id_of(3)) < 3_000


def test_only_searches_after_the_first_long_ones_extend_the_index_by_a_small_share(
    filled: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled.broker.store.log
    index = LogIndex(log)
    assert [searched_bytes(index, monkeypatch, id_of(3)) for _ in range(log_index.LONG_SEARCHES)] == [
        log.max_offset
    ] * log_index.LONG_SEARCHES
    left = [searched_bytes(index, monkeypatch, id_of(199)) for _ in range(300)]
    assert log.max_offset - left[0] < log.max_offset // log_index.INDEXED_SHARE + 1_000
    assert left == sorted(left, reverse=True)
    assert not index.is_behind


def test_a_search_after_a_crash_finds_new_records_and_no_lost_ones(filled: EngineHarness) -> None:
    """Lost records are removed from the index, and records at their offsets are added."""
    filled.engine.execute(filled.broker, UpdateBrokerConfig({"flushDiskType": "ASYNC_FLUSH"}))
    inspection = look(filled)
    filled.advance(60_000)
    for number in range(MESSAGES, 2 * MESSAGES):
        filled.send("A", UNIQ_KEY=id_of(number))
    while inspection.extend_index():
        pass
    assert inspection.find(id_of(2 * MESSAGES - 100))
    filled.engine.crash(filled.broker)
    assert not inspection.find(id_of(2 * MESSAGES - 100))
    for number in range(3 * MESSAGES, 5 * MESSAGES):
        filled.send("A", b"another body", UNIQ_KEY=id_of(number))
    while inspection.extend_index():
        pass
    assert not inspection.find(id_of(2 * MESSAGES - 100))
    (found,) = inspection.find(id_of(3 * MESSAGES + 50))
    assert [copy.state for copy in found.copies] == [CopyState.STORED]


def test_records_at_the_offsets_of_lost_ones_are_indexed(filled: EngineHarness) -> None:
    """An indexing step notices the crash itself, without a search in between."""
    filled.engine.execute(filled.broker, UpdateBrokerConfig({"flushDiskType": "ASYNC_FLUSH"}))
    filled.advance(60_000)
    flushed = filled.broker.store.log.max_offset
    for number in range(MESSAGES, 2 * MESSAGES):
        filled.send("A", UNIQ_KEY=id_of(number))
    index = LogIndex(filled.broker.store.log)
    while index.extend():
        pass
    filled.engine.crash(filled.broker)
    assert filled.broker.store.log.max_offset == flushed
    for number in range(2 * MESSAGES, 3 * MESSAGES):
        filled.send("A", b"m", UNIQ_KEY=id_of(number))
    assert index.extend()
    while index.extend():
        pass
    assert not index.records(id_of(2 * MESSAGES - 100))
    assert [len(index.records(id_of(number))) for number in range(2 * MESSAGES, 3 * MESSAGES)] == [1] * MESSAGES


def test_the_inspection_of_a_copy_uses_the_index_of_the_original(
    filled: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The inspection of a copy finds the messages that the log had when it was copied, and no later ones."""
    inspection = look(filled)
    while inspection.extend_index():
        pass
    copied = Inspection(instant_copy(filled.engine), NoSurroundings(), like=inspection)
    for number in range(MESSAGES, 2 * MESSAGES):
        filled.send("A", UNIQ_KEY=id_of(number))
    assert inspection.extend_index()
    while inspection.extend_index():
        pass
    monkeypatch.setattr(LogIndex, "_build", lambda *_: pytest.fail("the index was built again"))
    assert not copied.extend_index()
    assert copied.find(id_of(3)) == inspection.find(id_of(3)) != []
    assert inspection.find(id_of(MESSAGES))
    assert not copied.find(id_of(MESSAGES))


def test_a_copy_of_an_inspection_without_an_index_builds_its_own(filled: EngineHarness) -> None:
    copied = Inspection(instant_copy(filled.engine), NoSurroundings(), like=look(filled))
    assert copied.extend_index()
    assert copied.find(id_of(3))


def test_a_copy_still_finds_messages_that_the_original_lost_later(filled: EngineHarness) -> None:
    filled.engine.execute(filled.broker, UpdateBrokerConfig({"flushDiskType": "ASYNC_FLUSH"}))
    filled.advance(60_000)
    for number in range(MESSAGES, 2 * MESSAGES):
        filled.send("A", UNIQ_KEY=id_of(number))
    inspection = look(filled)
    while inspection.extend_index():
        pass
    copied = Inspection(instant_copy(filled.engine), NoSurroundings(), like=inspection)
    filled.engine.crash(filled.broker)
    assert not inspection.find(id_of(MESSAGES + 10))
    assert copied.find(id_of(MESSAGES + 10))
