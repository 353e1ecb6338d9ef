"""Locks of queues for orderly consumption."""

from ..kernel.value_class import frozen_value


@frozen_value
class LockView:
    """A queue that a client has locked."""

    group: str
    broker: str
    topic: str
    queue_id: int
    client: str
    until_ms: int
