"""Long polls that wait for messages."""

from typing import Literal

from ..kernel.value_class import frozen_value


@frozen_value
class PollView:
    """A request that waits at a broker."""

    channel: str
    group: str
    broker: str
    topic: str
    queue_id: int | None
    """None if the request reads any queue of the topic."""
    since_ms: int
    until_ms: int
    kind: Literal["pull", "pop", "notification"]
