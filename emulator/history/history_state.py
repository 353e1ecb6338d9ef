"""The history that a fork continues: copies of tables, and the full chunks of the delivery record, which are shared."""

from collections import deque
from collections.abc import Mapping
from dataclasses import field

from ..kernel.value_class import parts
from .client_commits import ClientCommits
from .deleted_groups import DeletedGroups
from .delivery_record import DeliveryRecord
from .events import BrokerEvent, LostMessage, RefusedRequest, RuleFiring, Trim
from .last_subscriptions import LastSubscriptions
from .offset_moves import OffsetMoves
from .seen_clients import SeenClients


@parts
class HistoryState:
    """The records of another engine as of the fork. Only one history may continue them."""

    record: DeliveryRecord
    commits: ClientCommits
    clients: SeenClients
    deleted_groups: DeletedGroups
    subscriptions: LastSubscriptions
    offset_moves: OffsetMoves
    missing_until_ms: int | None
    refused: deque[RefusedRequest]
    lost: deque[LostMessage]
    firings: deque[RuleFiring]
    trims: Mapping[str, deque[Trim]] = field(default_factory=dict)
    broker_events: Mapping[str, deque[BrokerEvent]] = field(default_factory=dict)

    def copy(self) -> "HistoryState":
        """Return equal records that change independently of these."""
        return HistoryState(
            record=self.record.fork(),
            commits=self.commits.copy(),
            clients=self.clients.copy(),
            deleted_groups=self.deleted_groups.copy(),
            subscriptions=self.subscriptions.copy(),
            offset_moves=self.offset_moves.copy(),
            missing_until_ms=self.missing_until_ms,
            refused=self.refused.copy(),
            lost=self.lost.copy(),
            firings=self.firings.copy(),
            trims={broker: trims.copy() for broker, trims in self.trims.items()},
            broker_events={broker: events.copy() for broker, events in self.broker_events.items()},
        )
