"""Maps the result of a pull from one part of a logical queue to the offsets of the whole queue.

A part is a range of offsets of a physical queue. A logical queue gets a new one when it moves to another broker.
Source: PullMessageProcessor.rewriteResponseForStaticTopic (5.3.3).
"""

from collections.abc import Sequence
from dataclasses import replace

from ..kernel.response_code import ResponseCode
from ..operations.consume import PullResult
from ..operations.topics import QueuePart
from .queue_mappings import end_is_decided, logical_end, part_after, part_at, to_logical_offset


class PulledPart:
    """A part of a logical queue (`parts`, oldest first) that is pulled from an offset of its physical queue."""

    def __init__(self, parts: Sequence[QueuePart], part: QueuePart, offset: int) -> None:
        self._parts = parts
        self._part = part
        self._offset = offset

    def to_logical(self, found: PullResult) -> PullResult:
        """Return the response for the logical queue; at the end of a part the next offset is in the next part."""
        part, next_offset = self._part, found.next_begin_offset
        low, high, code = found.min_offset, found.max_offset, found.code
        if code is not ResponseCode.SUCCESS:
            code, next_offset, moved_to = self._after_empty_pull(found)
            if moved_to is not None:
                part = moved_to
                next_offset = low = high = part.start_offset
        if end_is_decided(part):
            next_offset = min(next_offset, part.end_offset)
        return replace(
            found,
            code=code,
            next_begin_offset=to_logical_offset(part, next_offset),
            min_offset=to_logical_offset(part, max(part.start_offset, low)),
            max_offset=max(to_logical_offset(part, high), logical_end(self._parts[-1])),
            offset_delta=part.logic_offset - part.start_offset,
            read_part=(self._part.broker_name, self._part.queue_id),
        )

    def _after_empty_pull(self, found: PullResult) -> tuple[ResponseCode, int, QueuePart | None]:
        """Return the code, the next offset in the part, and the next part if the pull must continue there."""
        offset, low, high = self._offset, found.min_offset, found.max_offset
        code, next_offset = found.code, found.next_begin_offset
        first = part_at(self._parts, 0)
        is_last = self._part.generation == self._parts[-1].generation
        is_first = first is not None and self._part.generation == first.generation
        if is_last:
            if offset > high and code is ResponseCode.PULL_OFFSET_MOVED:
                next_offset = high
            elif offset < low:
                code, next_offset = ResponseCode.PULL_RETRY_IMMEDIATELY, low
        if is_last and not is_first:  # the rules below: all parts but the last, and the first in any case
            return code, next_offset, None
        if offset < low:
            return (ResponseCode.PULL_OFFSET_MOVED if is_first else ResponseCode.PULL_RETRY_IMMEDIATELY), low, None
        if offset < high:
            return found.code, next_offset, None
        after = part_after(self._parts, self._part)
        if after is None:
            return ResponseCode.PULL_NOT_FOUND, next_offset, None
        return ResponseCode.PULL_RETRY_IMMEDIATELY, next_offset, after
