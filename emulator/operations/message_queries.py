"""Viewing and querying stored messages without consuming them."""

from dataclasses import KW_ONLY, replace

from ..kernel.value_class import value
from .base import Operation, Result


@value
class ViewMessage(Operation):
    """Return the record at a physical offset. Raises SYSTEM_ERROR if there is none."""

    offset: int


@value
class QueryMessage(Operation):
    """Find the newest messages of a topic with a key, stored between two times (ms). Raises QUERY_NOT_FOUND.

    `unique_key`: the key is a unique key, and `defaultQueryMaxNum` replaces `max_num`. At most `maxMsgsNumBatch` are
    returned.
    """

    topic: str
    key: str
    max_num: int
    begin_timestamp: int
    _: KW_ONLY
    end_timestamp: int
    unique_key: bool = False


@value
class MessagesResult(Result):
    """Stored-record bytes, oldest first; the index fields are time and physical offset of the last index entry."""

    records: list[bytes]
    index_last_update_timestamp: int = 0
    index_last_update_physical_offset: int = 0

    def journaled(self) -> Result:
        """Return a copy without the records."""
        return replace(self, records=[])


@value
class QueryConsumeQueue(Operation):
    """Return units of a consume queue, as mqadmin's queryCq shows them. A unit is the entry of one message.

    `index` is the queue offset of the first unit, `count` the maximum number of units.
    """

    topic: str
    queue_id: int
    index: int
    count: int
    _: KW_ONLY
    consumer_group: str | None = None


@value
class QueueUnit:
    """One unit of a consume queue; `eval` is True if the group's filter matches it, or if there is no filter.

    `msg` has the encoded properties of the message, None without a filter.
    """

    physical_offset: int
    physical_size: int
    tags_code: int
    eval: bool
    _: KW_ONLY
    msg: str | None


@value
class QueryConsumeQueueResult(Result):
    """Units from an index on, and the queue's offsets. If there are none, `units` is None and `remark` is set."""

    units: list[QueueUnit] | None
    min_queue_index: int
    max_queue_index: int
    remark: str | None = None
