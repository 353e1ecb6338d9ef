"""The messages of a delivery: read them from the outcome of a pop or a pull, and replace them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..gate.call import Outcome
from ..kernel.response_code import ResponseCode
from ..message import stored_record
from ..operations.consume import PopResult, PullResult, PullStatus

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
    """Return the outcome with other messages; without messages, as if the broker had found none for the consumer."""
    if isinstance(outcome, PopResult):
        changed = _popping(outcome, entries)
        return changed if entries else replace(changed, code=ResponseCode.POLLING_TIMEOUT, remark=None)
    if isinstance(outcome, PullResult):
        offsets = [offset for _record, offset in entries] if outcome.offsets else outcome.offsets
        changed_pull = replace(outcome, records=[record for record, _offset in entries], offsets=offsets)
        if entries:
            return changed_pull
        code, status = ResponseCode.PULL_RETRY_IMMEDIATELY, PullStatus.NO_MATCHED_MESSAGE
        return replace(changed_pull, code=code, status=status)
    return outcome


def undelivered(outcome: Outcome) -> Outcome:
    """Return the outcome for the journal if the client does not get the messages of a delivery."""
    return delivering(outcome, []) if delivered(outcome) else outcome


def _popping(outcome: PopResult, entries: Sequence[Entry]) -> PopResult:
    """Return a pop with other messages. Consumers find the offset of a message by its position among those listed."""
    listed: dict[str, list[str]] = {}
    for _record, popped in entries:
        listed.setdefault(f"{popped.topic_digit} {popped.queue_id}", []).append(str(popped.queue_offset))
    starts = outcome.start_offset_info.split(";")
    return replace(
        outcome,
        messages=[replace(popped, record=record) for record, popped in entries],
        start_offset_info=";".join(entry for entry in starts if entry.rpartition(" ")[0] in listed),
        msg_offset_info=";".join(f"{queue} {','.join(offsets)}" for queue, offsets in listed.items()),
    )
