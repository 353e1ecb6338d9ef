"""Static topics: maps requests from logical to physical queues, and responses back.

A logical queue keeps its number and its offsets when it moves to another broker. Clients address the broker that has
its last part; that broker forwards requests to the brokers of the other parts.
Source: TopicQueueMappingManager, AdminBrokerProcessor, ConsumerManageProcessor, PullMessageProcessor (5.3.3), each
rewriteRequestForStaticTopic.

Not emulated: the service that deletes parts whose messages were deleted.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..assembly.handlers import handles
from ..gate.call import Call, Channel, Handlers, Outcome
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..operations.base import Done, Operation, Parked, Result
from ..operations.consume import FLAG_COMMIT_OFFSET, FLAG_SUSPEND, PullMessage, PullResult
from ..operations.offsets import (
    GetEarliestStoreTime,
    GetMaxOffset,
    GetMinOffset,
    OffsetResult,
    QueryConsumerOffset,
    SearchOffset,
    UpdateConsumerOffset,
)
from ..operations.send import SendMessage, SendResult
from ..operations.topics import CreateStaticTopic, QueueMapping, QueuePart
from ..pull.pull_service import PullService
from ..topic.topic_table import TopicTable
from .logical_pull import PulledPart
from .queue_mappings import (
    QueueMappings,
    end_is_decided,
    part_at,
    to_logical_offset,
    to_logical_offset_within,
    to_physical_offset,
)

ExecuteAt = Callable[[str, Call, Operation], Result | Parked]
_LARGEST = 2**63 - 1


class LogicalCall:
    """A call whose response is mapped to the logical queue before it is sent."""

    def __init__(self, call: Call, to_logical: Callable[[Any], Result]) -> None:
        self._call = call
        self._to_logical = to_logical
        self.label = call.label
        self.number = call.number

    @property
    def channel(self) -> Channel:
        """The client's channel."""
        return self._call.channel

    @property
    def active(self) -> bool:
        """True if the client still waits for a response."""
        return self._call.active

    def reply(self, outcome: Outcome) -> None:
        """Send the mapped response; errors are sent unchanged."""
        self._call.reply(outcome if isinstance(outcome, EngineError) else self._to_logical(outcome))


class StaticTopics:
    """Handles the requests that name queues, for the static topics of one broker.

    `execute_at` executes a request for physical queues at the broker of a given name.
    """

    def __init__(self, mappings: QueueMappings, topics: TopicTable, pulls: PullService, execute_at: ExecuteAt) -> None:
        self._mappings = mappings
        self._topics = topics
        self._pulls = pulls
        self._execute_at = execute_at

    @handles(CreateStaticTopic)
    def create(self, call: Call, operation: CreateStaticTopic) -> Done:
        """Create or change a topic and its mapping; the topic is changed even if the mapping is rejected.

        Errors: INVALID_PARAMETER, SYSTEM_ERROR.
        """
        self._topics.create(operation.config, None)
        if operation.mapping is not None:
            self._mappings.put(operation.mapping, force=operation.force)
            self._topics.on_change(operation.config.topic_name)
        return Done()

    def handlers(self, plain: Handlers) -> Handlers:
        """Return the handlers with static topics mapped; `plain` handles all other topics."""

        def of_static(
            kind: type[Operation], execute: Callable[[Call, Any, QueueMapping], Result | Parked]
        ) -> Callable[[Call, Any], Result | Parked]:
            known, otherwise = self._mappings.table, plain[kind]

            def handle(call: Call, operation: Any) -> Result | Parked:
                mapping = known.get(operation.topic)
                return otherwise(call, operation) if mapping is None else execute(call, operation, mapping)

            return handle

        mapped: dict[type[Operation], Callable[[Call, Any, QueueMapping], Result | Parked]] = {
            SendMessage: self._send,
            PullMessage: self._pull,
            GetMaxOffset: self._maximum,
            GetMinOffset: self._minimum,
            SearchOffset: self._search,
            GetEarliestStoreTime: self._earliest,
            QueryConsumerOffset: self._query,
            UpdateConsumerOffset: self._update,
        }
        return {**plain, **{kind: of_static(kind, handler) for kind, handler in mapped.items()}}

    def _parts_of_leader(self, mapping: QueueMapping, queue_id: int | None, problem: str = "") -> Sequence[QueuePart]:
        """Return the parts of a logical queue whose last part is on this broker. Errors: NOT_LEADER_FOR_QUEUE."""
        parts = mapping.queues.get(queue_id, ()) if queue_id is not None else ()
        if parts and parts[-1].broker_name == mapping.broker_name:
            return parts
        number = "null" if queue_id is None else queue_id
        what = problem or f"does not exit in request process of current broker {mapping.broker_name}"
        raise EngineError(ResponseCode.NOT_LEADER_FOR_QUEUE, f"{mapping.topic}-{number} {what}")

    # sending

    def _send(self, call: Call, operation: SendMessage, mapping: QueueMapping) -> Result | Parked:
        queue_id = operation.queue_id
        if queue_id < 0:
            queue_id = next(iter(mapping.queues), queue_id)
        last = self._parts_of_leader(mapping, queue_id)[-1]

        def to_logical(result: SendResult) -> SendResult:
            return replace(result, queue_id=queue_id, queue_offset=to_logical_offset_within(last, result.queue_offset))

        there = replace(operation, queue_id=last.queue_id)
        result = self._execute_at(mapping.broker_name, LogicalCall(call, to_logical), there)
        return to_logical(result) if isinstance(result, SendResult) else result

    # reading

    def _pull(self, call: Call, operation: PullMessage, mapping: QueueMapping) -> Result | Parked:
        """Read the part that contains the offset.

        A pull that finds no messages may wait only if that part is on this broker.
        """
        problem = f"cannot find mapping item in request process of current broker {mapping.broker_name}"
        parts = self._parts_of_leader(mapping, operation.queue_id, problem)
        part = part_at(parts, operation.queue_offset)
        if part is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"java.lang.NullPointerException: {_null('mappingItem')}")
        here = part.broker_name == mapping.broker_name
        most = operation.max_msg_nums
        if end_is_decided(part):
            most = min(part.end_offset - part.start_offset, most)
        there = replace(
            operation,
            queue_id=part.queue_id,
            queue_offset=to_physical_offset(part, operation.queue_offset),
            max_msg_nums=most,
            sys_flag=operation.sys_flag & ~(FLAG_SUSPEND if here else FLAG_SUSPEND | FLAG_COMMIT_OFFSET),
        )
        pulled = PulledPart(parts, part, there.queue_offset)
        found = self._execute_at(part.broker_name, call, there)
        assert isinstance(found, PullResult), "a pull that may not wait has a result"
        result = replace(pulled.to_logical(found), forwarded=not here)
        if here and result.code is ResponseCode.PULL_NOT_FOUND and operation.sys_flag & FLAG_SUSPEND:
            return self._pulls.wait(LogicalCall(call, pulled.to_logical), there)
        return result

    # offsets

    def _maximum(self, call: Call, operation: GetMaxOffset, mapping: QueueMapping) -> Result:
        """Return the maximum offset of the last part whose start is decided.

        Upstream queries that part with the queue id of the very last part, and so does this method.
        """
        parts = self._parts_of_leader(mapping, operation.queue_id)
        last = part_at(parts, _LARGEST)
        if last is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, _null("maxItem"))
        there = GetMaxOffset(operation.topic, parts[-1].queue_id)
        return OffsetResult(to_logical_offset(last, self._offset(last, call, there)))

    def _minimum(self, call: Call, operation: GetMinOffset, mapping: QueueMapping) -> Result:
        problem = f"is not leader in broker {mapping.broker_name}, request code 31"
        first = part_at(self._parts_of_leader(mapping, operation.queue_id, problem), 0)
        if first is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, _null("mappingItem"))
        there = GetMinOffset(operation.topic, first.queue_id)
        return OffsetResult(to_logical_offset_within(first, self._offset(first, call, there)))

    def _search(self, call: Call, operation: SearchOffset, mapping: QueueMapping) -> Result:
        """Search the parts in order: the first offset above 0 on this broker counts.

        Without one, the last part that has an offset counts, as in upstream.
        """
        offset = -1
        for part in self._parts_of_leader(mapping, operation.queue_id):
            if part.logic_offset < 0:
                continue
            found = self._offset(part, call, replace(operation, queue_id=part.queue_id))
            if part.broker_name == mapping.broker_name:
                offset = found
                if found > 0:
                    return OffsetResult(to_logical_offset(part, found))
            elif found >= 0 and not part.start_offset < part.end_offset <= found:
                offset = to_logical_offset(part, found)
        return OffsetResult(offset)

    def _earliest(self, call: Call, operation: GetEarliestStoreTime, mapping: QueueMapping) -> Result | Parked:
        """Query the broker of the first part. The request has the number of the logical queue, as upstream's."""
        first = part_at(self._parts_of_leader(mapping, operation.queue_id), 0)
        if first is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, _null("mappingItem"))
        return self._execute_at(first.broker_name, call, operation)

    def _offset(self, part: QueuePart, call: Call, operation: Operation) -> int:
        found = self._execute_at(part.broker_name, call, operation)
        assert isinstance(found, OffsetResult)
        return found.offset

    def _query(self, call: Call, operation: QueryConsumerOffset, mapping: QueueMapping) -> Result | Parked:
        """Return the offset committed in the last part, else in the one before it, and so on."""
        parts = self._parts_of_leader(mapping, operation.queue_id)
        if len(parts) == 1 and parts[0].logic_offset == 0:
            return self._execute_at(mapping.broker_name, call, replace(operation, queue_id=parts[0].queue_id))
        for part in reversed(parts):
            there = replace(operation, queue_id=part.queue_id, set_zero_if_not_found=False)
            try:
                return OffsetResult(to_logical_offset(part, self._offset(part, call, there)))
            except EngineError as refusal:
                if refusal.code is not ResponseCode.QUERY_NOT_FOUND:
                    raise
        raise EngineError(ResponseCode.QUERY_NOT_FOUND, "Not found, maybe this group consumer boot first")

    def _update(self, call: Call, operation: UpdateConsumerOffset, mapping: QueueMapping) -> Result | Parked:
        parts = self._parts_of_leader(mapping, operation.queue_id)
        if operation.commit_offset is None:
            what = 'Cannot invoke "java.lang.Long.longValue()" because "globalOffset" is null'
            raise EngineError(ResponseCode.SYSTEM_ERROR, what)
        part = part_at(parts, operation.commit_offset)
        if part is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, _null("mappingItem", "getQueueId"))
        there = replace(
            operation, queue_id=part.queue_id, commit_offset=to_physical_offset(part, operation.commit_offset)
        )
        done = self._execute_at(part.broker_name, call, there)
        return done if part.broker_name == mapping.broker_name else Done("")


def _null(variable: str, getter: str = "getBname") -> str:
    return (
        'Cannot invoke "org.apache.rocketmq.remoting.protocol.statictopic.LogicQueueMappingItem.'
        f'{getter}()" because "{variable}" is null'
    )
