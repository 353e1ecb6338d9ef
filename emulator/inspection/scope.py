"""Selections of messages in flight."""

from ..kernel.value_class import frozen_view


@frozen_view
class Scope:
    """A selection of messages in flight. A field that is None selects all values."""

    group: str | None = None
    topic: str | None = None
    queue_id: int | None = None
    offset: int | None = None

    def has_queue(self, group: str, topic: str, queue_id: int) -> bool:
        """True if the selection contains offsets of a group's queue."""
        return self.group in (None, group) and self.topic in (None, topic) and self.queue_id in (None, queue_id)

    def has_offset_between(self, first: int, last: int) -> bool:
        """True if the selection contains at least one offset from `first` to `last` of the queues that it has."""
        return self.offset is None or first <= self.offset <= last


EVERYTHING = Scope()
