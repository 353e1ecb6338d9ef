"""Views of topics."""

from collections.abc import Sequence
from dataclasses import KW_ONLY

from ..cluster.broker import Broker
from ..kernel.value_class import frozen_view
from ..operations.topics import TopicConfig
from .brokers import stores_of
from .engine_parts import EngineParts


@frozen_view
class TopicView:
    """A topic of the cluster; the queues of all its brokers."""

    name: str
    type: str
    perm: int
    """The permission: the sum of 4 (read), 2 (write) and 1 (inherit)."""
    brokers: tuple[str, ...]
    _: KW_ONLY
    clusters: tuple[str, ...]
    queues: int
    compacted: bool
    system: bool


def read_topics(parts: EngineParts) -> list[TopicView]:
    """Return the topics of all masters by name; type and permission are those on the first broker."""
    brokers = stores_of(parts.brokers).values()
    names = sorted({name for broker in brokers for name in (*broker.topics.table, *broker.topics.lmq_topics)})
    return [_view(name, [broker for broker in brokers if _config(broker, name) is not None]) for name in names]


def read_topic(parts: EngineParts, name: str) -> TopicView | None:
    """Return one topic of the masters, None if it does not exist."""
    brokers = [broker for broker in stores_of(parts.brokers).values() if _config(broker, name) is not None]
    return _view(name, brokers) if brokers else None


def _config(broker: Broker, name: str) -> TopicConfig | None:
    return broker.topics.find_registered(name)


def _view(name: str, brokers: Sequence[Broker]) -> TopicView:
    configs = [config for broker in brokers if (config := _config(broker, name)) is not None]
    return TopicView(
        name=name,
        type=brokers[0].topics.message_type(name),
        perm=configs[0].perm,
        brokers=tuple(broker.name for broker in brokers),
        clusters=tuple(sorted({broker.config.broker_cluster_name for broker in brokers})),
        queues=sum(config.read_queue_nums for config in configs),
        compacted=any(name in broker.topics.compacted for broker in brokers),
        system=any(broker.topics.is_system(name) for broker in brokers),
    )
