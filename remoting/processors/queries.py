"""Queries of stored messages, of a broker's state and of its configuration, and changes of the latter.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: QueryMessageProcessor, AdminBrokerProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from typing import Any

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.cluster import (
    CleanExpiredConsumeQueue,
    DeleteExpiredCommitLog,
    GetBrokerConfig,
    GetBrokerHaStatus,
    GetBrokerRuntimeInfo,
    HaStatusResult,
    RuntimeInfoResult,
    TextResult,
    UpdateBrokerConfig,
)
from rocketmq_testkit.emulator.operations.message_queries import (
    MessagesResult,
    QueryConsumeQueue,
    QueryConsumeQueueResult,
    QueryMessage,
    QueueUnit,
    ViewMessage,
)
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

from ..bodies import replication
from ..bodies.properties_text import read_properties
from ..bodies.writing import data_version, dumps
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import NoHeader, RequestTable, Role
from ..request.required_rights import no_rights, on_fields, on_topic
from ..wire.ext_fields import Header, Int, Long, header, wire
from ..wire.response_frame import NOT_SET

TABLE = RequestTable(Role.BROKER)


@header
class ViewMessageRequestHeader(Header):
    """Request for the message at a physical offset. Errors: SYSTEM_ERROR if there is none."""

    topic: str | None = None
    offset: Long


@header
class QueryMessageRequestHeader(Header):
    """Request for messages by key or by unique key. Errors: QUERY_NOT_FOUND, SYSTEM_ERROR (negative `max_num`)."""

    topic: str = ""
    key: str = ""
    max_num: Int
    begin_timestamp: Long
    end_timestamp: Long
    unique_key: bool = wire("_UNIQUE_KEY_QUERY", default=False)


@header
class QueryConsumeQueueRequestHeader(Header):
    """Request for units of a consume queue, starting at an index. Errors: SYSTEM_ERROR (queue never used)."""

    topic: str
    queue_id: Int = 0
    index: Long = 0
    count: Int = 0
    consumer_group: str | None = None


def _one_record(call: RemotingCall, result: MessagesResult) -> bytes:
    return call.response(None, None, b"".join(result.records))


@TABLE.processor(
    RequestCode.VIEW_MESSAGE_BY_ID,
    header=ViewMessageRequestHeader,
    rights=on_fields(Action.GET, fields="topic"),
    pool=BrokerPool.QUERY,
    response=_one_record,
)
def view_message(call: RemotingCall, header: ViewMessageRequestHeader, body: bytes) -> ViewMessage:
    """Translate a request for one message. The client took the offset from the message id; the topic is ignored."""
    return ViewMessage(header.offset)


def _found(call: RemotingCall, result: MessagesResult) -> bytes:
    ext = {
        "indexLastUpdatePhyoffset": str(result.index_last_update_physical_offset),
        "indexLastUpdateTimestamp": str(result.index_last_update_timestamp),
    }
    return call.response(None, ext, b"".join(result.records))


def _not_found(call: RemotingCall, error: EngineError) -> bytes:
    if error.code == ResponseCode.SYSTEM_ERROR:
        return call.response(error.remark, code=error.code)
    ext = {"indexLastUpdatePhyoffset": "0", "indexLastUpdateTimestamp": "0"}
    return call.response(error.remark, ext, code=error.code)


@TABLE.processor(
    RequestCode.QUERY_MESSAGE,
    header=QueryMessageRequestHeader,
    rights=on_topic(Action.SUB, Action.GET),
    pool=BrokerPool.QUERY,
    response=_found,
    error=_not_found,
)
def query_message(call: RemotingCall, header: QueryMessageRequestHeader, body: bytes) -> QueryMessage:
    """Translate a query by key. Java clients query unique keys with an end timestamp of 2**63 - 1."""
    return QueryMessage(
        header.topic,
        header.key,
        header.max_num,
        header.begin_timestamp,
        end_timestamp=header.end_timestamp,
        unique_key=header.unique_key,
    )


def _units(call: RemotingCall, result: QueryConsumeQueueResult) -> bytes:
    if result.units is None:
        return call.response(result.remark)
    body = {
        "maxQueueIndex": result.max_queue_index,
        "minQueueIndex": result.min_queue_index,
        "queueData": [_unit(each) for each in result.units],
    }
    return call.response(NOT_SET, None, dumps(body))


@TABLE.processor(
    RequestCode.QUERY_CONSUME_QUEUE,
    header=QueryConsumeQueueRequestHeader,
    rights=on_fields(Action.GET, fields="topic consumerGroup"),
    response=_units,
)
def query_consume_queue(call: RemotingCall, header: QueryConsumeQueueRequestHeader, body: bytes) -> QueryConsumeQueue:
    """Translate a query of a consume queue. An index without units returns SUCCESS with a remark and no body."""
    return QueryConsumeQueue(
        header.topic, header.queue_id, header.index, header.count, consumer_group=header.consumer_group
    )


def _table(call: RemotingCall, result: RuntimeInfoResult) -> bytes:
    return call.response(None, None, dumps({"table": result.table}))


@TABLE.processor(RequestCode.GET_BROKER_RUNTIME_INFO, header=NoHeader, rights=no_rights, response=_table)
def get_runtime_info(call: RemotingCall, header: NoHeader, body: bytes) -> GetBrokerRuntimeInfo:
    """Translate a request for the broker's counters and state."""
    return GetBrokerRuntimeInfo()


def _replication(call: RemotingCall, result: HaStatusResult) -> bytes:
    return call.response(None, None, replication.ha_status(call.broker_address, result))


@TABLE.processor(RequestCode.GET_BROKER_HA_STATUS, header=NoHeader, rights=no_rights, response=_replication)
def get_ha_status(call: RemotingCall, header: NoHeader, body: bytes) -> GetBrokerHaStatus:
    """Translate a request for the replication progress of a master's slaves, or of a slave."""
    return GetBrokerHaStatus()


def _config(call: RemotingCall, result: TextResult) -> bytes:
    version = dumps(data_version(result.version_counter, result.version_timestamp)).decode()
    return call.response(None, {"version": version}, result.text.encode())


@TABLE.processor(RequestCode.GET_BROKER_CONFIG, header=NoHeader, rights=no_rights, response=_config)
def get_broker_config(call: RemotingCall, header: NoHeader, body: bytes) -> GetBrokerConfig:
    """Translate a request for the configuration. The response is properties text."""
    return GetBrokerConfig()


@TABLE.processor(RequestCode.UPDATE_BROKER_CONFIG, header=NoHeader, rights=no_rights)
def update_broker_config(call: RemotingCall, header: NoHeader, body: bytes) -> UpdateBrokerConfig:
    """Translate changed configuration keys. Upstream ignores unknown keys; the emulator rejects the request."""
    return UpdateBrokerConfig(read_properties(body))


@TABLE.processor(RequestCode.DELETE_EXPIRED_COMMITLOG, header=NoHeader, rights=no_rights)
def delete_expired_commit_log(call: RemotingCall, header: NoHeader, body: bytes) -> DeleteExpiredCommitLog:
    """Translate a request to delete expired commit log files. The response is sent before anything is deleted."""
    return DeleteExpiredCommitLog()


@TABLE.processor(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, header=NoHeader, rights=no_rights)
def clean_expired_consume_queue(call: RemotingCall, header: NoHeader, body: bytes) -> CleanExpiredConsumeQueue:
    """Translate a request to delete consume queues whose messages have all expired."""
    return CleanExpiredConsumeQueue()


def _unit(unit: QueueUnit) -> dict[str, Any]:
    members: dict[str, Any] = {"eval": unit.eval}
    if unit.msg is not None:
        members["msg"] = unit.msg
    members["physicOffset"] = unit.physical_offset
    members["physicSize"] = unit.physical_size
    members["tagsCode"] = unit.tags_code
    return members
