"""Positions: what a group has consumed, where a queue begins and ends, what was stored when."""

from ..kernel.value_class import value
from .base import Operation, Result


@value
class QueryConsumerOffset(Operation):
    """The committed offset of a group. Errors: QUERY_NOT_FOUND. Source: QueryConsumerOffsetRequestHeader."""

    consumer_group: str
    topic: str
    queue_id: int
    set_zero_if_not_found: bool | None = None


@value
class UpdateConsumerOffset(Operation):
    """Commit an offset; going back is allowed. `queue_id`, `commit_offset` None were missing in the request."""

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
    """The next offset to be assigned; 0 for unknown topics and queues."""

    topic: str
    queue_id: int


@value
class GetMinOffset(Operation):
    """The first offset still stored; 0 for unknown topics and queues."""

    topic: str
    queue_id: int


@value
class SearchOffset(Operation):
    """The offset at a store timestamp (ms). `upper` False: first at or after it; True: last at or before it."""

    topic: str
    queue_id: int
    timestamp: int
    upper: bool = False


@value
class GetEarliestStoreTime(Operation):
    """Store timestamp of the first message of a queue, -1 when there is none."""

    topic: str
    queue_id: int


@value
class TimestampResult(Result):
    """Milliseconds since the epoch, -1 for none."""

    timestamp: int


@value
class ResetOffset(Operation):
    """Move a group, on the server side or by its consumers, as the broker is configured.

    `queue_id` -1 = all read queues; `offset` None = by `timestamp` (< 0 = the end). Where consumers do it, `force` lets
    them go on as well as back, and `as_list` tells them as C++ reads it. Source: ResetOffsetRequestHeader.
    """

    group: str
    topic: str
    timestamp: int
    queue_id: int = -1
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
    """The committed offsets of all groups."""


@value
class AllOffsetsResult(Result):
    """Offsets by queue id, by (group, topic). `light`: those of groups with names of light queues, None without any."""

    offsets: dict[tuple[str, str], dict[int, int]]
    light: dict[tuple[str, str], int] | None = None


@value
class QueryCorrectionOffset(Operation):
    """The smallest offset that any group has in each queue of a topic.

    Where `compare_group` is behind that it is the largest number, 2**63 - 1, instead. The offsets of `filter_groups`
    are forgotten first, as upstream does it. Errors: SYSTEM_ERROR (nobody has an offset in a queue that the compared
    group has one in). Source: QueryCorrectionOffsetHeader (5.3.3).
    """

    topic: str
    compare_group: str
    filter_groups: list[str]


@value
class CorrectionOffsetResult(Result):
    """Offsets by queue id."""

    offsets: dict[int, int]
