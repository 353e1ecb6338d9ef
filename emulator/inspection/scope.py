"""Selections of messages in flight."""

from ..kernel.value_class import frozen_view


@frozen_view
class Scope:
    """A selection of messages in flight. A field that is None selects all values."""

    group: str | None = None
    topic: str | None = None
    queue_id: int | None = None
    offset: int | None = None

    def overlaps(self, group: str, topic: str, queue_id: int, first: int, last: int) -> bool:  # noqa: PLR0917 - a queue and its offsets
        """True if the selection contains at least one offset of a queue from `first` to `last`."""
        return (
            self.group in (None, group)
            and self.topic in (None, topic)
            and self.queue_id in (None, queue_id)
            and (self.offset is None or first <= self.offset <= last)
        )


EVERYTHING = Scope()
