"""The oracle's book of who is in a group and who holds which queue.

What upstream allows, and nothing else (ClientManageProcessor, ClientHousekeepingService, RebalanceLockManager 5.3.3):
a client is a member from its heartbeat until it leaves, its connection closes, or it has been silent for 120 s (seen
by a look every 10 s); a queue has one owner, which keeps it for 60 s after it last asked.
"""

from observations import Beat, Left, Locked, MembersSeen, Place, Unlocked
from stored_messages import Violation

SILENT_MS = 120_000
SCAN_MS = 10_000
LOCK_MS = 60_000


class Members:
    """All groups."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], int] = {}
        self._owners: dict[tuple[str, Place], tuple[str, int]] = {}

    def beat(self, seen: Beat) -> None:
        """A client said that it is there."""
        self._last[seen.group, seen.client] = seen.now

    def left(self, seen: Left) -> None:
        """A client left."""
        self._last.pop((seen.group, seen.client), None)

    def members_seen(self, seen: MembersSeen) -> None:
        """Members were asked for."""
        silent = {client: seen.now - last for (group, client), last in self._last.items() if group == seen.group}
        missing = [client for client, ms in silent.items() if ms <= SILENT_MS and client not in seen.clients]
        too_many = [client for client in seen.clients if silent.get(client, SCAN_MS * 100) > SILENT_MS + SCAN_MS]
        if missing or too_many or len(set(seen.clients)) != len(seen.clients):
            raise Violation(f"missing {missing}, too many {too_many}: {seen}")

    def may_be_there(self, client: str, now: int) -> bool:
        """May this client still be known, as a member or as a producer?"""
        return any(name == client and now - last <= SILENT_MS + SCAN_MS for (_, name), last in self._last.items())

    def is_somebody_there(self, now: int) -> bool:
        """Is any client known for sure?"""
        return any(now - last <= SILENT_MS for last in self._last.values())

    def crashed(self) -> None:
        """Nobody is known any more."""
        self._last.clear()
        self._owners.clear()

    def locked(self, seen: Locked) -> None:
        """Locks were asked for."""
        free = []
        for queue in seen.asked:
            owner, since = self._owners.get((seen.group, queue), (seen.client, 0))
            if owner == seen.client or seen.now - since > LOCK_MS:
                free.append(queue)
                self._owners[seen.group, queue] = (seen.client, seen.now)
        if list(seen.granted) != free:
            raise Violation(f"free were {free}: {seen}")

    def unlocked(self, seen: Unlocked) -> None:
        """Locks were given back."""
        for queue in seen.queues:
            if self._owners.get((seen.group, queue), ("", 0))[0] == seen.client:
                del self._owners[seen.group, queue]
