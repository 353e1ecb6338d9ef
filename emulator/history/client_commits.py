"""The offsets that clients committed last: they tell which messages a further commit passes."""

from .record_keys import Queue

COMMITS_MAX = 16_384
"""The maximum number of offsets; above it the one that was added first is removed."""
_Key = tuple[str, Queue]
"""(group, queue)"""


class ClientCommits:
    """The last commits of clients, by group and queue. Pops commit offsets as well, but acknowledge nothing by it."""

    def __init__(self) -> None:
        self._last: dict[_Key, int] = {}

    def copy(self) -> "ClientCommits":
        """Return an independent copy."""
        made = ClientCommits()
        made._last = self._last.copy()
        return made

    def advance(self, group: str, queue: Queue, offset: int, *, read_from: int | None) -> int | None:
        """Record a commit. Return the offset of the first message that it passes, None if it passes none.

        `read_from` is the lowest offset of those that the client has read and not committed. It counts for the first
        commit of a queue. If the client has read none, that commit only says where the group begins.
        """
        before = self._last.get((group, queue))
        self._note(group, queue, offset)
        if before is None:
            before = read_from
        return before if before is not None and before < offset else None

    def moved(self, group: str, queue: Queue, offset: int | None) -> None:
        """Record that a request moved the group's offset: the next commit passes messages from there.

        None: the queue had no offset until now, for example because its topic was deleted and created again.
        """
        if offset is None:
            self._last.pop((group, queue), None)
        elif (group, queue) in self._last:
            self._last[group, queue] = offset

    def _note(self, group: str, queue: Queue, offset: int) -> None:
        last = self._last
        last[group, queue] = offset
        if len(last) > COMMITS_MAX:
            del last[next(iter(last))]
