"""Reverse indexes of the client registry, by connection and by client id, for lookups in constant time."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

Member = TypeVar("Member")
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class ClientIndex(Generic[Member]):
    """Indexes of the producers (of type `Member`) and of the consumers of all groups."""

    def __init__(self) -> None:
        self._producer_groups: dict[str, dict[str, None]] = {}
        """Producer groups by connection."""
        self._consumer_groups: dict[str, dict[str, None]] = {}
        """Consumer groups by connection."""
        self._producers_by_client_id: dict[str, dict[tuple[str, str], Member]] = {}
        """Producers by client id, then by (group, connection)."""
        self._producer_lists: dict[str, list[Member]] = {}
        """Cached lists of producers by group; an entry is removed when a producer joins or leaves."""
        self._consumers: dict[tuple[str, str], dict[str, None]] = {}
        """Connections by group and client id."""

    def add_producer(self, group: str, channel_id: str, client_id: str, member: Member) -> None:
        """Add a producer that joined a group."""
        self._producer_groups.setdefault(channel_id, {})[group] = None
        self._producers_by_client_id.setdefault(client_id, {})[group, channel_id] = member
        self._producer_lists.pop(group, None)

    def remove_producer(self, group: str, channel_id: str, client_id: str) -> None:
        """Remove a producer that left a group."""
        _remove(self._producer_groups, channel_id, group)
        _remove(self._producers_by_client_id, client_id, (group, channel_id))
        self._producer_lists.pop(group, None)

    def add_consumer(self, group: str, channel_id: str, client_id: str) -> None:
        """Add a consumer that joined a group."""
        self._consumer_groups.setdefault(channel_id, {})[group] = None
        self._consumers.setdefault((group, client_id), {})[channel_id] = None

    def remove_consumer(self, group: str, channel_id: str, client_id: str) -> None:
        """Remove a consumer that left a group."""
        _remove(self._consumer_groups, channel_id, group)
        _remove(self._consumers, (group, client_id), channel_id)

    def producer_groups(self, channel_id: str) -> list[str]:
        """Return the producer groups of a connection."""
        return list(self._producer_groups.get(channel_id, ()))

    def consumer_groups(self, channel_id: str) -> list[str]:
        """Return the consumer groups of a connection."""
        return list(self._consumer_groups.get(channel_id, ()))

    def consumer_channels(self, group: str, client_id: str) -> list[str]:
        """Return the connections of a client on which it is in a consumer group."""
        return list(self._consumers.get((group, client_id), ()))

    def producers_of(self, client_id: str) -> list[tuple[str, str]]:
        """Return (group, connection) of the producers with a client id."""
        return list(self._producers_by_client_id.get(client_id, ()))

    def is_consumer(self, group: str, client_id: str) -> bool:
        """True if a client is in a consumer group, on any connection."""
        return (group, client_id) in self._consumers

    def producer_list(self, group: str, producers: Mapping[str, Member]) -> list[Member]:
        """Return the producers of a group as a list, which the caller must not change.

        `producers`: the same producers by connection; the list is built from them if it is not cached.
        """
        found = self._producer_lists.get(group)
        if found is None:
            found = self._producer_lists[group] = list(producers.values())
        return found

    def producers_with_client_id(self, client_id: str) -> list[Member]:
        """Return the producers with a client id, in any group."""
        return list(self._producers_by_client_id.get(client_id, {}).values())


Outer = TypeVar("Outer", bound=Hashable)


def _remove(table: dict[Outer, dict[Key, Value]], outer: Outer, key: Key) -> None:
    """Delete an entry, and the inner table if it becomes empty."""
    held = table[outer]
    del held[key]
    if not held:
        del table[outer]
