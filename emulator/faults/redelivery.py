"""Operations that make delivered messages visible to their group again."""

from ..gate.call import Outcome
from ..message import stored_record
from ..message.receipt import Receipt, real_topic
from ..operations.base import Operation
from ..operations.consume import ChangeInvisibleTime, PopMessage, PoppedMessage, PopResult, PullMessage
from ..operations.send import SendMessageBack
from .delivered import delivered
from .events import ResponseEvent
from .message_facts import of_record

SOON_MS = 1
"""The new invisible duration of a popped message that becomes visible at once."""
_SHORTEST_DELAY_LEVEL = 1


def redeliveries(event: ResponseEvent) -> list[Operation]:
    """Return an operation for each delivered message that meets the criteria: it makes the message visible again."""
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
        SOON_MS,
    )


def redeliver(event: ResponseEvent, operation: Operation) -> None:
    """Carry out an operation of `redeliveries`, and deliver a popped message without waiting for the revive service."""
    event.carry_out_for_nobody(operation)
    if isinstance(operation, ChangeInvisibleTime):
        topic, group = operation.topic, operation.consumer_group
        event.firing.cluster.redeliver(event.node, topic, group, operation.queue_id, offset=operation.offset)


def visible_from_ms(outcome: Outcome) -> int | None:
    """Return the end of the invisible duration of a pop (ms since the epoch), None for a pull."""
    return outcome.pop_time + outcome.invisible_ms if isinstance(outcome, PopResult) else None


def place_of(operation: Operation) -> tuple[object, ...]:
    """Return the group and the place of the message that an operation makes visible.

    The place is topic, queue id and queue offset of a popped message, and the log offset of a pulled one.
    """
    if isinstance(operation, ChangeInvisibleTime):
        return operation.consumer_group, operation.topic, operation.queue_id, operation.offset
    assert isinstance(operation, SendMessageBack)
    return operation.group, operation.offset
