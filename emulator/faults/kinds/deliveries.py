"""Faults of deliveries: messages twice, to two consumers, out of order, with a wrong checksum, or held back."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...gate.gate import Outcome
from ...message import stored_record
from ...message.receipt import Receipt, real_topic
from ...operations.base import Operation
from ...operations.consume import ChangeInvisibleTime, PopMessage, PoppedMessage, PopResult, PullMessage, PullResult
from ...operations.send import SendMessageBack
from ..events import ResponseEvent
from ..fault import Fault, kind
from ..phase import Phase
from ..subject import of_record

RESPONSE = (Phase.RESPONSE,)
DELIVERIES = (PopMessage, PullMessage)
_CRC_AT = 8
"""Position of the checksum of the body in a stored record, in bytes (MessageDecoder, 5.3.3)."""
_SOON_MS = 1
_SHORTEST_DELAY_LEVEL = 1

Entry = tuple[bytes, Any]
"""A delivered record, and the PoppedMessage or the queue offset that belongs to it."""


def delivered(outcome: Outcome) -> list[Entry]:
    """Return the messages that a pop or a pull delivers."""
    if isinstance(outcome, PopResult):
        return [(each.record, each) for each in outcome.messages]
    if isinstance(outcome, PullResult):
        offsets = outcome.offsets or [stored_record.decode(record).queue_offset for record in outcome.records]
        return list(zip(outcome.records, offsets, strict=True))
    return []


def delivering(outcome: Outcome, entries: Sequence[Entry]) -> Outcome:
    """Return the outcome with other messages."""
    if isinstance(outcome, PopResult):
        return replace(outcome, messages=[replace(popped, record=record) for record, popped in entries])
    if isinstance(outcome, PullResult):
        offsets = [offset for _record, offset in entries] if outcome.offsets else outcome.offsets
        return replace(outcome, records=[record for record, _offset in entries], offsets=offsets)
    return outcome


class _DeliveryFault(Fault):
    """A fault that changes the messages of a delivery."""

    __slots__ = ()

    def changed(self, entries: list[Entry], is_meant: Callable[[Entry], bool]) -> list[Entry]:
        """Return the messages to deliver in place of the given ones."""
        raise NotImplementedError

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Change the messages of the delivery."""
        entries = delivered(event.outcome)
        if not entries:
            return event.outcome
        return delivering(event.outcome, self.changed(entries, lambda entry: event.matches(of_record(entry[0]))))


@kind(
    "duplicate_delivery",
    layer="effects",
    phases=RESPONSE,
    operations=DELIVERIES,
    situation="A broker delivers messages at least once: a rebalance or a lost acknowledgement delivers one again.",
)
class DuplicateDelivery(_DeliveryFault):
    """Deliver each message that the criteria mean twice, in one response."""

    def changed(self, entries: list[Entry], is_meant: Callable[[Entry], bool]) -> list[Entry]:
        """Repeat the meant messages."""
        return [copy for entry in entries for copy in ([entry, entry] if is_meant(entry) else [entry])]


@kind(
    "reorder_delivery",
    layer="effects",
    phases=RESPONSE,
    operations=DELIVERIES,
    situation="Queues, retries and consumer threads order messages differently from their producer.",
)
class ReorderDelivery(_DeliveryFault):
    """Deliver the messages of one response in reverse order. A response with one message stays as it is."""

    def changed(self, entries: list[Entry], is_meant: Callable[[Entry], bool]) -> list[Entry]:
        """Reverse the messages."""
        return entries[::-1]


@kind(
    "corrupt_checksum",
    layer="effects",
    phases=RESPONSE,
    operations=DELIVERIES,
    situation="A faulty disk or memory changes the body of a stored message; consumers compare its checksum.",
)
class CorruptChecksum(_DeliveryFault):
    """Deliver each message that the criteria mean with a wrong checksum of its body."""

    def changed(self, entries: list[Entry], is_meant: Callable[[Entry], bool]) -> list[Entry]:
        """Change the checksum of the meant messages."""
        return [(_with_wrong_checksum(entry[0]), entry[1]) if is_meant(entry) else entry for entry in entries]


def _with_wrong_checksum(record: bytes) -> bytes:
    changed = bytearray(record)
    changed[_CRC_AT + 3] ^= 1
    return bytes(changed)


@kind(
    "deliver_to_second_consumer",
    layer="effects",
    phases=RESPONSE,
    operations=DELIVERIES,
    situation="A consumer is slower than the invisible duration, or a rebalance moves a queue while it works.",
)
class DeliverToSecondConsumer(Fault):
    """Deliver each message that the criteria mean, and make it visible to the group again at once.

    The first consumer still works on its copy. Of a pull, the message is sent back with the shortest delay.
    """

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Make the meant messages visible after the response."""
        for operation in redeliveries(event):
            event.firing.later(_SOON_MS, _carry_out_for_nobody(event, operation))
        return event.outcome


@kind(
    "skip_delivery",
    layer="effects",
    phases=RESPONSE,
    operations=DELIVERIES,
    situation="A message is stored but not delivered: its consume queue lags, or a client holds it unseen.",
)
class SkipDelivery(Fault):
    """Leave each message that the criteria mean out of deliveries, until the rule is removed.

    Then the group gets it through its retry topic.
    """

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Leave the meant messages out."""
        entries = delivered(event.outcome)
        kept = [entry for entry in entries if not event.matches(of_record(entry[0]))]
        if len(kept) == len(entries):
            return event.outcome
        for operation in redeliveries(event):
            key = (operation.__class__, *_place(operation))
            event.firing.state[key] = _carry_out_for_nobody(event, operation)
        return without_places(delivering(event.outcome, kept))

    def on_removed(self, state: dict[Any, Any]) -> None:
        """Deliver the messages."""
        for redeliver in state.values():
            redeliver()


def redeliveries(event: ResponseEvent) -> list[Operation]:
    """Return operations that make the meant messages of a delivery visible to their group again."""
    operation, outcome = event.operation, event.outcome
    meant = [entry for entry in delivered(outcome) if event.matches(of_record(entry[0]))]
    if isinstance(operation, PopMessage) and isinstance(outcome, PopResult):
        return [_visible_soon(operation, outcome, popped, event.node.name) for _record, popped in meant]
    if isinstance(operation, PullMessage):
        decoded = [stored_record.decode(record) for record, _offset in meant]
        return [
            SendMessageBack(operation.consumer_group, each.physical_offset, _SHORTEST_DELAY_LEVEL) for each in decoded
        ]
    return []


def _visible_soon(pop: PopMessage, outcome: PopResult, popped: PoppedMessage, broker: str) -> ChangeInvisibleTime:
    handle = Receipt(
        popped.start_offset,
        outcome.pop_time,
        outcome.invisible_ms,
        outcome.revive_qid,
        str(popped.topic_digit),
        broker,
        popped.queue_id,
        popped.queue_offset,
    )
    return ChangeInvisibleTime(
        pop.consumer_group,
        real_topic(pop.topic, pop.consumer_group, popped.topic_digit),
        popped.queue_id,
        handle.text(),
        popped.queue_offset,
        _SOON_MS,
    )


def without_places(outcome: Outcome) -> Outcome:
    """Remove the positions of messages that are no longer in a pop from its `msg_offset_info`."""
    if not isinstance(outcome, PopResult):
        return outcome
    kept = {(str(each.topic_digit), str(each.queue_id), str(each.queue_offset)) for each in outcome.messages}
    entries = []
    for entry in outcome.msg_offset_info.split(";") if outcome.msg_offset_info else ():
        digit, queue_id, offsets = entry.split(" ")
        left = [offset for offset in offsets.split(",") if (digit, queue_id, offset) in kept]
        if left:
            entries.append(f"{digit} {queue_id} {','.join(left)}")
    return replace(outcome, msg_offset_info=";".join(entries))


def _place(operation: Operation) -> tuple[object, ...]:
    if isinstance(operation, ChangeInvisibleTime):
        return operation.topic, operation.queue_id, operation.offset
    return (getattr(operation, "offset", None),)


def _carry_out_for_nobody(event: ResponseEvent, operation: Operation) -> Callable[[], None]:
    carrier, node, ghost = event.firing.carrier, event.node, event.call.ghost()
    return lambda: carrier.carry_out(node, ghost, operation)
