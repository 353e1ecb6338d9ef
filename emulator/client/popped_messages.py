"""Messages of pops and gRPC receives, until clients acknowledge them or change their invisible durations.

The gate calls the methods with each pop, acknowledgement and change of an invisible duration. `outcome` is None for a
pop that waits for messages, and for a request that a rule of faults loses. An acknowledgement counts even if the broker
refuses it, because its client may never repeat it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..faults.client_call import GhostCall
from ..gate.call import Call, Channel, Node, Outcome
from ..history.delivery_record import HOLD_MAX, IN_ORDER
from ..history.record_keys import Queue
from ..history.record_kind import RecordKind
from ..kernel.errors import EngineError
from ..kernel.mypyc_attr import mypyc_attr
from ..operations.base import Done
from ..operations.consume import (
    RENEWAL,
    AckMessage,
    BatchAck,
    BatchAckMessage,
    ChangeInvisibleResult,
    ChangeInvisibleTime,
    Notification,
    PopMessage,
    PopResult,
)
from .client_watch import late_acknowledgement
from .consumption import (
    acknowledged_between,
    acknowledged_offsets,
    holding_topic,
    is_acknowledged,
    popped_by_queue,
    runs_of,
)
from .delivery_context import DeliveryContext
from .ends import oldest_and_newest

Place = tuple[str, str, str, int, int]
"""(node, group, topic, queue id, queue offset)"""
RECEIVE = "ReceiveMessage"
"""Label of the calls by which the proxy filters the messages of a gRPC receive."""
_POPPED, _ACKNOWLEDGED = RecordKind.POPPED, RecordKind.ACKNOWLEDGED
FIRST_SWEEP = 1_000
"""The number of messages at which expired ones, and those of unregistered clients, are removed for the first time."""


@dataclass(slots=True, eq=False)
class Popped:
    """One pop. Its messages share it, and it never changes."""

    number: int
    """Its number among the events of the engine's deliveries."""
    channel_id: str
    since_ms: int
    until_ms: int
    """End of the invisible duration (ms, by the engine's time)."""


@mypyc_attr(allow_interpreted_subclasses=True)
class PoppedMessages:
    """The popped messages in flight of all brokers, by their place."""

    def __init__(self, context: DeliveryContext) -> None:
        self._context = context
        self._record = context.history.record
        self._held: dict[Place, Popped] = {}
        self._receives: dict[str, dict[str, int]] = {}
        """The number of the last receive, by channel id and group."""
        self._sweep_at = FIRST_SWEEP

    # listeners of the gate

    def popped(self, node: Node, call: Call, operation: PopMessage, outcome: Outcome | None) -> None:
        """Record a pop that waits or has returned messages."""
        if outcome is None:
            self.waits(node, call, operation, outcome)
            return
        if not isinstance(outcome, PopResult) or not outcome.messages:
            return
        context, channel_id = self._context, call.channel.channel_id
        context.last_number = number = context.last_number + 1
        name, group, topic = node.name, operation.consumer_group, operation.topic
        until_ms = outcome.pop_time + outcome.invisible_ms
        popped = Popped(number, channel_id, context.scheduler.now_ms, until_ms)
        held = self._held
        held_in, last_digit, queue_id = topic, 0, -1
        first = following = 0
        for message in outcome.messages:
            digit, offset = message.topic_digit, message.queue_offset
            if offset != following or message.queue_id != queue_id or digit != last_digit:
                if following > first:
                    self._record_popped(call, operation, popped, (name, held_in, queue_id), first, following)
                if digit != last_digit:
                    held_in, last_digit = holding_topic(topic, group, digit) if digit else topic, digit
                queue_id, first = message.queue_id, offset
            following = offset + 1
            held[name, group, held_in, queue_id, offset] = popped
        self._record_popped(call, operation, popped, (name, held_in, queue_id), first, following)
        self._received(channel_id, group, number)
        if len(held) > self._sweep_at:
            self._sweep()

    def waits(self, _node: Node, call: Call, operation: PopMessage | Notification, outcome: Outcome | None) -> None:
        """Record a receive that waits for messages. A client that receives again may have given up earlier messages."""
        if outcome is None:
            self._received(call.channel.channel_id, operation.consumer_group, self._context.next_number())

    def acknowledged(self, node: Node, call: Call, operation: AckMessage, outcome: Outcome | None) -> None:
        """Remove the message of an acknowledgement."""
        name, group = node.name, operation.consumer_group
        topic, queue_id, offset = operation.topic, operation.queue_id, operation.offset
        popped = self._held.pop((name, group, topic, queue_id, offset), None)
        if outcome is not None:
            context, link = self._context, (group, call.channel.channel_id)
            if popped is None or popped.until_ms < context.scheduler.now_ms:
                self._acknowledged_late(node, call, operation, outcome)
            kind = _ACKNOWLEDGED
            if isinstance(outcome, EngineError):
                if not context.has_message(name, topic, queue_id, offset):
                    return
                kind = RecordKind.REFUSED_ACKNOWLEDGEMENT
            elif is_by_proxy(call):
                kind = RecordKind.SKIPPED
            self._record.append(kind, context.scheduler.now_ms, (name, topic, queue_id), link, offset)

    def _acknowledged_late(self, node: Node, call: Call, operation: AckMessage, outcome: Outcome) -> None:
        """Report an accepted acknowledgement if the duration in its receipt handle has ended."""
        late = late_acknowledgement(node, call, operation, self._context.scheduler.now_ms)
        if late is not None and isinstance(outcome, Done):
            self._context.watch.late_acknowledgement(late)

    def changed(self, node: Node, call: Call, operation: ChangeInvisibleTime, outcome: Outcome | None) -> None:
        """Remove a message whose invisible duration its client has changed. A renewal by the proxy only extends it."""
        place = node.name, operation.consumer_group, operation.topic, operation.queue_id, operation.offset
        is_renewal = call.label == RENEWAL
        popped = self._held.get(place) if is_renewal else self._held.pop(place, None)
        if not isinstance(outcome, ChangeInvisibleResult) or not outcome.pop_time:
            return  # lost, refused, or without effect because the group has committed a higher offset
        context, record = self._context, self._record
        now_ms, queue = context.scheduler.now_ms, (node.name, operation.topic, operation.queue_id)
        link, hold_ms = (operation.consumer_group, call.channel.channel_id), _hold_ms(outcome.invisible_ms)
        if is_renewal:
            record.renew(now_ms, queue, link, offset=operation.offset, hold_ms=hold_ms)
            if popped is not None:
                until_ms = outcome.pop_time + outcome.invisible_ms
                self._held[place] = Popped(popped.number, popped.channel_id, popped.since_ms, until_ms)
        elif call.__class__ is not GhostCall:  # a rule of faults, not a client, makes ghost calls
            record.append(RecordKind.RETURNED, now_ms, queue, link, operation.offset, 1, hold_ms)

    def acknowledged_many(self, node: Node, call: Call, operation: BatchAckMessage, outcome: Outcome | None) -> None:
        """Remove the messages of a batch acknowledgement.

        A client may send a bit set of any length, so a long one is compared with the messages in flight.
        """
        held = self._held
        for entry in operation.acks or ():
            topic = holding_topic(entry.topic, entry.consumer_group, entry.retry)
            queue = (node.name, entry.consumer_group, topic, entry.queue_id)
            if isinstance(outcome, Done):
                self._record_acknowledged(node, call, entry, topic)
            if len(entry.bits) <= len(held):
                for offset in acknowledged_offsets(entry.start_offset, entry.bits):
                    held.pop((*queue, offset), None)
                continue
            for place in list(held):
                if place[:-1] == queue and is_acknowledged(place[-1], entry.start_offset, entry.bits):
                    del held[place]

    def not_written(self, node: str, channel: Channel, operation: PopMessage, result: PopResult) -> None:
        """Record the messages of a pop that the proxy cannot write to its client."""
        record, now_ms = self._record, self._context.scheduler.now_ms
        link, hold_ms = (operation.consumer_group, channel.channel_id), _hold_ms(result.invisible_ms)
        for (digit, queue_id), offsets in popped_by_queue(result.messages).items():
            queue = (node, holding_topic(operation.topic, operation.consumer_group, digit), queue_id)
            for first, count in runs_of(offsets):
                record.append(RecordKind.NOT_WRITTEN, now_ms, queue, link, first, count, hold_ms)

    def closed(self, channel_id: str) -> None:
        """Forget the receives of a closed channel. Its messages expire, or are acknowledged on another channel."""
        self._receives.pop(channel_id, None)

    # readers

    def unexpired(self, place: Place) -> Popped | None:
        """Return the pop of a message whose invisible duration has not ended, and change nothing.

        The channel of the pop may be closed. None if there is no such pop.
        """
        popped = self._held.get(place)
        return popped if popped is not None and popped.until_ms > self._context.scheduler.now_ms else None

    def __iter__(self) -> Iterator[tuple[Place, Popped]]:
        """Yield the messages whose invisible duration has not ended."""
        self._sweep()
        return iter(list(self._held.items()))

    def ends(self) -> list[tuple[Place, Popped]]:
        """Return of each client and group the oldest and the newest message whose invisible duration has not ended."""
        now_ms = self._context.scheduler.now_ms
        valid = [(place, popped) for place, popped in self._held.items() if popped.until_ms > now_ms]
        return oldest_and_newest(((at[0], at[1], each.channel_id), each.number, (at, each)) for at, each in valid)

    def received_again(self, group: str, popped: Popped) -> bool:
        """True if the client of a pop has received for the group again since then."""
        return self._receives.get(popped.channel_id, {}).get(group, 0) > popped.number

    def _record_acknowledged(self, node: Node, call: Call, entry: BatchAck, topic: str) -> None:
        """Append the messages of an entry that exist to the delivery record. The broker ignores all others."""
        context = self._context
        tables = context.tables(node.name)
        if tables is None:
            return
        queue, link = (node.name, topic, entry.queue_id), (entry.consumer_group, call.channel.channel_id)
        low, high = tables.store.min_offset(topic, entry.queue_id), tables.store.max_offset(topic, entry.queue_id)
        for first, count in runs_of(acknowledged_between(entry.start_offset, entry.bits, low, high)):
            self._record.append(RecordKind.ACKNOWLEDGED, context.scheduler.now_ms, queue, link, first, count)

    def _record_popped(  # noqa: PLR0917 - once per pop; keywords would cost time
        self, call: Call, operation: PopMessage, popped: Popped, queue: Queue, first: int, end: int
    ) -> None:
        """Append popped messages to the delivery record; on a closed connection, as not written."""
        self._record.append(
            _POPPED if call.active else RecordKind.NOT_WRITTEN,
            popped.since_ms,
            queue,
            (operation.consumer_group, popped.channel_id),
            first,
            end - first,
            _hold_ms(popped.until_ms - popped.since_ms),
            IN_ORDER if operation.order else 0,
        )

    def _received(self, channel_id: str, group: str, number: int) -> None:
        try:
            self._receives[channel_id][group] = number
        except KeyError:
            self._receives[channel_id] = {group: number}

    def _sweep(self) -> None:
        """Remove expired messages, and those of clients that are not registered."""
        now_ms = self._context.scheduler.now_ms
        members: dict[tuple[str, str, str], bool] = {}
        """(node, group, channel id): True if the channel is registered in the group."""
        left: dict[Place, Popped] = {}
        for place, popped in self._held.items():
            if popped.until_ms > now_ms:
                member = (place[0], place[1], popped.channel_id)
                if member not in members:
                    members[member] = self._context.is_member(*member)
                if members[member]:
                    left[place] = popped
        self._held = left
        self._sweep_at = max(FIRST_SWEEP, 2 * len(self._held))


def is_by_proxy(call: Call) -> bool:
    """True for a request of the proxy about a message of a receive that it does not pass on to the client."""
    return call.label == RECEIVE


def _hold_ms(invisible_ms: int) -> int:
    return min(max(invisible_ms, 0), HOLD_MAX)
