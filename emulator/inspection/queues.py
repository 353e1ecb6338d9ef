"""Queues and the progress of groups in them."""

from collections.abc import Mapping

from ..kernel.value_class import frozen_value


@frozen_value
class ProgressView:
    """The progress of a group in a queue, in queue offsets."""

    committed: int | None
    pending_reset: int | None
    """The offset of a reset that the group has not taken yet; None if there is none."""
    position: int
    """The offset that the group reads next."""
    delivered: int | None
    """The number of messages written to clients, as recorded; None if records of the queue were dropped."""
    in_flight: int
    lag: int


@frozen_value
class QueueView:
    """A queue with the progress of the groups that have an offset or a member in it."""

    broker: str
    topic: str
    queue_id: int
    first: int
    """The lowest stored offset."""
    end: int
    """The offset of the next message."""
    readable: bool
    groups: Mapping[str, ProgressView]
