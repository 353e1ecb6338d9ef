"""Topics."""

from ..kernel.value_class import frozen_value


@frozen_value
class TopicView:
    """A topic of the cluster; the queues of all its brokers."""

    name: str
    type: str
    perm: int
    brokers: tuple[str, ...]
    clusters: tuple[str, ...]
    queues: int
    compacted: bool
    system: bool
