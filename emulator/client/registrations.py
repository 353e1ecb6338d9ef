"""Reverse indexes of the client registry, by connection and by client id, for lookups in constant time."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

Member = TypeVar("Member")
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Registrations(Generic[Member]):
    """Indexes of producers and consumers."""

    def __init__(self) -> None:
        self._producer_groups: dict[str, dict[str, None]] = {}
        self._consumer_groups: dict[str, dict[str, None]] = {}
        """Groups by connection."""
        self._called: dict[str, dict[tuple[str, str], Member]] = {}
        """Producers by client id, then by (group, connection)."""
        self._listed: dict[str, list[Member]] = {}
        """Cached lists of producers by group; an entry is removed when a producer joins or leaves."""
        self._consumers: dict[tuple[str, str], dict[str, None]] = {}
        """Connections by group and client id."""

    def producer_came(self, group: str, channel_id: str, client_id: str, member: Member) -> None:
        """Add a producer that joined a group."""
        self._producer_groups.setdefault(channel_id, {})[group] = None
        self._called.setdefault(client_id, {})[group, channel_id] = member
        self._listed.pop(group, None)

    def producer_left(self, group: str, channel_id: str, client_id: str) -> None:
        """Remove a producer that left a group."""
        _take(self._producer_groups, channel_id, group)
        _take(self._called, client_id, (group, channel_id))
        self._listed.pop(group, None)

    def consumer_came(self, group: str, channel_id: str, client_id: str) -> None:
        """Add a consumer that joined a group."""
        self._consumer_groups.setdefault(channel_id, {})[group] = None
        self._consumers.setdefault((group, client_id), {})[channel_id] = None

    def consumer_left(self, group: str, channel_id: str, client_id: str) -> None:
        """Remove a consumer that left a group."""
        _take(self._consumer_groups, channel_id, group)
        _take(self._consumers, (group, client_id), channel_id)

    def producer_groups(self, channel_id: str) -> list[str]:
        """Return the producer groups of a connection."""
        return list(self._producer_groups.get(channel_id, ()))

    def consumer_groups(self, channel_id: str) -> list[str]:
        """Return the consumer groups of a connection."""
        return list(self._consumer_groups.get(channel_id, ()))

    def is_consumer(self, group: str, client_id: str) -> bool:
        """True if a client is in a consumer group, on any connection."""
        return (group, client_id) in self._consumers

    def listed(self, group: str, producers: Mapping[str, Member]) -> list[Member]:
        """Return the producers of a group as a list, which the caller must not change."""
        found = self._listed.get(group)
        if found is None:
            found = self._listed[group] = list(producers.values())
        return found

    def producers_called(self, client_id: str) -> list[Member]:
        """Return the producers with a client id, in any group."""
        return list(self._called.get(client_id, {}).values())


Outer = TypeVar("Outer", bound=Hashable)


def _take(table: dict[Outer, dict[Key, Value]], outer: Outer, key: Key) -> None:
    """Delete an entry, and the inner table if it becomes empty."""
    held = table[outer]
    del held[key]
    if not held:
        del table[outer]
