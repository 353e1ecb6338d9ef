"""Index of table entries by topic and by group, so that deleting a topic or group does not scan the whole table."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Entry = TypeVar("Entry", bound=Hashable)


class TopicGroupIndex(Generic[Entry]):
    """Entries of a table by topic and by group, each in the order in which they were added."""

    def __init__(self) -> None:
        self._of_topic: dict[str, dict[Entry, None]] = {}
        self._of_group: dict[str, dict[Entry, None]] = {}

    def add(self, topic: str, group: str, entry: Entry) -> None:
        """Add an entry. A no-op if it is present."""
        self._of_topic.setdefault(topic, {})[entry] = None
        self._of_group.setdefault(group, {})[entry] = None

    def discard(self, topic: str, group: str, entry: Entry) -> None:
        """Remove an entry. A no-op if it is absent."""
        for table, name in ((self._of_topic, topic), (self._of_group, group)):
            entries = table.get(name)
            if entries is not None and entries.pop(entry, self) is None and not entries:
                del table[name]

    def of_topic(self, topic: str) -> list[Entry]:
        """Return all entries of a topic."""
        return list(self._of_topic.get(topic, ()))

    def of_group(self, group: str) -> list[Entry]:
        """Return all entries of a group."""
        return list(self._of_group.get(group, ()))
