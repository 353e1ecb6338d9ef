"""Pending answers of clients: the end of a transaction, the response to a pushed reply or to another request.

The gate calls the methods with each request that it pushes to a client, and with the client's answer. An end of a
transaction counts even if the broker refuses it, because its producer may never repeat it.
"""

from collections import OrderedDict
from collections.abc import Iterator
from enum import Enum

from ..gate.effects import CheckTransactionState, PushReplyMessage, RequestDirectConsumption, ServerRequest
from ..gate.gate import GRPC_CHANNEL, Call, Channel, Node, Outcome
from ..kernel.value_class import frozen_value
from ..message import stored_record as records
from ..operations.send import ClientResponded, EndTransaction
from .client_registry import Member
from .delivery_context import DeliveryContext

ANSWERS_MOST = 10_000
"""The maximum number of pending answers; the oldest are forgotten."""


class AnswerKind(Enum):
    """The request that a client has to answer."""

    TRANSACTION = "a half message was stored"
    CHECK = "the state of a transaction was requested"
    REPLY = "a reply was pushed"
    QUESTION = "an administrator's request was forwarded"


@frozen_value
class _Asked:
    kind: AnswerKind
    number: int
    node: str
    channel_id: str
    since_ms: int
    topic: str
    is_optional: bool


@frozen_value
class PendingAnswer:
    """One pending answer of a connected client."""

    kind: AnswerKind
    number: int
    """Its number among the events of the engine's deliveries."""
    node: str
    client: Member
    since_ms: int
    topic: str
    """The topic of the message; empty for a question."""
    is_optional: bool
    """True if the client may legitimately never answer."""


class PendingAnswers:
    """The pending answers to all brokers of an engine, the oldest first."""

    def __init__(self, context: DeliveryContext) -> None:
        self._context = context
        self._pending: OrderedDict[tuple[bool, str, int], _Asked] = OrderedDict()
        """By (True for a transaction, node, physical offset of its half message or ticket of the request)."""

    def half_stored(self, node: str, channel_id: str, topic: str, physical_offset: int) -> None:
        """Record a half message. A producer that does not know the outcome may send nothing."""
        kind = AnswerKind.TRANSACTION
        self._add((True, node, physical_offset), kind, channel_id, topic=topic, is_optional=True)

    # listeners of the gate

    def checked(self, node: Node, channel: Channel, effect: CheckTransactionState) -> None:
        """Record a transaction check. gRPC SDKs send nothing for an unknown outcome."""
        place = (True, node.name, effect.commit_log_offset)
        topic, over_grpc = records.decode(effect.record).topic, channel.channel_id.startswith(GRPC_CHANNEL)
        self._add(place, AnswerKind.CHECK, channel.channel_id, topic=topic, is_optional=over_grpc)

    def asked(self, node: Node, channel: Channel, effect: ServerRequest) -> None:
        """Record a request to a client. Of these requests gRPC clients answer only RequestDirectConsumption."""
        if channel.channel_id.startswith(GRPC_CHANNEL) and not isinstance(effect, RequestDirectConsumption):
            return
        kind, topic = AnswerKind.QUESTION, ""
        if isinstance(effect, PushReplyMessage):
            kind, topic = AnswerKind.REPLY, effect.topic
        self._add((False, node.name, effect.ticket), kind, channel.channel_id, topic=topic, is_optional=False)

    def ended(self, node: Node, _call: Call, operation: EndTransaction, _outcome: Outcome | None) -> None:
        """Remove a transaction that a client has ended, also without an outcome."""
        self._pending.pop((True, node.name, operation.commit_log_offset), None)

    def answered(self, node: Node, _call: Call, operation: ClientResponded, _outcome: Outcome | None) -> None:
        """Remove a request that a client has answered."""
        self._pending.pop((False, node.name, operation.ticket), None)

    # readers

    def __iter__(self) -> Iterator[PendingAnswer]:
        """Yield the pending answers of connected producers. The answers of other clients are forgotten.

        A consumer that answers requests is a producer as well: its SDK registers an internal producer group.
        """
        for place, asked in list(self._pending.items()):
            tables = self._context.tables(asked.node)
            client = None if tables is None else tables.clients.connected_producer(asked.channel_id)
            if client is None:
                del self._pending[place]
                continue
            yield PendingAnswer(
                asked.kind, asked.number, asked.node, client, asked.since_ms, asked.topic, asked.is_optional
            )

    def _add(
        self, place: tuple[bool, str, int], kind: AnswerKind, channel_id: str, *, topic: str, is_optional: bool
    ) -> None:
        context = self._context
        now_ms = context.scheduler.now_ms
        self._pending[place] = _Asked(kind, context.next_number(), place[1], channel_id, now_ms, topic, is_optional)
        if len(self._pending) > ANSWERS_MOST:
            self._pending.popitem(last=False)
