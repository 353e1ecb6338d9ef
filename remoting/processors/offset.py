"""Offsets of queues and of groups.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: ConsumerManageProcessor, AdminBrokerProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.clients import MessageQueue
from rocketmq_testkit.emulator.operations.groups import CloneGroupOffset
from rocketmq_testkit.emulator.operations.offsets import (
    AllOffsetsResult,
    CorrectionOffsetResult,
    GetAllConsumerOffset,
    GetEarliestStoreTime,
    GetMaxOffset,
    GetMinOffset,
    OffsetResult,
    QueryConsumerOffset,
    QueryCorrectionOffset,
    ResetOffset,
    ResetOffsetResult,
    SearchOffset,
    TimestampResult,
    UpdateConsumerOffset,
)
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

from ..bodies.writing import dumps, number_map, queue_map
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import NoHeader, RequestTable, Role
from ..request.required_rights import no_rights, on_fields, to_consume
from ..wire.ext_fields import Header, Int, Long, header
from ..wire.response_frame import NOT_SET

TABLE = RequestTable(Role.BROKER)


@header
class QueryConsumerOffsetRequestHeader(Header):
    """Request for a group's committed offset. Errors: QUERY_NOT_FOUND.

    A group without one gets 0 in a queue that still has its first message, unless `set_zero_if_not_found` is false.
    """

    consumer_group: str = ""
    topic: str = ""
    queue_id: Int
    set_zero_if_not_found: bool | None = None


@header
class UpdateConsumerOffsetRequestHeader(Header):
    """Request to commit an offset.

    Errors: SUBSCRIPTION_GROUP_NOT_EXIST, TOPIC_NOT_EXIST, INVALID_PARAMETER (a number is missing).
    """

    consumer_group: str
    topic: str
    queue_id: Int | None = None
    commit_offset: Long | None = None


@header
class SearchOffsetRequestHeader(Header):
    """Request for the offset at a store timestamp. `boundary_type` is LOWER (also when absent or unknown) or UPPER."""

    topic: str
    queue_id: Int
    timestamp: Long
    boundary_type: str = "LOWER"


@header
class GetMaxOffsetRequestHeader(Header):
    """Request for a queue's maximum offset, the next one to be assigned. Unknown topics and queues have 0."""

    topic: str
    queue_id: Int


@header
class GetMinOffsetRequestHeader(Header):
    """Request for a queue's minimum offset, the first one still stored. Unknown topics and queues have 0."""

    topic: str
    queue_id: Int


@header
class GetEarliestMsgStoretimeRequestHeader(Header):
    """Request for the store timestamp of a queue's first message, -1 if there is none."""

    topic: str
    queue_id: Int


@header
class ResetOffsetRequestHeader(Header):
    """Request to reset a group's offsets, in all queues by default. `timestamp` is in ms since the epoch.

    `is_force` allows consumers that reset themselves to skip messages.
    Errors: TOPIC_NOT_EXIST, SUBSCRIPTION_GROUP_NOT_EXIST, SYSTEM_ERROR (offset outside the queue, slave). Those with
    server-side reset off: TOPIC_NOT_EXIST, CONSUMER_NOT_ONLINE, SYSTEM_ERROR (no committed offset, a client's version
    is too old).
    """

    group: str
    topic: str
    queue_id: Int = -1
    offset: Long | None = None
    timestamp: Long = 0
    is_force: bool = False


@header
class CloneGroupOffsetRequestHeader(Header):
    """Request to copy a group's offsets to another group. Unknown groups are no error.

    `offline` copies them even if the source group is connected and does not subscribe to the topic.
    """

    src_group: str = ""
    dest_group: str = ""
    topic: str = ""
    offline: bool = False


@header
class QueryCorrectionOffsetHeader(Header):
    """Request for the lowest committed offset of all groups in each queue of a topic.

    `filter_groups`, comma separated, first lose their offsets in all topics. `compare_group` is a group whose lower
    offset makes the result of a queue 2**63 - 1. Errors: SYSTEM_ERROR (`compare_group` has an offset in a queue in
    which no group has one that still exists).
    """

    filter_groups: str = ""
    compare_group: str
    topic: str


def _offset(call: RemotingCall, result: OffsetResult) -> bytes:
    return call.response(result.remark, {"offset": str(result.offset)})


def _min_offset(call: RemotingCall, result: OffsetResult) -> bytes:
    return call.response(result.remark or "", {"offset": str(result.offset)})


def _timestamp(call: RemotingCall, result: TimestampResult) -> bytes:
    return call.response(None, {"timestamp": str(result.timestamp)})


def _without_fields(call: RemotingCall, result: Done) -> bytes:
    return call.response(result.remark, {})


def _error(call: RemotingCall, error: EngineError) -> bytes:
    return call.response(error.remark, {}, code=error.code)


@TABLE.processor(
    RequestCode.QUERY_CONSUMER_OFFSET,
    header=QueryConsumerOffsetRequestHeader,
    rights=to_consume(Action.SUB, Action.GET),
    pool=BrokerPool.CONSUMER,
    response=_offset,
    error=_error,
)
def query_consumer_offset(
    call: RemotingCall, header: QueryConsumerOffsetRequestHeader, body: bytes
) -> QueryConsumerOffset:
    """Translate a request for a committed offset. For clients, QUERY_NOT_FOUND means that there is no offset yet."""
    return QueryConsumerOffset(header.consumer_group, header.topic, header.queue_id, header.set_zero_if_not_found)


@TABLE.processor(
    RequestCode.UPDATE_CONSUMER_OFFSET,
    header=UpdateConsumerOffsetRequestHeader,
    rights=to_consume(Action.SUB, Action.UPDATE),
    pool=BrokerPool.CONSUMER,
    response=_without_fields,
    error=_error,
)
def update_consumer_offset(
    call: RemotingCall, header: UpdateConsumerOffsetRequestHeader, body: bytes
) -> UpdateConsumerOffset:
    """Translate an offset commit. It is often oneway; Go clients expect a response."""
    return UpdateConsumerOffset(header.consumer_group, header.topic, header.queue_id, header.commit_offset)


@TABLE.processor(
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    header=SearchOffsetRequestHeader,
    rights=on_fields(Action.GET, fields="topic"),
    response=_offset,
    error=_error,
)
def search_offset(call: RemotingCall, header: SearchOffsetRequestHeader, body: bytes) -> SearchOffset:
    """Translate a search by store timestamp. The boundary type is case-insensitive."""
    upper = header.boundary_type.upper() == "UPPER"
    return SearchOffset(header.topic, header.queue_id, header.timestamp, upper)


@TABLE.processor(
    RequestCode.GET_MAX_OFFSET,
    header=GetMaxOffsetRequestHeader,
    rights=on_fields(Action.GET, fields="topic"),
    response=_offset,
    error=_error,
)
def get_max_offset(call: RemotingCall, header: GetMaxOffsetRequestHeader, body: bytes) -> GetMaxOffset:
    """Translate a request for the maximum offset, which is the exclusive end of the queue."""
    return GetMaxOffset(header.topic, header.queue_id)


@TABLE.processor(
    RequestCode.GET_MIN_OFFSET,
    header=GetMinOffsetRequestHeader,
    rights=on_fields(Action.GET, fields="topic"),
    response=_min_offset,
    error=_error,
)
def get_min_offset(call: RemotingCall, header: GetMinOffsetRequestHeader, body: bytes) -> GetMinOffset:
    """Translate a request for the minimum offset. As in upstream, its response has an empty remark."""
    return GetMinOffset(header.topic, header.queue_id)


@TABLE.processor(
    RequestCode.GET_EARLIEST_MSG_STORETIME,
    header=GetEarliestMsgStoretimeRequestHeader,
    rights=on_fields(Action.GET, fields="topic"),
    response=_timestamp,
    error=_error,
)
def get_earliest_store_time(
    call: RemotingCall, header: GetEarliestMsgStoretimeRequestHeader, body: bytes
) -> GetEarliestStoreTime:
    """Translate a request for the store time of the first message that is still stored."""
    return GetEarliestStoreTime(header.topic, header.queue_id)


def _reset(call: RemotingCall, result: ResetOffsetResult) -> bytes:
    items = (
        (MessageQueue(result.topic, result.broker_name, queue_id), offset)
        for queue_id, offset in result.offsets.items()
    )
    # Upstream's handler of client-side resets sets neither code nor remark.
    server_side_reset = call.dispatcher.broker_config.use_server_side_reset_offset
    return call.response(None if server_side_reset else NOT_SET, None, dumps({"offsetTable": queue_map(items)}))


@TABLE.processor(
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
    header=ResetOffsetRequestHeader,
    rights=on_fields(Action.UPDATE, fields="group topic"),
    response=_reset,
)
def reset_offset(call: RemotingCall, header: ResetOffsetRequestHeader, body: bytes) -> ResetOffset:
    """Translate an offset reset. The next pull or pop of each queue gets the new offset.

    With server-side reset off, the broker requests that the consumers reset. An offset is used only with a queue id;
    otherwise the timestamp decides. Requests of C++ clients carry their language; as in upstream, it selects the form
    of the notification to consumers, regardless of their languages.
    """
    return ResetOffset(
        group=header.group,
        topic=header.topic,
        timestamp=header.timestamp,
        queue_id=header.queue_id,
        offset=header.offset if header.queue_id >= 0 else None,
        force=header.is_force,
        as_list=call.language == "CPP",
    )


@TABLE.processor(
    RequestCode.CLONE_GROUP_OFFSET,
    header=CloneGroupOffsetRequestHeader,
    rights=on_fields(Action.UPDATE, fields="destGroup topic"),
)
def clone_group_offset(call: RemotingCall, header: CloneGroupOffsetRequestHeader, body: bytes) -> CloneGroupOffset:
    """Translate a request to copy offsets.

    Without a topic it means all topics, but copies nothing: upstream uses the blank name for each of them.
    """
    return CloneGroupOffset(header.src_group, header.dest_group, header.topic, header.offline)


def _all_offsets(call: RemotingCall, result: AllOffsetsResult) -> bytes:
    table = {f"{topic}@{group}": number_map(found) for (group, topic), found in result.offsets.items()}
    members: dict[str, object] = {"offsetTable": table}
    if result.lmq_offsets is not None:  # the offsets of groups with LMQ names, one for all queues
        members["lmqOffsetTable"] = {
            f"{topic}@{group}": offset for (group, topic), offset in result.lmq_offsets.items()
        }
    return call.response(None, None, dumps(members))


@TABLE.processor(RequestCode.GET_ALL_CONSUMER_OFFSET, header=NoHeader, rights=no_rights, response=_all_offsets)
def get_all_consumer_offset(call: RemotingCall, header: NoHeader, body: bytes) -> GetAllConsumerOffset:
    """Translate a slave's request for all consumer offsets."""
    return GetAllConsumerOffset()


def _correction(call: RemotingCall, result: CorrectionOffsetResult) -> bytes:
    return call.response(None, None, dumps({"correctionOffsets": number_map(result.offsets)}))


@TABLE.processor(
    RequestCode.QUERY_CORRECTION_OFFSET,
    header=QueryCorrectionOffsetHeader,
    rights=on_fields(Action.GET, fields="filterGroups compareGroup topic"),
    response=_correction,
)
def query_correction_offset(
    call: RemotingCall, header: QueryCorrectionOffsetHeader, body: bytes
) -> QueryCorrectionOffset:
    """Translate a request for correction offsets.

    As in upstream, the broker first deletes the offsets of `filter_groups`.
    """
    groups = header.filter_groups.split(",") if header.filter_groups.strip() else []
    return QueryCorrectionOffset(header.topic, header.compare_group, groups)
