"""The journal: every request that reached a server and its outcome, in order.

A write only appends references. Each time enough entries have accumulated, the gate packs the oldest of them after the
reply to a request: some 2 µs for each entry, which then takes a tenth of its memory. The number of entries and their
weight in bytes are bounded, so that memory does not grow in a long run. The oldest entries are dropped and counted.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ..kernel.errors import EngineError
from ..kernel.weakly_referenced import WeaklyReferenced
from ..operations.base import Done, Operation, Result
from .call import Call, Channel
from .effects import Effect
from .fired_rule import FiredRule
from .journal_entry import JournalEntry
from .journal_weight import OUTCOMES, SUBJECTS, weightless
from .raw_request import RawRequest, Rejection

if TYPE_CHECKING:
    from .journal_blocks import Block

NEWEST = 256
"""The number of newest entries that are never packed, because they are read most."""
BACKLOG = 2 * NEWEST
"""The number of unpacked entries above which a block is packed."""


_make: Callable[[type[JournalEntry], tuple[object, ...]], JournalEntry] = tuple.__new__
"""Creates an entry in half the time of its own constructor."""


class Journal(WeaklyReferenced):
    """The newest entries: at most `max_entries`, with an estimated size of at most `max_bytes`.

    The weight of an entry is the estimate of `journal_weight`, and after packing its share of the bytes of its block.
    """

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._blocks: deque[Block] = deque()
        """The packed entries, older than `_entries`."""
        self._packed = 0
        """The number of entries in `_blocks`, without the dropped ones."""
        self._skipped = 0
        """The number of entries of the first block that are dropped."""
        self._entries: deque[JournalEntry] = deque()
        self._weights: deque[int] = deque()
        self._room = max_entries
        """The number of unpacked entries above which `_drop` has work."""
        self._on_backlog: Callable[[], None] | None = None
        self._backlog_is_reported = False
        self.held_bytes = 0
        """The total weight of the entries in memory."""
        self.dropped = 0
        """The number of entries that were written and are no longer in memory."""
        self.clears = 0
        """The number of calls of `clear`. After each, the entries are counted from 0 again."""

    @property
    def written(self) -> int:
        """The number of entries that were written."""
        return self.dropped + self._packed + len(self._entries)

    def responded(  # noqa: PLR0917 - once per request; keywords would cost time
        self, now_ms: int, node: str, call: Call, operation: Operation, outcome: Result | EngineError
    ) -> None:
        """Record an operation that got its outcome."""
        asked = operation.journaled()
        weight = SUBJECTS[asked.__class__](asked)
        weigh = OUTCOMES[outcome.__class__]
        if weigh is not weightless:
            outcome = outcome.journaled()
            weight += weigh(outcome)
        client, label = call.channel.channel_id, call.label
        entry = _make(JournalEntry, (now_ms, node, "responded", client, label, asked, outcome, call.number))
        # `_append`, inlined to save a call for each request.
        entries = self._entries
        entries.append(entry)
        self._weights.append(weight)
        self.held_bytes = held_bytes = self.held_bytes + weight
        if held_bytes > self._max_bytes or len(entries) > self._room:
            self._drop()

    def refused(
        self,
        now_ms: int,
        node: str,
        client: str,
        label: str,
        *,
        request: Operation | RawRequest,
        outcome: EngineError | Rejection,
        number: int | None = None,
    ) -> None:
        """Record a request that was refused before it was carried out. `client` is the id of its channel.

        `number`: as in `Call`.
        """
        subject = request.journaled() if isinstance(request, Operation) else request
        kept = outcome.journaled() if isinstance(outcome, EngineError) else outcome
        weight = SUBJECTS[subject.__class__](subject) + OUTCOMES[kept.__class__](kept)
        self._append(JournalEntry(now_ms, node, "refused", client, label, subject, kept, number), weight)

    def succeeded(
        self, now_ms: int, node: str, client: str, label: str, *, request: RawRequest, number: int | None = None
    ) -> None:
        """Record a request that a protocol layer completed successfully on its own. `number`: as in `Call`."""
        weight = SUBJECTS[RawRequest](request)
        self._append(JournalEntry(now_ms, node, "responded", client, label, request, Done(), number), weight)

    def parked(self, now_ms: int, node: str, call: Call, operation: Operation) -> None:
        """Record that an operation is parked."""
        asked = operation.journaled()
        entry = JournalEntry(now_ms, node, "parked", call.channel.channel_id, call.label, asked, None, call.number)
        self._append(entry, SUBJECTS[asked.__class__](asked))

    def pushed(self, now_ms: int, node: str, channel: Channel, effect: Effect) -> None:
        """Record an effect that was sent to a client."""
        self.pushed_to_all(now_ms, node, (channel.channel_id,), effect)

    def pushed_to_all(self, now_ms: int, node: str, clients: Sequence[str], effect: Effect) -> None:
        """Record an effect that was sent to several clients. `clients`: the ids of their channels."""
        label, weight = type(effect).__name__, SUBJECTS[effect.__class__](effect)
        made = [_make(JournalEntry, (now_ms, node, "pushed", each, label, effect, None, None)) for each in clients]
        self._entries += made
        self._weights += [weight] * len(made)
        self.held_bytes += weight * len(made)
        if self.held_bytes > self._max_bytes or len(self._entries) > self._room:
            self._drop()

    def faulted(
        self,
        now_ms: int,
        node: str,
        client: str,
        label: str,
        *,
        subject: Operation | Effect | RawRequest,
        rule: str,
        number: int | None = None,
    ) -> None:
        """Record that a rule acted on a request, its response, or an effect. `client` is the id of its channel.

        `number`: as in `Call`, None for an effect. `client` is empty for a new connection, with `subject` having its
        address, and for the begin and the end of a fault with a duration, with `subject` having its parameters.
        """
        kept = subject.journaled() if isinstance(subject, Operation) else subject
        weight = SUBJECTS[kept.__class__](kept) + len(rule)
        entry = JournalEntry(now_ms, node, "faulted", client, label, kept, FiredRule(rule), number)
        self._append(entry, weight)

    def _append(self, entry: JournalEntry, weight: int) -> None:
        self._entries.append(entry)
        self._weights.append(weight)
        self.held_bytes += weight
        if self.held_bytes > self._max_bytes or len(self._entries) > self._room:
            self._drop()

    def _drop(self) -> None:
        """Drop the oldest entries until the rest fits, and report a backlog."""
        while len(self) > self._max_entries or (self.held_bytes > self._max_bytes and len(self)):
            if not self._blocks:
                self._entries.popleft()
                self.held_bytes -= self._weights.popleft()
                self.dropped += 1
            elif self.held_bytes > self._max_bytes:
                self._drop_packed(self._blocks[0].count - self._skipped)
            else:
                self._drop_packed(1)
        if self._on_backlog is not None and not self._backlog_is_reported and len(self._entries) > BACKLOG:
            self._backlog_is_reported = True
            self._on_backlog()
        self._update_room()

    def _drop_packed(self, count: int) -> None:
        """Drop entries of the first block, whose bytes are freed with its last entry."""
        self._skipped += count
        self._packed -= count
        self.dropped += count
        if self._skipped == self._blocks[0].count:
            self.held_bytes -= self._blocks.popleft().held_bytes
            self._skipped = 0

    def _update_room(self) -> None:
        room = self._max_entries - self._packed
        self._room = room if self._on_backlog is None or self._backlog_is_reported else min(room, BACKLOG)

    # packing

    def report_backlog(self, on_backlog: Callable[[], None]) -> None:
        """Call `on_backlog` as soon as there are enough entries to pack, and again after each `pack_block`.

        It must not pack them at once, because an entry is written before the reply to its request.
        """
        self._on_backlog = on_backlog
        self._update_room()

    def pack_block(self) -> bool:
        """Pack the oldest unpacked entries. Returns True if there are more to pack.

        It takes a fraction of a millisecond; with heavy entries, such as heartbeats with many subscriptions, it takes a
        few milliseconds.
        """
        self._backlog_is_reported = False
        if len(self._entries) <= NEWEST:
            return False
        from .journal_blocks import BLOCK_ENTRIES, BLOCK_WEIGHT, Block

        count = weight = 0
        for each in islice(self._weights, min(BLOCK_ENTRIES, len(self._entries) - NEWEST)):
            count += 1
            weight += each
            if weight > BLOCK_WEIGHT:
                break
        block = Block(list(islice(self._entries, count)))
        for _ in range(count):
            self._entries.popleft()
            self._weights.popleft()
        self._blocks.append(block)
        self._packed += count
        self.held_bytes += block.held_bytes - weight
        self._drop()
        return len(self._entries) > NEWEST

    # reading

    def __len__(self) -> int:
        return self._packed + len(self._entries)

    def __iter__(self) -> Iterator[JournalEntry]:
        return (entry for _, entry in self.since(0))

    def since(self, index: int) -> Iterator[tuple[int, JournalEntry]]:
        """Yield the entries that are in memory at this call, from an index on, each with its index.

        The index counts all entries since the last `clear`, from 0. Later changes of the journal have no effect on the
        entries that the iterator yields.
        """
        first = self.written - len(self._entries)
        newest = self.newest_unpacked(self.written - max(index, first))
        blocks = list(self._blocks) if index < first else []
        return self._read(self.dropped - self._skipped, blocks, newest, max(index, self.dropped))

    @staticmethod
    def _read(
        at: int, blocks: "list[Block]", newest: list[JournalEntry], since: int
    ) -> Iterator[tuple[int, JournalEntry]]:
        """Yield the entries from the index `since` on. `at`: index of the first entry in `blocks`, dropped or not."""
        for block in blocks:
            if at + block.count > since:
                entries = block.entries()
                for number in range(max(since - at, 0), block.count):
                    yield at + number, entries[number]
            at += block.count
        yield from enumerate(newest, max(since, at))

    def newest_unpacked(self, count: int) -> list[JournalEntry]:
        """Return the last `count` entries that are not packed, or all of them if there are fewer, oldest first."""
        found = list(islice(reversed(self._entries), max(count, 0)))
        found.reverse()
        return found

    def newest(self, count: int) -> list[JournalEntry]:
        """Return the last `count` entries, or all if there are fewer, oldest first."""
        return [entry for _, entry in self.since(self.written - max(count, 0))]

    def refusals(self) -> Iterator[JournalEntry]:
        """Yield the entries of refused requests, oldest first. Blocks without one are not unpacked."""
        skipped = self._skipped
        for block in tuple(self._blocks):
            if block.has_refusals:
                yield from (entry for entry in block.entries()[skipped:] if entry.event == "refused")
            skipped = 0
        yield from (entry for entry in tuple(self._entries) if entry.event == "refused")

    def clear(self) -> None:
        """Delete all entries and reset the counters."""
        self._blocks.clear()
        self._entries.clear()
        self._weights.clear()
        self._packed = self._skipped = self.dropped = self.held_bytes = 0
        self.clears += 1
        self._update_room()
