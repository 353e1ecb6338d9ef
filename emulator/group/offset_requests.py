"""Requests for offsets: committed offsets, offsets of queues, store times.

Source: ConsumerManageProcessor, AdminBrokerProcessor (5.3.3).
"""

from ..assembly.handlers import handles
from ..config import EmulationConfig
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..operations.base import Done
from ..operations.offsets import (
    AllOffsetsResult,
    CorrectionOffsetResult,
    GetAllConsumerOffset,
    GetEarliestStoreTime,
    GetMaxOffset,
    GetMinOffset,
    OffsetResult,
    QueryConsumerOffset,
    QueryCorrectionOffset,
    SearchOffset,
    TimestampResult,
    UpdateConsumerOffset,
)
from .broker_tables import BrokerTables
from .lmq_offset_table import LmqOffsetTable

_LARGEST = 2**63 - 1
PENDING_RESET_REMARK = "Offset has been previously reset"


class OffsetRequests:
    """Handlers of offset requests on one broker."""

    def __init__(
        self,
        *,
        emulation: EmulationConfig,
        tables: BrokerTables,
    ) -> None:
        self._emulation = emulation
        self._store = tables.store
        self._topics = tables.topics
        self._groups = tables.groups
        self._offsets = tables.offsets

    @handles(QueryConsumerOffset)
    def query(self, call: Call, operation: QueryConsumerOffset) -> OffsetResult:
        """Return the committed offset, or 0 for a queue that still has its first message. Raises QUERY_NOT_FOUND."""
        topic, queue_id = operation.topic, operation.queue_id
        offset = self._offsets.query(operation.consumer_group, topic, queue_id)
        if offset >= 0:
            return OffsetResult(offset)
        if operation.set_zero_if_not_found is False:
            raise EngineError(
                ResponseCode.QUERY_NOT_FOUND, "Not found, do not set to zero, maybe this group boot first"
            )
        first = self._store.min_offset(topic, queue_id)
        young = self._store.max_offset(topic, queue_id) > 0 or self._emulation.empty_queue_offset_zero
        if first <= 0 and young:
            return OffsetResult(0)
        raise EngineError(
            ResponseCode.QUERY_NOT_FOUND, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
        )

    @handles(UpdateConsumerOffset)
    def update(self, call: Call, operation: UpdateConsumerOffset) -> Done:
        """Commit an offset. Raises SUBSCRIPTION_GROUP_NOT_EXIST, TOPIC_NOT_EXIST, INVALID_PARAMETER."""
        group, topic = operation.consumer_group, operation.topic
        if self._groups.find(group) is None:
            raise EngineError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!")
        if self._topics.find(topic) is None:
            raise EngineError(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} not exist!")
        if operation.queue_id is None:
            raise EngineError(ResponseCode.INVALID_PARAMETER, f"QueueId is null, topic is {topic}")
        if operation.commit_offset is None:
            raise EngineError(ResponseCode.INVALID_PARAMETER, f"Offset is null, topic is {topic}")
        if self._offsets.pending_reset(group, topic, operation.queue_id) is not None:
            return Done(PENDING_RESET_REMARK)
        self._offsets.commit(group, topic, operation.queue_id, operation.commit_offset)
        return Done()

    @handles(GetAllConsumerOffset)
    def all(self, call: Call, operation: GetAllConsumerOffset) -> AllOffsetsResult:
        """Return all committed offsets."""
        lmq_offsets = self._offsets.lmq_offsets() if isinstance(self._offsets, LmqOffsetTable) else None
        return AllOffsetsResult(
            {(group, topic): dict(table) for group, topic, table in self._offsets.all()}, lmq_offsets
        )

    @handles(QueryCorrectionOffset)
    def correction(self, call: Call, operation: QueryCorrectionOffset) -> CorrectionOffsetResult:
        """Return the smallest committed offset of all groups in each queue; see QueryCorrectionOffset."""
        for group in operation.filter_groups:
            self._offsets.delete_committed_of_group(group)
        slowest: dict[int, int] = {}
        for _, topic, table in self._offsets.all():
            if topic == operation.topic:
                for queue_id, offset in table.items():
                    if offset >= self._store.min_offset(topic, queue_id):
                        slowest[queue_id] = min(offset, slowest.get(queue_id, offset))
        for queue_id, offset in self._offsets.committed.get((operation.compare_group, operation.topic), {}).items():
            if queue_id not in slowest:
                raise EngineError(
                    ResponseCode.SYSTEM_ERROR,
                    'java.lang.NullPointerException: Cannot invoke "java.lang.Long.longValue()" because the return'
                    ' value of "java.util.Map.get(Object)" is null',
                )
            if slowest[queue_id] > offset:
                slowest[queue_id] = _LARGEST
        return CorrectionOffsetResult(slowest)

    @handles(GetMaxOffset)
    def maximum(self, call: Call, operation: GetMaxOffset) -> OffsetResult:
        """Return the maximum offset of a queue, which its next message will get."""
        return OffsetResult(self._store.max_offset(operation.topic, operation.queue_id))

    @handles(GetMinOffset)
    def minimum(self, call: Call, operation: GetMinOffset) -> OffsetResult:
        """Return the first offset of a queue."""
        return OffsetResult(self._store.min_offset(operation.topic, operation.queue_id))

    @handles(SearchOffset)
    def search(self, call: Call, operation: SearchOffset) -> OffsetResult:
        """Return the offset at a store timestamp, as SearchOffset describes."""
        return OffsetResult(
            self._store.search(operation.topic, operation.queue_id, operation.timestamp, upper=operation.upper)
        )

    @handles(GetEarliestStoreTime)
    def earliest(self, call: Call, operation: GetEarliestStoreTime) -> TimestampResult:
        """Return the store timestamp of the first message of a queue, -1 if there is none."""
        queue = self._store.queue(operation.topic, operation.queue_id)
        if queue is None or queue.min_offset == queue.max_offset:
            return TimestampResult(-1)
        return TimestampResult(self._store.store_timestamp(queue, queue.min_offset))
