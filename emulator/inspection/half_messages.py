"""Half messages of transactions that are not decided."""

from ..kernel.value_class import frozen_value


@frozen_value
class HalfView:
    """A half message, with its checks so far."""

    message_id: str
    topic: str
    producer_group: str
    since_ms: int
    checks: int
    checks_max: int
    next_check_ms: int | None
    """The time of the next check; None if there will be none."""
