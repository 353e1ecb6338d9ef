"""Assignments of queues to members."""

from ..kernel.value_class import frozen_value


@frozen_value
class AssignmentView:
    """A queue and the member that should request it."""

    group: str
    broker: str
    topic: str
    queue_id: int
    client: str | None
    """The member's client id; None if no member has the queue or the strategy is not known to the broker."""
    strategy: str
    requested_ms: int | None
    """The time of the member's last request for the queue; None if there was none."""
