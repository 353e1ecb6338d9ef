"""Locks of queues for orderly consumers. Source: RebalanceLockManager (5.3.3)."""

from collections.abc import Callable, Collection, Iterable, Iterator

from ..kernel.scheduler import Scheduler
from ..operations.clients import MessageQueue

LOCK_MAX_LIVE_MS = 60_000
"""The time after which a lock that is not renewed expires."""


class QueueLocks:
    """Locks by group and queue: the owner's client id, and the time of the lock (ms). They expire 60 s after that."""

    def __init__(self, scheduler: Scheduler, stolen: Collection[tuple[str, str]] = ()) -> None:
        self._scheduler = scheduler
        self._stolen = stolen
        """(group, topic) of queues that no client can lock, because a fault has taken their locks."""
        self._held: dict[str, dict[MessageQueue, tuple[str, int]]] = {}

    def lock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> list[MessageQueue]:
        """Lock or renew queues. Returns the queues whose locks the client now holds."""
        now = self._scheduler.now_ms
        held = self._held.setdefault(group, {})
        granted = []
        for queue in queues:
            if (group, queue.topic) in self._stolen:
                continue
            owner = held.get(queue)
            if owner is None or owner[0] == client_id or now - owner[1] > LOCK_MAX_LIVE_MS:
                held[queue] = (client_id, now)
                granted.append(queue)
        return granted

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        """Release the client's own locks."""
        held = self._held.get(group, {})
        for queue in queues:
            owner = held.get(queue)
            if owner is not None and owner[0] == client_id:
                del held[queue]

    def drop(self, group: str, topic: str) -> None:
        """Drop all locks of a group on the queues of a topic, of any owner."""
        held = self._held.get(group, {})
        for queue in [queue for queue in held if queue.topic == topic]:
            del held[queue]

    def extend_leases(self, ms: int, is_connected: Callable[[str, str], bool]) -> None:
        """Extend locks by `ms` before a clock jump, during which owners cannot renew them.

        `is_connected(group, client id)` returns True for connected clients. Locks of other clients are not extended.
        """
        for group, held in self._held.items():
            for queue, (owner, since) in held.items():
                if is_connected(group, owner):
                    held[queue] = (owner, since + ms)

    def expire(self, client_id: str) -> None:
        """Expire the locks of a client, as if it had not renewed them in time."""
        for held in self._held.values():
            for queue, (owner, since) in held.items():
                if owner == client_id:
                    held[queue] = (owner, since - LOCK_MAX_LIVE_MS - 1)

    def held(self, only: str | None = None) -> Iterator[tuple[str, MessageQueue, str, int]]:
        """Yield (group, queue, owner's client id, end in ms) of the unexpired locks: all, or those of one group."""
        now = self._scheduler.now_ms
        groups = self._held.items() if only is None else [(only, self._held.get(only, {}))]
        for group, held in groups:
            for queue, (owner, since) in held.items():
                if now - since <= LOCK_MAX_LIVE_MS:
                    yield group, queue, owner, since + LOCK_MAX_LIVE_MS

    def owner(self, group: str, queue: MessageQueue) -> str | None:
        """Return the client id that locked a queue last, also if the lock has expired; None without a lock."""
        held = self._held.get(group, {}).get(queue)
        return None if held is None else held[0]

    def any_held(self, group: str) -> bool:
        """True if a client of the group holds an unexpired lock, or a fault has taken locks of the group."""
        now = self._scheduler.now_ms
        if any(group == each for each, _ in self._stolen):
            return True
        return any(now - since <= LOCK_MAX_LIVE_MS for _, since in self._held.get(group, {}).values())
