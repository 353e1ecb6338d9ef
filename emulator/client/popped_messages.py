"""Messages of pops and gRPC receives that clients have not completed.

The gate calls the methods with each pop, acknowledgement and change of an invisible duration. An acknowledgement counts
even if the broker refuses it, because its client may never repeat it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..gate.gate import Call, Node, Outcome
from ..operations.base import Done
from ..operations.consume import (
    RENEWAL,
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleResult,
    ChangeInvisibleTime,
    Notification,
    PopMessage,
    PopResult,
)
from .client_watch import late_acknowledgement
from .consumption import acknowledged_offsets, holding_topic, is_acknowledged
from .delivery_context import DeliveryContext

Place = tuple[str, str, str, int, int]
"""(node, group, topic, queue id, queue offset)"""
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


class PoppedMessages:
    """The popped messages in flight of all brokers, by their place."""

    def __init__(self, context: DeliveryContext) -> None:
        self._context = context
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
        for message in outcome.messages:
            digit = message.topic_digit
            held_in = holding_topic(topic, group, digit) if digit else topic
            held[name, group, held_in, message.queue_id, message.queue_offset] = popped
        self._received(channel_id, group, number)
        if len(held) > self._sweep_at:
            self._sweep()

    def waits(self, _node: Node, call: Call, operation: PopMessage | Notification, outcome: Outcome | None) -> None:
        """Record a receive that waits for messages. A client that receives again may have given up earlier messages."""
        if outcome is None:
            self._received(call.channel.channel_id, operation.consumer_group, self._context.next_number())

    def acknowledged(
        self, node: Node, call: Call, operation: AckMessage | ChangeInvisibleTime, outcome: Outcome | None
    ) -> None:
        """Remove the message of an acknowledgement."""
        place = node.name, operation.consumer_group, operation.topic, operation.queue_id, operation.offset
        popped = self._held.pop(place, None)
        if popped is None or popped.until_ms < self._context.scheduler.now_ms:
            self._acknowledged_late(node, call, operation, outcome)

    def _acknowledged_late(
        self, node: Node, call: Call, operation: AckMessage | ChangeInvisibleTime, outcome: Outcome | None
    ) -> None:
        """Report an accepted acknowledgement if the duration in its receipt handle has ended."""
        if isinstance(operation, AckMessage) and isinstance(outcome, Done):
            late = late_acknowledgement(node, call, operation, self._context.scheduler.now_ms)
            if late is not None:
                self._context.watch.late_acknowledgement(late)

    def changed(self, node: Node, call: Call, operation: ChangeInvisibleTime, outcome: Outcome | None) -> None:
        """Remove a message whose invisible duration its client has changed. A renewal by the proxy only extends it."""
        if call.label != RENEWAL:
            self.acknowledged(node, call, operation, outcome)
            return
        place = node.name, operation.consumer_group, operation.topic, operation.queue_id, operation.offset
        popped = self._held.get(place)
        if popped is not None and isinstance(outcome, ChangeInvisibleResult):
            until_ms = outcome.pop_time + outcome.invisible_ms
            self._held[place] = Popped(popped.number, popped.channel_id, popped.since_ms, until_ms)

    def acknowledged_many(self, node: Node, _call: Call, operation: BatchAckMessage, _outcome: Outcome | None) -> None:
        """Remove the messages of a batch acknowledgement.

        A client may send a bit set of any length, so a long one is compared with the messages in flight.
        """
        held = self._held
        for entry in operation.acks or ():
            topic = holding_topic(entry.topic, entry.consumer_group, entry.retry)
            queue = (node.name, entry.consumer_group, topic, entry.queue_id)
            if len(entry.bits) <= len(held):
                for offset in acknowledged_offsets(entry.start_offset, entry.bits):
                    held.pop((*queue, offset), None)
                continue
            for place in list(held):
                if place[:-1] == queue and is_acknowledged(place[-1], entry.start_offset, entry.bits):
                    del held[place]

    def closed(self, channel_id: str) -> None:
        """Forget the receives of a closed channel. Its messages expire, or are acknowledged on another channel."""
        self._receives.pop(channel_id, None)

    # readers

    def __iter__(self) -> Iterator[tuple[Place, Popped]]:
        """Yield the messages whose invisible duration has not ended."""
        self._sweep()
        return iter(list(self._held.items()))

    def received_again(self, group: str, popped: Popped) -> bool:
        """True if the client of a pop has received for the group again since then."""
        return self._receives.get(popped.channel_id, {}).get(group, 0) > popped.number

    def _received(self, channel_id: str, group: str, number: int) -> None:
        try:
            self._receives[channel_id][group] = number
        except KeyError:
            self._receives[channel_id] = {group: number}

    def _sweep(self) -> None:
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
