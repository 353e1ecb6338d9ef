"""Views of brokers."""

from collections.abc import Sequence
from dataclasses import KW_ONLY

from ..cluster.broker import Broker
from ..kernel.value_class import frozen_view
from .engine_parts import Surroundings


@frozen_view
class BrokerView:
    """A master or slave."""

    name: str
    broker_id: int
    cluster: str
    running: bool
    _: KW_ONLY
    unreachable: str | None
    """The reason why clients cannot reach the running broker, as a phrase; None if they can."""
    permission: int
    """`brokerPermission`: the sum of 4 (read) and 2 (write)."""

    @property
    def is_master(self) -> bool:
        """True for broker id 0."""
        return not self.broker_id


def broker_views(brokers: Sequence[Broker], around: Surroundings) -> list[BrokerView]:
    """Return the views of brokers, in their order."""
    return [
        BrokerView(
            broker.name,
            broker.broker_id,
            broker.config.broker_cluster_name,
            broker.running,
            unreachable=around.unreachable(broker) if broker.running else None,
            permission=broker.config.broker_permission,
        )
        for broker in brokers
    ]
