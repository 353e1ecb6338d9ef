"""Deliveries: the messages and requests that an engine has sent to clients, until the clients have completed them.

It is the only model of consumption by clients. The gate reports each outcome to it before the client gets the outcome.
A jump of the clock waits for the clients that it lists. It must not know protocols or the wall clock.

    pop, gRPC receive    In flight until the message is acknowledged, or its invisible duration is changed or ends.
    pull                 In flight until an offset above the message is committed, or the message is sent back.
    half message         Pending until the transaction is ended, also with "unknown"; a transaction check likewise.
    request to a client  Pending until the client responds: a pushed reply, a forwarded request of an administrator.
    end of a long poll   Pending until the client starts the next one.
"""

from collections.abc import Callable, Iterator
from enum import Enum

from ..faults.client_call import GhostCall
from ..gate.call import Call, Channel, Node, Outcome
from ..gate.effects import (
    CheckTransactionState,
    PushReplyMessage,
    RequestConsumerStatus,
    RequestDirectConsumption,
    RequestRunningInfo,
)
from ..gate.gate import GateListeners
from ..history.events import MoveKind
from ..history.history import History
from ..history.last_subscriptions import LastSubscription
from ..history.record_keys import Queue
from ..history.record_kind import RecordKind
from ..history.seen_clients import SeenClient
from ..kernel.errors import EngineError
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import frozen_value
from ..message import stored_record as records
from ..operations.clients import ChannelClosed, Heartbeat, UnregisterClient
from ..operations.consume import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
    Notification,
    PopMessage,
    PopResult,
    PullMessage,
)
from ..operations.groups import CloneGroupOffset
from ..operations.offsets import ResetOffset, UpdateConsumerOffset
from ..operations.send import ClientResponded, EndTransaction, SendMessageBack
from .client_registry import Member
from .client_text import host_port, sdk_version
from .client_watch import SILENT, ClientWatch, LateAcknowledgement, PopStart
from .consumer_kind import ConsumerKind, JumpWait
from .delivery_context import DeliveryContext, NodeTables, Topic
from .pending_responses import PendingResponse, PendingResponses
from .popped_messages import Place, Popped, PoppedMessages, is_by_proxy
from .queue_uses import QueueUse, QueueUses
from .refused_requests import RefusedRequests


class Way(Enum):
    """The way in which a client got a message."""

    PULL = "pull"
    POP = "pop"


@frozen_value
class InFlight:
    """A message that a connected client has received and not completed."""

    number: int
    """Number of the delivery among all events. Later deliveries have higher numbers."""
    way: Way
    node: str
    group: str
    topic: str
    queue_id: int
    offset: int
    """The queue offset of the message."""
    client: Member
    kind: ConsumerKind
    since_ms: int
    until_ms: int | None = None
    """End of the invisible duration (ms); None for a pulled message."""
    received_again: bool = False
    """True if the client has requested further popped messages since then."""

    @property
    def jump_wait(self) -> JumpWait:
        """Return the time that a jump of the clock waits for the client to complete the message.

        A consumer that may keep a popped message, such as a simple consumer, is done with it when it receives again.
        """
        if self.way is Way.PULL:
            return self.kind.pulled
        jump_wait = self.kind.popped
        return JumpWait.NONE if jump_wait is JumpWait.BRIEF and self.received_again else jump_wait


@frozen_value
class PollEnd:
    """The end of the last long poll of a connected client for a queue, if it has not started the next one."""

    number: int
    node: str
    group: str
    topic: str
    client: Member
    kind: ConsumerKind
    since_ms: int


class Deliveries:
    """The deliveries of all brokers of an engine. `tables` returns the tables of a master by name.

    Deliveries and acknowledgements are also appended to the delivery record of `history`.
    Messages pulled from a slave are not in flight, because the client's connection to it is not registered at the
    master, which has the same name.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        tables: Callable[[str], NodeTables | None],
        history: History,
        watch: ClientWatch = SILENT,
    ) -> None:
        self._context = DeliveryContext(scheduler, tables, history, watch)
        self._popped = PoppedMessages(self._context)
        self._queues = QueueUses(self._context)
        self._responses = PendingResponses(self._context)
        self._refused = RefusedRequests(self._context)

    def listeners(self) -> GateListeners:
        """Return the listeners that feed the model."""
        popped, queues, responses = self._popped, self._queues, self._responses
        return GateListeners(
            outcomes={
                PullMessage: queues.pulled,
                PopMessage: self._on_pop,
                Notification: self._on_notification,
                AckMessage: popped.acknowledged,
                BatchAckMessage: popped.acknowledged_many,
                ChangeInvisibleTime: popped.changed,
                SendMessageBack: self._on_send_back,
                UpdateConsumerOffset: queues.committed,
                ResetOffset: self._on_move,
                CloneGroupOffset: self._on_move,
                EndTransaction: responses.ended,
                ClientResponded: responses.responded,
                Heartbeat: self._on_heartbeat,
                UnregisterClient: self._on_unregistration,
                ChannelClosed: self._on_close,
            },
            refusals={
                AckMessage: popped.acknowledged,
                BatchAckMessage: popped.acknowledged_many,
                ChangeInvisibleTime: popped.changed,
                EndTransaction: responses.ended,
            },
            losses={
                PullMessage: queues.lost,
                PopMessage: queues.lost,
                AckMessage: popped.acknowledged,
                BatchAckMessage: popped.acknowledged_many,
                ChangeInvisibleTime: popped.changed,
                SendMessageBack: self._on_send_back,
                EndTransaction: responses.ended,
            },
            effects={
                CheckTransactionState: responses.checked,
                RequestRunningInfo: responses.requested,
                RequestDirectConsumption: responses.requested,
                RequestConsumerStatus: responses.requested,
                PushReplyMessage: responses.requested,
            },
            errors=self._refused.refused,
        )

    def half_stored(self, node: str, call: Call, topic: str, physical_offset: int) -> None:
        """Record a half message of a client. The send service calls it for these sends only."""
        self._responses.half_stored(node, call.channel.channel_id, topic, physical_offset)

    def not_written(self, node: str, channel: Channel, operation: PopMessage, result: PopResult) -> None:
        """Record the messages of a pop that the proxy cannot write to its client. They stay invisible."""
        self._popped.not_written(node, channel, operation, result)

    def acknowledgement_refused(
        self, channel: Channel, group: str, queue: Queue, offset: int, *, popped_ms: int, until_ms: int
    ) -> None:
        """Record that the proxy refused an acknowledgement, because the message's invisible duration had ended.

        `popped_ms` and `until_ms` are the times of its receipt handle.
        """
        context, channel_id = self._context, channel.channel_id
        if context.has_message(*queue, offset):
            now_ms = context.scheduler.now_ms
            kind = RecordKind.REFUSED_ACKNOWLEDGEMENT
            context.history.record.append(kind, now_ms, queue, (group, channel_id), offset)
            if until_ms <= now_ms:
                node, topic, queue_id = queue
                late = LateAcknowledgement(
                    node,
                    channel_id,
                    group,
                    topic,
                    queue_id=queue_id,
                    offset=offset,
                    popped_ms=popped_ms,
                    until_ms=until_ms,
                )
                context.watch.late_acknowledgement(late)

    # readers

    @property
    def last_number(self) -> int:
        """Number of the newest event, 0 before the first."""
        return self._context.last_number

    def pending_responses(self, *, ends: bool = False) -> Iterator[PendingResponse]:
        """Yield the pending responses of connected clients, the oldest first. `ends`: see `PendingResponses.ends`."""
        return self._responses.ends() if ends else iter(self._responses)

    def in_flight(self, *, ends: bool = False) -> Iterator[InFlight]:
        """Yield the messages in flight, in no order. `ends`: of popped messages only the oldest and newest of a client.

        A message counts only while its client is a connected member of the group. Pulled messages of broadcasting
        consumers are never in flight, because their progress is unknown.
        """
        for (node, group, topic, queue_id, offset), popped in self._popped.ends() if ends else self._popped:
            if (found := self._consumer(node, group, popped.channel_id)) is not None:
                yield InFlight(
                    popped.number,
                    Way.POP,
                    *(node, group, topic, queue_id, offset, *found),
                    popped.since_ms,
                    popped.until_ms,
                    self._popped.received_again(group, popped),
                )
        yield from self._pulled().values()

    def poll_ends(self) -> Iterator[PollEnd]:
        """Yield the ends of long polls after which the client has not started the next one, in no order."""
        for channel_id, (node, group, topic), _, use in self._queues:
            if use.ended and (found := self._consumer(node, group, channel_id)) is not None:
                yield PollEnd(use.ended, node, group, topic, *found, use.ended_ms)

    def popped_at(self, place: Place) -> Popped | None:
        """Return the pop of a message that its client has not completed, None if there is none. It changes nothing."""
        return self._popped.unexpired(place)

    def uses(self) -> Iterator[tuple[str, Topic, int, QueueUse]]:
        """Yield (channel id, topic, queue id, use) of the queues that clients use; the caller must not change them."""
        return iter(self._queues)

    def has_requested(self, channel_id: str, topic: Topic, queue_id: int) -> bool:
        """True if a client has requested a queue of (node, group, topic), or with ANY_QUEUE any of its queues."""
        return self._queues.has_requested(channel_id, topic, queue_id)

    def _pulled(self) -> dict[tuple[Topic, int, int], InFlight]:
        """Return the pulled messages above the committed offsets, each for the client that pulled it last."""
        held: dict[tuple[Topic, int, int], InFlight] = {}
        for channel_id, key, queue_id, use in self._queues:
            node, group, topic = key
            if not use.pulled:
                continue
            tables, found = self._context.tables(node), self._consumer(node, group, channel_id)
            if tables is None or found is None or not found[1].reports_progress:
                continue
            committed = tables.offsets.query(group, topic, queue_id)
            use.drop_committed(committed)
            for number, since_ms, offsets in use.pulled:
                for offset in offsets:
                    before = held.get((key, queue_id, offset))
                    if offset >= committed and (before is None or before.number < number):
                        place = (node, group, topic, queue_id, offset)
                        held[key, queue_id, offset] = InFlight(number, Way.PULL, *place, *found, since_ms)
        return held

    def _consumer(self, node: str, group: str, channel_id: str) -> tuple[Member, ConsumerKind] | None:
        """Return a connected member of a group, and the kind of the group."""
        tables = self._context.tables(node)
        member = None if tables is None else tables.clients.connected_consumer(group, channel_id)
        if tables is None or member is None:
            return None
        return member, tables.clients.consumers[group].kind

    # listeners of the gate that concern several parts

    def _on_move(self, node: Node, call: Call, _operation: object, _outcome: Outcome | None) -> None:
        self._context.history.name_moves(node.name, call.channel.channel_id)

    def _on_pop(self, node: Node, call: Call, operation: PopMessage, outcome: Outcome | None) -> None:
        history = self._context.history
        if history.offset_moves.unnamed:
            self._report_starts(node, call)
        self._queues.popped(node, call, operation, outcome)
        self._popped.popped(node, call, operation, outcome)

    def _report_starts(self, node: Node, call: Call) -> None:
        """Name the moves of offsets that a pop has caused, and report the queues in which its group began with it."""
        for (group, (_, topic, queue_id)), move in self._context.history.name_moves(node.name, call.channel.channel_id):
            if move.kind is MoveKind.FIRST:
                self._context.watch.pop_started(node, call, PopStart(group, topic, queue_id, move.after))

    def _on_notification(self, node: Node, call: Call, operation: Notification, outcome: Outcome | None) -> None:
        self._queues.notified(node, call, operation, outcome)
        self._popped.waits(node, call, operation, outcome)

    def _on_send_back(self, node: Node, call: Call, operation: SendMessageBack, outcome: Outcome | None) -> None:
        """Remove a pulled message that its client has sent back, unless the broker refuses it or has deleted it."""
        tables = self._context.tables(node.name)
        if tables is None or isinstance(outcome, EngineError):
            return
        stored = tables.store.log.record_at(operation.offset)
        if stored is None:
            return
        record, channel_id = records.decode(stored), call.channel.channel_id
        key = (node.name, operation.group, record.topic)
        self._queues.sent_back(channel_id, key, record.queue_id, record.queue_offset)
        if outcome is not None and not is_by_proxy(call) and call.__class__ is not GhostCall:
            self._context.history.record.append(
                RecordKind.SENT_BACK,
                self._context.scheduler.now_ms,
                (node.name, record.topic, record.queue_id),
                (operation.group, channel_id),
                record.queue_offset,
            )

    def _on_heartbeat(self, node: Node, call: Call, operation: Heartbeat, _outcome: Outcome | None) -> None:
        clients, channel = self._context.history.clients, call.channel
        if not (operation.through_proxy and clients.has(channel.channel_id)):  # the proxy knows the SDK more exactly
            address = host_port(*channel.remote_address)
            version = sdk_version(operation.version)
            clients.note(channel.channel_id, SeenClient(operation.client_id, operation.language, version, address))
        subscriptions = self._context.history.subscriptions
        for consumer in operation.consumers:
            for each in consumer.subscriptions:
                subscriptions.note(consumer.group, each.topic, LastSubscription(each.sub_string, each.expression_type))
        self._context.watch.heartbeat(node, call, operation)

    def _on_unregistration(
        self, _node: Node, call: Call, operation: UnregisterClient, _outcome: Outcome | None
    ) -> None:
        """Record a client that leaves before its first heartbeat, such as a producer that sends one message."""
        clients, channel = self._context.history.clients, call.channel
        if clients.on(channel.channel_id) is None:
            seen = SeenClient(operation.client_id, "", "", host_port(*channel.remote_address))
            clients.note(channel.channel_id, seen)

    def _on_close(self, _node: Node, call: Call, _operation: ChannelClosed, _outcome: Outcome | None) -> None:
        self._context.history.clients.left(call.channel.channel_id, self._context.scheduler.now_ms)
        self._queues.closed(call.channel.channel_id)
        self._popped.closed(call.channel.channel_id)
