"""The offsets that clients committed last. A further commit passes the messages from there to its own offset."""

from .record_keys import Queue

COMMITS_MAX = 16_384
"""The maximum number of offsets; above it the one that was added first is removed."""
_Key = tuple[str, Queue]
"""(group, queue)"""


class ClientCommits:
    """The last commits of clients, by group and queue. Commits of the broker for pops are not among them."""

    def __init__(self) -> None:
        self._last: dict[_Key, int] = {}

    def copy(self) -> "ClientCommits":
        """Return an independent copy."""
        made = ClientCommits()
        made._last = self._last.copy()
        return made

    def advance(self, group: str, queue: Queue, offset: int, *, read_from: int | None) -> int | None:
        """Record a commit. Return the offset of the first message that it passes, None if it passes none.

        `read_from` is the lowest offset that the client has read and not committed, None if there is none. It is used
        for the first commit of a queue: without `read_from`, this commit passes no message and sets the group's start.
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
