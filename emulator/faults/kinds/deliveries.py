"""Faults of deliveries: messages twice, to two consumers, out of order, with a wrong checksum, or held back."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from ...gate.call import Outcome
from ...operations.base import Operation
from ...operations.consume import PopMessage, PullMessage
from ..client_call import Response
from ..delivered import Entry, delivered, delivering
from ..events import ResponseEvent
from ..fault import Fault, kind
from ..message_facts import of_record
from ..phase import Phase
from ..redelivery import SOON_MS, place_of, redeliver, redeliveries, visible_from_ms

RESPONSE = (Phase.RESPONSE,)
DELIVERIES = (PopMessage, PullMessage)
_CRC_AT = 8
"""Position of the checksum of the body in a stored record, in bytes (MessageDecoder, 5.3.3)."""


class _OfDeliveries(Fault):
    """A fault of deliveries: a pop or a pull without messages is no match of its rule."""

    __slots__ = ()

    def acts_on(self, outcome: Outcome) -> bool:
        """True if the outcome delivers messages."""
        return bool(delivered(outcome))


class _DeliveryFault(_OfDeliveries):
    """A fault that changes the messages of a delivery."""

    __slots__ = ()

    def changed(self, entries: list[Entry], is_matching: Callable[[Entry], bool]) -> list[Entry]:
        """Return the messages to deliver in place of the given ones."""
        raise NotImplementedError

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Change the messages of the delivery."""
        entries = delivered(event.outcome)
        return delivering(event.outcome, self.changed(entries, lambda entry: event.matches(of_record(entry[0]))))


@kind(
    "duplicate_delivery",
    layer="effects",
    phases=RESPONSE,
    operations=DELIVERIES,
    situation="A broker delivers messages at least once: a rebalance or a lost acknowledgement delivers one again.",
)
class DuplicateDelivery(_DeliveryFault):
    """Deliver each matching message twice, in one response."""

    def changed(self, entries: list[Entry], is_matching: Callable[[Entry], bool]) -> list[Entry]:
        """Repeat the matching messages."""
        return [copy for entry in entries for copy in ([entry, entry] if is_matching(entry) else [entry])]


@kind(
    "reorder_delivery",
    layer="effects",
    phases=RESPONSE,
    operations=DELIVERIES,
    situation="Queues, retries and consumer threads order messages differently from their producer.",
)
class ReorderDelivery(_DeliveryFault):
    """Deliver the messages of one response in reverse order. A response with one message is no match of the rule."""

    def acts_on(self, outcome: Outcome) -> bool:
        """True if the outcome delivers several messages."""
        return len(delivered(outcome)) > 1

    def changed(self, entries: list[Entry], is_matching: Callable[[Entry], bool]) -> list[Entry]:
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
    """Deliver each matching message with a wrong checksum of its body."""

    def changed(self, entries: list[Entry], is_matching: Callable[[Entry], bool]) -> list[Entry]:
        """Change the checksum of the matching messages."""
        return [(_with_wrong_checksum(entry[0]), entry[1]) if is_matching(entry) else entry for entry in entries]

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Change the checksums of the records, or of a gRPC response the digests."""
        if event.call.protocol != "grpc":
            return _DeliveryFault.on_response(self, event)
        facts = [of_record(record) for record, _ in delivered(event.outcome)]
        ids = {each.message_id or "" for each in facts if event.matches(each)}
        return event.intercept(partial(_send_with_wrong_digests, ids))


def _send_with_wrong_digests(message_ids: Collection[str], response: Response) -> None:
    response.corrupt_digests(message_ids)
    response.send()


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
class DeliverToSecondConsumer(_OfDeliveries):
    """Deliver each matching message, and deliver it again while the first consumer still works on its copy.

    After a pop, the message becomes visible to the group again at once, also to a consumer that waits for messages.
    After a pull, the emulator sends the message back to the broker with the shortest delay: the group gets it through
    its retry topic 1 s later.
    """

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Make the matching messages visible after the response."""
        for operation in redeliveries(event):
            event.later(SOON_MS, partial(redeliver, event, operation))
        return event.outcome


@kind(
    "skip_delivery",
    layer="effects",
    phases=RESPONSE,
    operations=DELIVERIES,
    situation="A message is stored but not delivered: its consume queue lags, or a client holds it unseen.",
)
class SkipDelivery(_OfDeliveries):
    """Leave each matching message out of deliveries, until the rule is removed.

    The broker regards the message as delivered: its invisible duration after a pop runs, and the offsets of pulls pass
    it. At the removal of the rule, a popped message becomes visible again at once, also to a consumer that waits for
    messages. A pulled one is sent back by the emulator to the broker with the shortest delay: the group gets it through
    its retry topic 1 s later.
    """

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Leave the matching messages out."""
        kept = [entry for entry in delivered(event.outcome) if not event.matches(of_record(entry[0]))]
        scheduler, state = event.firing.scheduler, event.firing.state
        visible_ms = visible_from_ms(event.outcome)
        for key in [each for each, (until_ms, _) in state.items() if until_ms is not None]:
            if state[key][0] <= scheduler.now_ms:
                del state[key]
        for operation in redeliveries(event):
            state[event.node.name, *place_of(operation)] = (
                visible_ms,
                partial(self._redeliver, event, operation, visible_ms),
            )
        return delivering(event.outcome, kept)

    def on_removed(self, state: dict[Any, Any]) -> None:
        """Deliver the messages."""
        for _visible_ms, deliver in list(state.values()):
            deliver()

    @staticmethod
    def _redeliver(event: ResponseEvent, operation: Operation, visible_ms: int | None) -> None:
        # After the invisible duration the broker delivers the message again on its own.
        if visible_ms is None or event.firing.scheduler.now_ms < visible_ms:
            redeliver(event, operation)
