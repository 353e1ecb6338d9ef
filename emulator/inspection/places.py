"""The place of a stored record."""

from dataclasses import KW_ONLY

from ..kernel.value_class import frozen_view


@frozen_view
class Place:
    """Where a copy of a message is stored."""

    broker: str
    topic: str
    queue_id: int
    queue_offset: int
    _: KW_ONLY
    physical_offset: int
