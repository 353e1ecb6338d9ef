"""The journal: every request that reached a server and its outcome, in order.

A write only appends references; expensive work happens when the journal is read. The number of entries and their
weight in bytes are bounded, so that memory does not grow in a long run. The oldest entries are dropped and counted.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.errors import EngineError
from ..operations.base import Done, Operation, Result
from .effects import Effect
from .fired_rule import FiredRule
from .journal_weight import OUTCOMES, SUBJECTS, weightless
from .raw_request import RawRequest, Rejection

if TYPE_CHECKING:
    from .gate import Call, Channel


class JournalEntry(NamedTuple):
    """One entry: at `now_ms`, on `node`, `event` happened to `subject`.

    `event` is `"answered"`, `"parked"`, `"refused"`, `"pushed"` or `"faulted"`. A refused request got its response, or
    its connection was closed, before any service carried it out. Its subject is the operation, or a RawRequest if there
    is none. `"faulted"`: a rule acted on the subject or on a new connection, or a fault with a duration began or ended.
    `client` is the id of the client's channel. `label` is the name of the request in its protocol, or of an effect its
    class. `outcome` is set for answered and refused requests, and names the rule of a fault.
    """

    now_ms: int
    node: str
    event: str
    client: str
    label: str
    subject: Operation | Effect | RawRequest
    outcome: Result | EngineError | Rejection | FiredRule | None


_make: Callable[[type[JournalEntry], tuple[object, ...]], JournalEntry] = tuple.__new__
"""Creates an entry in half the time of its own constructor."""


class Journal:
    """The newest entries: at most `max_entries`, with an estimated size (`journal_weight`) of at most `max_bytes`."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._entries: deque[JournalEntry] = deque()
        self._weights: deque[int] = deque()
        self.held_bytes = 0
        """The total weight of the entries in memory."""
        self.dropped = 0
        """The number of entries that were written and are no longer in memory."""

    @property
    def written(self) -> int:
        """The number of entries that were written."""
        return self.dropped + len(self._entries)

    def answered(  # noqa: PLR0917 - once per request; keywords would cost time
        self, now_ms: int, node: str, call: "Call", operation: Operation, outcome: Result | EngineError
    ) -> None:
        """Record an operation that got its outcome."""
        kept = outcome.journaled()
        asked = operation.journaled()
        entry = _make(JournalEntry, (now_ms, node, "answered", call.channel.channel_id, call.label, asked, kept))
        # `_append`, inlined to save a call for each request, and another one for an outcome without weight.
        weight = SUBJECTS[asked.__class__](asked)
        weigh = OUTCOMES[kept.__class__]
        if weigh is not weightless:
            weight += weigh(kept)
        entries = self._entries
        entries.append(entry)
        self._weights.append(weight)
        self.held_bytes = held_bytes = self.held_bytes + weight
        if held_bytes > self._max_bytes or len(entries) > self._max_entries:
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
    ) -> None:
        """Record a request that was refused before it was carried out. `client` is the id of its channel."""
        subject = request.journaled() if isinstance(request, Operation) else request
        kept = outcome.journaled() if isinstance(outcome, EngineError) else outcome
        weight = SUBJECTS[subject.__class__](subject) + OUTCOMES[kept.__class__](kept)
        self._append(JournalEntry(now_ms, node, "refused", client, label, subject, kept), weight)

    def served(self, now_ms: int, node: str, client: str, label: str, *, request: RawRequest) -> None:
        """Record a request that succeeded without an operation."""
        weight = SUBJECTS[RawRequest](request)
        self._append(JournalEntry(now_ms, node, "answered", client, label, request, Done()), weight)

    def parked(self, now_ms: int, node: str, call: "Call", operation: Operation) -> None:
        """Record that an operation is parked."""
        asked = operation.journaled()
        entry = JournalEntry(now_ms, node, "parked", call.channel.channel_id, call.label, asked, None)
        self._append(entry, SUBJECTS[asked.__class__](asked))

    def pushed(self, now_ms: int, node: str, channel: "Channel", effect: Effect) -> None:
        """Record an effect that was sent to a client."""
        entry = JournalEntry(now_ms, node, "pushed", channel.channel_id, type(effect).__name__, effect, None)
        self._append(entry, SUBJECTS[effect.__class__](effect))

    def faulted(
        self, now_ms: int, node: str, client: str, label: str, *, subject: Operation | Effect | RawRequest, rule: str
    ) -> None:
        """Record that a rule acted on a request, its response, or an effect. `client` is the id of its channel.

        `client` is empty for a new connection, with `subject` having its address, and for the begin and the end of a
        fault that holds for a time, with `subject` having the parameters of the fault.
        """
        kept = subject.journaled() if isinstance(subject, Operation) else subject
        weight = SUBJECTS[kept.__class__](kept) + len(rule)
        self._append(JournalEntry(now_ms, node, "faulted", client, label, kept, FiredRule(rule)), weight)

    def _append(self, entry: JournalEntry, weight: int) -> None:
        self._entries.append(entry)
        self._weights.append(weight)
        self.held_bytes += weight
        self._drop()

    def _drop(self) -> None:
        """Drop the oldest entries until the rest fits."""
        while len(self._entries) > self._max_entries or self.held_bytes > self._max_bytes:
            self._entries.popleft()
            self.held_bytes -= self._weights.popleft()
            self.dropped += 1

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[JournalEntry]:
        return iter(self._entries)

    def newest(self, count: int) -> list[JournalEntry]:
        """Return the last `count` entries, or all if there are fewer, oldest first."""
        found = list(islice(reversed(self._entries), max(count, 0)))
        found.reverse()
        return found

    def clear(self) -> None:
        """Delete all entries and reset the counters."""
        self._entries.clear()
        self._weights.clear()
        self.dropped = self.held_bytes = 0
