"""Who is registered, by connection and by client id: a look costs the same however many others there are."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

Member = TypeVar("Member")
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Registrations(Generic[Member]):
    """What the tables of producers and consumers say, the other way round."""

    def __init__(self) -> None:
        self._producer_groups: dict[str, dict[str, None]] = {}
        self._consumer_groups: dict[str, dict[str, None]] = {}
        """By connection."""
        self._called: dict[str, dict[tuple[str, str], Member]] = {}
        """Producers by client id, and there by group and connection."""
        self._listed: dict[str, list[Member]] = {}
        """Producers by group, where somebody asked for the list and nobody came or went since."""
        self._consumers: dict[tuple[str, str], dict[str, None]] = {}
        """Connections by group and client id."""

    def producer_came(self, group: str, channel_id: str, client_id: str, member: Member) -> None:
        """A producer has joined a group."""
        self._producer_groups.setdefault(channel_id, {})[group] = None
        self._called.setdefault(client_id, {})[group, channel_id] = member
        self._listed.pop(group, None)

    def producer_left(self, group: str, channel_id: str, client_id: str) -> None:
        """A producer has left a group."""
        _take(self._producer_groups, channel_id, group)
        _take(self._called, client_id, (group, channel_id))
        self._listed.pop(group, None)

    def consumer_came(self, group: str, channel_id: str, client_id: str) -> None:
        """A consumer has joined a group."""
        self._consumer_groups.setdefault(channel_id, {})[group] = None
        self._consumers.setdefault((group, client_id), {})[channel_id] = None

    def consumer_left(self, group: str, channel_id: str, client_id: str) -> None:
        """A consumer has left a group."""
        _take(self._consumer_groups, channel_id, group)
        _take(self._consumers, (group, client_id), channel_id)

    def producer_groups(self, channel_id: str) -> list[str]:
        """The producer groups of a connection."""
        return list(self._producer_groups.get(channel_id, ()))

    def consumer_groups(self, channel_id: str) -> list[str]:
        """The consumer groups of a connection."""
        return list(self._consumer_groups.get(channel_id, ()))

    def is_consumer(self, group: str, client_id: str) -> bool:
        """Is a client in a consumer group, on any connection?"""
        return (group, client_id) in self._consumers

    def listed(self, group: str, producers: Mapping[str, Member]) -> list[Member]:
        """The producers of a group as a list, which is not to be changed."""
        found = self._listed.get(group)
        if found is None:
            found = self._listed[group] = list(producers.values())
        return found

    def producers_called(self, client_id: str) -> list[Member]:
        """The producers with a client id, of any group."""
        return list(self._called.get(client_id, {}).values())


Outer = TypeVar("Outer", bound=Hashable)


def _take(table: dict[Outer, dict[Key, Value]], outer: Outer, key: Key) -> None:
    """Forget an entry, and the table that held it if it was the last."""
    held = table[outer]
    del held[key]
    if not held:
        del table[outer]
