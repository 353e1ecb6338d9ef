"""Packed entries of the journal: equal to the unpacked ones, small, and dropped at the same limits."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness
from extremes import exchange, odd_bodies, odd_exts, usual_body, usual_ext
from journal_walk import walk
from remoting_harness import Port, create
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.gate.effects import Effect, NotifyConsumerIdsChanged, PushReplyMessage
from rocketmq_testkit.emulator.gate.journal import BACKLOG, NEWEST, Journal
from rocketmq_testkit.emulator.gate.journal_blocks import BLOCK_ENTRIES, BLOCK_WEIGHT, Block
from rocketmq_testkit.emulator.gate.journal_entry import JournalEntry
from rocketmq_testkit.emulator.gate.raw_request import RawRequest, Rejection
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.clients import GetConsumerListByGroup
from rocketmq_testkit.remoting.processors import PROCESSORS
from rocketmq_testkit.remoting.request.request_table import Processor

MOST_BYTES = 160
"""Largest average size of a packed entry."""
PIECE = 10
"""Number of extreme requests of one code that are tested, so that all codes together take a second."""


def comparable(entry: JournalEntry) -> tuple[Any, ...]:
    """Return the fields of an entry with errors replaced by their code and text, because errors compare by identity."""
    outcome = entry.outcome
    if isinstance(outcome, EngineError):
        return (*entry[:6], type(outcome), outcome.args, vars(outcome), entry.request)
    return entry


def packed(journal: Journal) -> list[JournalEntry]:
    """Return the entries of a journal after packing each of them in a block of its own and in full blocks."""
    entries = list(journal)
    for each in entries:
        assert comparable(Block([each]).entries()[0]) == comparable(each)
    return [
        one for at in range(0, len(entries), BLOCK_ENTRIES) for one in Block(entries[at : at + BLOCK_ENTRIES]).entries()
    ]


def test_every_entry_of_a_random_walk_survives_packing() -> None:
    for seed in range(3):
        journal = walk(seed).engine.journal
        assert [*map(comparable, packed(journal))] == [*map(comparable, journal)]


@pytest.mark.parametrize("processor", PROCESSORS.values(), ids=[each.label for each in PROCESSORS.values()])
def test_requests_of_every_code_survive_packing(processor: Processor) -> None:
    """Entries of usual requests and of requests with extreme fields or bodies are equal after packing."""
    port = Port(Engine(now_ms=1_700_000_000_000))
    peer = port.peer()
    create(peer, "T", 2)
    usual, body = usual_ext(processor), usual_body(processor)
    exchange(peer, processor.code, usual, body)
    for ext in spread(odd_exts(processor)):
        exchange(peer, processor.code, ext, body)
    for odd in spread(odd_bodies(processor)):
        exchange(peer, processor.code, usual, odd)
    journal = port.engine.journal
    assert len(journal) > 1
    assert [*map(comparable, packed(journal))] == [*map(comparable, journal)]


def spread(odd: Iterator[Any]) -> list[Any]:
    """Return `PIECE` of the values, spread over all of them."""
    found = list(odd)
    return found[:: max(len(found) // PIECE, 1)]


def test_effects_and_rejections_of_a_protocol_survive_packing() -> None:
    """Entries without an operation (effects, raw requests and rejections) are equal after packing, too."""
    journal = Journal(100, 1 << 20)
    pushed: list[Effect] = [
        NotifyConsumerIdsChanged("G"),
        PushReplyMessage(
            "P",
            "T",
            0,
            b"\0\xff",
            properties="a\1b\2",
            sys_flag=0,
            flag=0,
            born_timestamp=1,
            born_host=("h", 1),
            store_host=("h", 2),
            store_timestamp=3,
            reconsume_times=0,
            unit_mode=False,
            default_topic="TBW102",
            default_topic_queue_nums=4,
        ),
    ]
    for effect in pushed:
        journal.pushed(5, "broker-a", DirectChannel(), effect)
    journal.refused(
        6, "proxy", "grpc:c", "X", request=RawRequest({"a": "b"}, 7), outcome=Rejection(None, "N", "r"), number=9
    )
    journal.succeeded(7, "proxy", "grpc:c", "X", request=RawRequest({}), number=11)
    assert packed(journal) == list(journal)
    assert [entry.request for entry in packed(journal)] == [None, None, 9, 11]


def busy_harness(steps: int, **keys: int) -> EngineHarness:
    """Return a harness in which messages were sent, popped and acknowledged, with properties as from SDKs."""
    harness = make_harness(**keys)
    harness.topic("orders")
    for number in range(steps):
        harness.send("orders", b"x" * 50, UNIQ_KEY=f"7F00000100002A139B80B12F{number:08X}", KEYS=f"order-{number}")
        [message] = harness.popped("orders", count=1)
        harness.ack("orders", harness.receipt(message))
        harness.advance(7)
    return harness


def pack_all(journal: Journal) -> None:
    """Pack all entries but the newest."""
    while journal.pack_block():
        pass


def test_a_packed_journal_takes_at_most_160_bytes_for_each_entry() -> None:
    """It is the memory that clearing the journal frees, for 6,000 entries of sends, pops and acknowledgements."""
    busy_harness(10)  # generates the packing functions of all classes
    tracemalloc.start()
    try:
        harness = busy_harness(2_000)
        journal = harness.engine.journal
        count = len(journal)
        pack_all(journal)
        before = tracemalloc.get_traced_memory()[0]
        estimate = journal.held_bytes
        journal.clear()
        freed = before - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert count > 6_000
    assert freed / count <= MOST_BYTES
    assert freed / 2 < estimate < 3 * freed


def test_reading_a_packed_journal_finds_the_same_entries_and_indices() -> None:
    journal = busy_harness(400).engine.journal
    whole = list(enumerate(journal))
    pack_all(journal)
    assert list(journal) == [entry for _, entry in whole]
    assert len(journal) == journal.written == len(whole)
    assert len(journal.newest_unpacked(10_000)) == NEWEST
    for since in (0, 1, 255, 256, 257, 300, len(whole) - NEWEST - 1, len(whole) - NEWEST, len(whole) - 1, len(whole)):
        assert list(journal.since(since)) == whole[since:], since
    assert list(journal.since(10**30)) == []
    assert journal.newest(300) == [entry for _, entry in whole[-300:]]


def test_an_iterator_is_not_affected_by_later_changes() -> None:
    harness = busy_harness(300)
    journal = harness.engine.journal
    pack_all(journal)
    before = list(journal)
    reader = iter(journal)
    next(reader)
    harness.send("orders", UNIQ_KEY="later")
    journal.clear()
    assert list(reader) == before[1:]
    assert list(journal) == []


def test_entries_of_a_block_are_dropped_one_by_one_at_the_limit_of_entries() -> None:
    """Exactly the newest `max_entries` entries stay, even if the oldest of them are packed."""
    harness = busy_harness(400, journal_max_entries=1_000)
    journal = harness.engine.journal
    pack_all(journal)
    kept = list(journal)
    for number in range(1, 400):
        harness.send("orders", UNIQ_KEY=f"{number}")
        assert len(journal) == 1_000
        assert journal.dropped == journal.written - 1_000
    assert list(journal)[:601] == kept[399:]
    assert next(journal.since(0))[0] == journal.dropped


def test_a_block_is_dropped_as_a_whole_at_the_limit_of_bytes() -> None:
    """The weight of blocks and unpacked entries stays within the limit."""
    limit = 400 * 1024
    harness = busy_harness(250, journal_max_bytes=limit)
    journal = harness.engine.journal
    pack_all(journal)
    first = next(iter(journal))
    while next(iter(journal)) == first:
        harness.send("orders", b"", UNIQ_KEY="k", LONG="x" * 5_000)
        assert journal.held_bytes <= limit
    assert journal.dropped >= BLOCK_ENTRIES
    assert journal.dropped == journal.written - len(journal) == next(journal.since(0))[0]
    for _ in range(200):
        harness.send("orders", b"", UNIQ_KEY="k", LONG="x" * 5_000)
    assert {entry.label for entry in journal} == {"direct"}
    journal.clear()
    assert (journal.held_bytes, journal.dropped, len(journal)) == (0, 0, 0)


def test_heavy_entries_make_small_blocks() -> None:
    """A block has a maximum weight, so that packing it does not take long."""
    harness = make_harness()
    harness.topic("orders")
    journal = harness.engine.journal
    journal.report_backlog(lambda: None)  # packs no block, so that only this test packs
    for _ in range(600):
        harness.send("orders", b"", UNIQ_KEY="k", LONG="x" * 5_000)
    loose = len(journal.newest_unpacked(10_000))
    journal.pack_block()
    packed_entries = loose - len(journal.newest_unpacked(10_000))
    assert BLOCK_WEIGHT / 8_000 < packed_entries < BLOCK_WEIGHT / 5_000 + 2


def test_a_backlog_is_reported_once_until_a_block_is_packed() -> None:
    """The journal reports the first entry beyond the backlog; writing an entry itself packs no block."""
    harness = make_harness()
    journal = harness.engine.journal
    reports: list[int] = []
    journal.report_backlog(lambda: reports.append(journal.written))
    harness.topic("orders")
    for number in range(BACKLOG + 100):
        harness.send("orders", UNIQ_KEY=f"{number}")
    assert reports == [BACKLOG + 1]
    assert len(journal.newest_unpacked(10_000)) == journal.written
    journal.pack_block()
    for number in range(BLOCK_ENTRIES):
        harness.send("orders", UNIQ_KEY=f"{number}")
    assert reports == [BACKLOG + 1, BACKLOG + 1 + BLOCK_ENTRIES]


def test_a_block_is_packed_after_the_reply_to_a_request() -> None:
    """After the reply to the request whose entry exceeds the backlog, the gate packs one block."""
    harness = make_harness()
    journal, channel = harness.engine.journal, DirectChannel()
    harness.topic("orders")

    class Looking(DirectCall):
        """A call that counts the unpacked entries when its reply is sent."""

        unpacked = 0

        def reply(self, outcome: Outcome) -> None:
            self.unpacked = len(journal.newest_unpacked(10_000))

    def members() -> int:
        call = Looking(channel)
        harness.engine.gate.submit(harness.broker, call, GetConsumerListByGroup("G"))
        return call.unpacked

    counts = [members() for _ in range(2 * BACKLOG)]
    assert max(counts) == BACKLOG + 1
    assert counts[counts.index(BACKLOG + 1) + 1] == BACKLOG + 2 - BLOCK_ENTRIES
    assert len(journal) == journal.written


def test_rejections_are_found_in_blocks_and_among_unpacked_entries() -> None:
    harness = busy_harness(10)
    journal = harness.engine.journal

    def refuse(text: str) -> None:
        journal.refused(1, "proxy", "c", "X", request=RawRequest({}), outcome=Rejection(1, "N", text))

    refuse("first")
    for number in range(1_200):
        harness.send("orders", UNIQ_KEY=f"{number}")
    pack_all(journal)
    refuse("second")
    assert [entry.outcome for entry in journal.refusals()] == [Rejection(1, "N", "first"), Rejection(1, "N", "second")]
