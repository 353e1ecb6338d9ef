"""Offsets: committed offsets of groups, minimum and maximum offsets of queues, offsets by store time."""

from dataclasses import KW_ONLY

from ..kernel.value_class import value
from .base import Operation, Result


@value
class QueryConsumerOffset(Operation):
    """Return the committed offset of a group. Raises QUERY_NOT_FOUND. Source: QueryConsumerOffsetRequestHeader.

    If the group has no committed offset, 0 is returned for a queue that still has its first message, unless
    `set_zero_if_not_found` is False.
    """

    consumer_group: str
    topic: str
    queue_id: int
    set_zero_if_not_found: bool | None = None


@value
class UpdateConsumerOffset(Operation):
    """Commit an offset; a lower one than before is allowed. `queue_id`, `commit_offset` None: absent in the request."""

    consumer_group: str
    topic: str
    queue_id: int | None
    commit_offset: int | None


@value
class OffsetResult(Result):
    """One offset."""

    offset: int
    remark: str | None = None


@value
class GetMaxOffset(Operation):
    """Return the next offset to be assigned; 0 for unknown topics and queues."""

    topic: str
    queue_id: int


@value
class GetMinOffset(Operation):
    """Return the offset of the first stored message; 0 for unknown topics and queues."""

    topic: str
    queue_id: int


@value
class SearchOffset(Operation):
    """Find the offset at a store timestamp (ms). `upper` False: first at or after it; True: last at or before it."""

    topic: str
    queue_id: int
    timestamp: int
    upper: bool = False


@value
class GetEarliestStoreTime(Operation):
    """Return the store timestamp of the first message of a queue, -1 if there is none."""

    topic: str
    queue_id: int


@value
class TimestampResult(Result):
    """Milliseconds since the epoch, -1 for none."""

    timestamp: int


@value
class ResetOffset(Operation):
    """Reset a group's offsets, on the broker or by its consumers, as the broker is configured.

    `queue_id` -1 = all read queues. `offset` None or -1, or without a `queue_id` = the offset of `timestamp` (ms).
    If the broker resets, a `timestamp` below 0 is the end of the queue; if consumers reset themselves, only -1 is.
    `force` then also allows a reset forward, and `as_list` encodes the offsets for C++ clients.
    Source: ResetOffsetRequestHeader.
    """

    group: str
    topic: str
    timestamp: int
    queue_id: int = -1
    _: KW_ONLY
    offset: int | None = None
    force: bool = True
    as_list: bool = False


@value
class ResetOffsetResult(Result):
    """The new offset of each queue id."""

    topic: str
    broker_name: str
    offsets: dict[int, int]


@value
class GetAllConsumerOffset(Operation):
    """Return the committed offsets of all groups."""


@value
class AllOffsetsResult(Result):
    """Offsets by (group, topic) and queue id. `lmq_offsets`: those of groups with LMQ names, None if there are none."""

    offsets: dict[tuple[str, str], dict[int, int]]
    lmq_offsets: dict[tuple[str, str], int] | None = None


@value
class QueryCorrectionOffset(Operation):
    """Return the smallest committed offset of all groups in each queue of a topic.

    Offsets below the queue's minimum offset do not count. If the offset of `compare_group` is below the smallest one
    that counts, the result for that queue is 2**63 - 1. Raises SYSTEM_ERROR if `compare_group` has an offset in a queue
    in which no offset counts. The broker first deletes the committed offsets of `filter_groups`, as upstream.
    Source: QueryCorrectionOffsetHeader (5.3.3).
    """

    topic: str
    compare_group: str
    filter_groups: list[str]


@value
class CorrectionOffsetResult(Result):
    """Offsets by queue id."""

    offsets: dict[int, int]
