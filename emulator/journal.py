"""The journal: every request that reached a server and its outcome, in order.

Writing is one append of references; everything that costs is done when somebody reads. The number of entries is
bounded, so that a long run does not grow: the oldest are dropped and counted.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from .effects import Effect
from .errors import EngineError
from .operations import Done, Operation, Result
from .raw_request import RawRequest, Rejection

if TYPE_CHECKING:
    from .gate import Call, Channel


class Entry(NamedTuple):
    """One line: at `now_ms`, on `node`, `event` happened to `subject`.

    `event` is `"answered"`, `"parked"`, `"refused"` or `"pushed"`. A refused request was answered, or its connection
    closed, before any service carried it out. Its subject is a RawRequest, or the operation if it had become one.
    `outcome` is set for answered and refused requests.
    """

    now_ms: int
    node: str
    event: str
    client: str
    label: str
    subject: Operation | Effect | RawRequest
    outcome: Result | EngineError | Rejection | None


class Journal:
    """The newest `max_entries` entries."""

    def __init__(self, max_entries: int) -> None:
        self._entries: deque[Entry] = deque(maxlen=max_entries)
        self.written = 0

    def answered(
        self, now_ms: int, node: str, call: "Call", operation: Operation, outcome: Result | EngineError
    ) -> None:
        """An operation got its outcome."""
        self.written += 1
        kept = outcome.journaled() if isinstance(outcome, Result) else outcome
        client, label = call.channel.channel_id, call.label
        self._entries.append(Entry(now_ms, node, "answered", client, label, operation.journaled(), kept))

    def refused(
        self,
        now_ms: int,
        node: str,
        client: str,
        label: str,
        request: Operation | RawRequest,
        outcome: EngineError | Rejection,
    ) -> None:
        """A request was refused before it was carried out. `client` is the id of its channel."""
        self.written += 1
        subject = request.journaled() if isinstance(request, Operation) else request
        self._entries.append(Entry(now_ms, node, "refused", client, label, subject, outcome))

    def served(self, now_ms: int, node: str, client: str, label: str, request: RawRequest) -> None:
        """A request was answered that needed no operation."""
        self.written += 1
        self._entries.append(Entry(now_ms, node, "answered", client, label, request, Done()))

    def parked(self, now_ms: int, node: str, call: "Call", operation: Operation) -> None:
        """An operation waits."""
        self.written += 1
        client, label = call.channel.channel_id, call.label
        self._entries.append(Entry(now_ms, node, "parked", client, label, operation.journaled(), None))

    def pushed(self, now_ms: int, node: str, channel: "Channel", effect: Effect) -> None:
        """An effect was sent to a client."""
        self.written += 1
        self._entries.append(Entry(now_ms, node, "pushed", channel.channel_id, type(effect).__name__, effect, None))

    @property
    def dropped(self) -> int:
        """How many entries were written but are no longer held."""
        return self.written - len(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def newest(self, count: int) -> list[Entry]:
        """The last `count` entries, or all that are held if they are fewer, oldest first."""
        found = list(islice(reversed(self._entries), max(count, 0)))
        found.reverse()
        return found

    def clear(self) -> None:
        """Forget all entries."""
        self._entries.clear()
        self.written = 0
