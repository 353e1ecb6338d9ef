"""The history that a fork continues: copies of tables, and the full chunks of the delivery record, which are shared."""

from collections import deque
from collections.abc import Mapping
from dataclasses import field

from ..kernel.value_class import parts
from .client_commits import ClientCommits
from .client_names import ClientNames
from .delivery_record import DeliveryRecord
from .events import BrokerEvent, Firing, LostMessage, RefusedRequest, Trim
from .offset_moves import OffsetMoves


@parts
class LentHistory:
    """The records of another engine as of the fork. Only one history may continue them."""

    record: DeliveryRecord
    commits: ClientCommits
    clients: ClientNames
    offset_moves: OffsetMoves
    missing_until_ms: int | None
    refused: deque[RefusedRequest]
    lost: deque[LostMessage]
    firings: deque[Firing]
    trims: Mapping[str, deque[Trim]] = field(default_factory=dict)
    broker_events: Mapping[str, deque[BrokerEvent]] = field(default_factory=dict)
