"""The place of a stored record."""

from ..kernel.value_class import frozen_view


@frozen_view
class Place:
    """Where a copy of a message is stored."""

    broker: str
    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
