"""Pending responses of clients: the end of a transaction, or the response to a request that the broker pushed.

In request-reply messaging a producer sends a request message and waits for a reply message of its consumer. The broker
pushes the reply to that producer, which confirms the push with a response.

The gate calls the methods with each request that it pushes to a client, and with the client's response. An end of a
transaction counts even if the broker refuses it, because its producer may never repeat it.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import KW_ONLY
from enum import Enum

from ..gate.call import Call, Channel, Node, Outcome, is_through_proxy
from ..gate.effects import CheckTransactionState, PushReplyMessage, RequestDirectConsumption, ServerRequest
from ..history.record_kind import RecordKind
from ..kernel.errors import EngineError
from ..kernel.value_class import frozen_value
from ..message import stored_record as records
from ..message.names import HALF_TOPIC
from ..operations.send import ClientResponded, EndTransaction
from .client_registry import Member
from .delivery_context import DeliveryContext
from .ends import oldest_and_newest

_ENDS = {8: RecordKind.COMMITTED_TRANSACTION, 12: RecordKind.ROLLED_BACK}
"""By `commit_or_rollback`. Source: MessageSysFlag (5.3.3)."""
RESPONSES_MAX = 10_000
"""The maximum number of pending responses; above it the oldest are deleted."""


class ResponseKind(Enum):
    """The event to which a client has to respond."""

    HALF_MESSAGE = "the broker stored a half message of the client"
    CHECK = "the broker requested the state of a transaction"
    REPLY = "the broker pushed a reply message"
    FORWARDED_REQUEST = "the broker forwarded a request of an administrator"


@frozen_value
class _Pending:
    kind: ResponseKind
    number: int
    node: str
    channel_id: str
    _: KW_ONLY
    since_ms: int
    topic: str
    is_optional: bool


@frozen_value
class PendingResponse:
    """One pending response of a connected client."""

    kind: ResponseKind
    number: int
    """Position in the sequence of delivery events of all brokers; later events have higher numbers."""
    node: str
    client: Member
    _: KW_ONLY
    since_ms: int
    topic: str
    """The topic of the message; empty for a forwarded request."""
    is_optional: bool
    """True if the client may legitimately never respond."""


class PendingResponses:
    """The pending responses to all brokers of an engine, the oldest first."""

    def __init__(self, context: DeliveryContext) -> None:
        self._context = context
        self._pending: OrderedDict[tuple[bool, str, int], _Pending] = OrderedDict()
        """Key of a transaction: True, node name, and physical offset of the half message.

        Key of another request: False, node name, and ticket of the request.
        """

    def half_stored(self, node: str, channel_id: str, topic: str, physical_offset: int) -> None:
        """Record a half message. A producer that cannot decide between commit and rollback may send nothing."""
        kind = ResponseKind.HALF_MESSAGE
        self._add((True, node, physical_offset), kind, channel_id, topic=topic, is_optional=True)

    # listeners of the gate

    def checked(self, node: Node, channel: Channel, effect: CheckTransactionState) -> None:
        """Record a transaction check. If the transaction's state is unknown, gRPC SDKs send nothing."""
        place = (True, node.name, effect.commit_log_offset)
        topic, client = records.decode(effect.record).topic, channel.channel_id
        self._add(place, ResponseKind.CHECK, client, topic=topic, is_optional=is_through_proxy(client))

    def requested(self, node: Node, channel: Channel, effect: ServerRequest) -> None:
        """Record a request to a client. gRPC clients respond only to RequestDirectConsumption among these requests."""
        if is_through_proxy(channel.channel_id) and not isinstance(effect, RequestDirectConsumption):
            return
        kind, topic = ResponseKind.FORWARDED_REQUEST, ""
        if isinstance(effect, PushReplyMessage):
            kind, topic = ResponseKind.REPLY, effect.topic
        self._add((False, node.name, effect.ticket), kind, channel.channel_id, topic=topic, is_optional=False)

    def ended(self, node: Node, call: Call, operation: EndTransaction, outcome: Outcome | None) -> None:
        """Remove a transaction whose end a client has sent, also if the end neither commits it nor rolls it back."""
        self._pending.pop((True, node.name, operation.commit_log_offset), None)
        kind = _ENDS.get(operation.commit_or_rollback)
        if kind is not None and outcome is not None and not isinstance(outcome, EngineError):
            history, now_ms = self._context.history, self._context.scheduler.now_ms
            queue, link = (node.name, HALF_TOPIC, 0), (operation.producer_group, call.channel.channel_id)
            history.record.append(kind, now_ms, queue, link, operation.tran_state_table_offset)

    def responded(self, node: Node, _call: Call, operation: ClientResponded, _outcome: Outcome | None) -> None:
        """Remove a request to which a client has responded."""
        self._pending.pop((False, node.name, operation.ticket), None)

    # readers

    def __iter__(self) -> Iterator[PendingResponse]:
        """Yield the pending responses of connected producers, and delete those of other clients.

        A consumer that responds to requests is a producer as well: its SDK registers an internal producer group.
        """
        for place, pending in list(self._pending.items()):
            found = self._of_connected(pending)
            if found is None:
                del self._pending[place]
            else:
                yield found

    def ends(self) -> Iterator[PendingResponse]:
        """Yield of each connected producer its oldest and newest response, optional ones apart from others."""
        ends = oldest_and_newest(
            ((each.node, each.channel_id, each.is_optional), each.number, each) for each in self._pending.values()
        )
        for pending in ends:
            found = self._of_connected(pending)
            if found is not None:
                yield found

    def _of_connected(self, pending: _Pending) -> PendingResponse | None:
        """Return a pending response, None if its producer is not connected."""
        tables = self._context.tables(pending.node)
        client = None if tables is None else tables.clients.connected_producer(pending.channel_id)
        if client is None:
            return None
        return PendingResponse(
            pending.kind,
            pending.number,
            pending.node,
            client,
            since_ms=pending.since_ms,
            topic=pending.topic,
            is_optional=pending.is_optional,
        )

    def _add(
        self, place: tuple[bool, str, int], kind: ResponseKind, channel_id: str, *, topic: str, is_optional: bool
    ) -> None:
        context = self._context
        now_ms = context.scheduler.now_ms
        self._pending[place] = _Pending(
            kind, context.next_number(), place[1], channel_id, since_ms=now_ms, topic=topic, is_optional=is_optional
        )
        if len(self._pending) > RESPONSES_MAX:
            self._pending.popitem(last=False)
