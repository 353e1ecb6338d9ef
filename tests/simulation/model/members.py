"""The oracle's model of group members and queue locks.

Upstream allows the following and nothing else (ClientManageProcessor, ClientHousekeepingService, RebalanceLockManager
5.3.3). A client is a member from its heartbeat until it leaves or its connection closes. A client without a heartbeat
for 120 s is removed (checked every 10 s). A queue has one owner, which keeps the lock for 60 s after its last request.
"""

from observations import Beat, Left, Locked, MembersSeen, Place, Unlocked
from stored_messages import Violation

SILENT_MS = 120_000
SCAN_MS = 10_000
LOCK_MS = 60_000


class Members:
    """Members and queue locks of all groups."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], int] = {}
        self._owners: dict[tuple[str, Place], tuple[str, int]] = {}

    def beat(self, seen: Beat) -> None:
        """Record a heartbeat."""
        self._last[seen.group, seen.client] = seen.now

    def left(self, seen: Left) -> None:
        """Record that a client left."""
        self._last.pop((seen.group, seen.client), None)

    def members_seen(self, seen: MembersSeen) -> None:
        """Check a response with the members of a group."""
        silent = {client: seen.now - last for (group, client), last in self._last.items() if group == seen.group}
        missing = [client for client, ms in silent.items() if ms <= SILENT_MS and client not in seen.clients]
        too_many = [client for client in seen.clients if silent.get(client, SCAN_MS * 100) > SILENT_MS + SCAN_MS]
        if missing or too_many or len(set(seen.clients)) != len(seen.clients):
            raise Violation(f"missing {missing}, too many {too_many}: {seen}")

    def may_be_there(self, client: str, now: int) -> bool:
        """Return True if this client may still be known, as a member or as a producer."""
        return any(name == client and now - last <= SILENT_MS + SCAN_MS for (_, name), last in self._last.items())

    def is_somebody_there(self, now: int) -> bool:
        """Return True if any client is certainly known."""
        return any(now - last <= SILENT_MS for last in self._last.values())

    def crashed(self) -> None:
        """Forget all clients and locks."""
        self._last.clear()
        self._owners.clear()

    def locked(self, seen: Locked) -> None:
        """Check a response to a lock request."""
        free = []
        for queue in seen.asked:
            owner, since = self._owners.get((seen.group, queue), (seen.client, 0))
            if owner == seen.client or seen.now - since > LOCK_MS:
                free.append(queue)
                self._owners[seen.group, queue] = (seen.client, seen.now)
        if list(seen.granted) != free:
            raise Violation(f"free were {free}: {seen}")

    def unlocked(self, seen: Unlocked) -> None:
        """Record an unlock request."""
        for queue in seen.queues:
            if self._owners.get((seen.group, queue), ("", 0))[0] == seen.client:
                del self._owners[seen.group, queue]
