"""Requests of admin tools, other than those about topics, groups and messages.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: AdminBrokerProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.groups import BrokerConsumeStatsResult, GetBrokerConsumeStats
from rocketmq_testkit.emulator.operations.tools import (
    BrokerStatsResult,
    CheckQueueProgress,
    CleanUnusedTopic,
    ColdDataFlowCtrResult,
    ExportConfigToJson,
    GetAllMessageRequestMode,
    GetBrokerEpochCache,
    GetColdDataFlowCtrInfo,
    MessageRequestModesResult,
    RemoveColdDataFlowCtrConfig,
    ResetMasterFlushOffset,
    SetCommitLogReadMode,
    UpdateColdDataFlowCtrConfig,
    ViewBrokerStats,
)

from ..bodies import tools
from ..bodies.properties_text import read_properties
from ..bodies.writing import dumps
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import NoHeader, RequestTable, Role
from ..request.required_rights import no_rights, on_cluster, on_fields
from ..wire.ext_fields import Header, header, wire
from ..wire.response_frame import NOT_SET

TABLE = RequestTable(Role.BROKER)
CHECK_IN_PROGRESS = 2
"""CheckRocksdbCqWriteResult.CheckStatus."""


@header
class ViewBrokerStatsDataRequestHeader(Header):
    """Request for the statistics of a name and a key. Errors: SYSTEM_ERROR."""

    stats_name: str | None = None
    stats_key: str | None = None


@header
class GetConsumeStatsInBrokerHeader(Header):
    """Request for the progress of all groups, on all topics or on ordered ones only."""

    is_order: bool = False


@header
class ExportRocksDBConfigToJsonRequestHeader(Header):
    """Request to export tables to JSON files. `config_type` is semicolon separated. Errors: SYSTEM_ERROR."""

    config_type: str | None = None


@header
class SetCommitLogReadAheadModeFields(Header):
    """Request to set the read mode of the commit log: 0 reads ahead, 1 does not. Upstream declares no header for it.

    Errors: INVALID_PARAMETER, SYSTEM_ERROR.
    """

    mode: str | None = wire("READ_AHEAD_MODE", default=None)


def _stats(call: RemotingCall, result: BrokerStatsResult) -> bytes:
    return call.response(None, None, tools.broker_stats(result))


@TABLE.processor(
    RequestCode.VIEW_BROKER_STATS_DATA,
    header=ViewBrokerStatsDataRequestHeader,
    rights=on_cluster(Action.GET),
    response=_stats,
)
def view_broker_stats_data(
    call: RemotingCall, header: ViewBrokerStatsDataRequestHeader, body: bytes
) -> ViewBrokerStats:
    """Translate a request for the statistics of the last minute, hour and day."""
    return ViewBrokerStats(header.stats_name, header.stats_key)


def _progress(call: RemotingCall, result: BrokerConsumeStatsResult) -> bytes:
    config = call.dispatcher.broker_config
    address = call.broker_address(config.broker_name, config.broker_id)
    return call.response(None, None, tools.broker_consume_stats(address, result))


@TABLE.processor(
    RequestCode.GET_BROKER_CONSUME_STATS,
    header=GetConsumeStatsInBrokerHeader,
    rights=on_cluster(Action.GET),
    response=_progress,
)
def get_broker_consume_stats(
    call: RemotingCall, header: GetConsumeStatsInBrokerHeader, body: bytes
) -> GetBrokerConsumeStats:
    """Translate a request for the progress of each group that the broker knows."""
    return GetBrokerConsumeStats(header.is_order)


@TABLE.processor(RequestCode.CLEAN_UNUSED_TOPIC, header=NoHeader, rights=no_rights)
def clean_unused_topic(call: RemotingCall, header: NoHeader, body: bytes) -> CleanUnusedTopic:
    """Translate a request to delete the queues of topics that do not exist."""
    return CleanUnusedTopic()


def _modes(call: RemotingCall, result: MessageRequestModesResult) -> bytes:
    return call.response(None, None, tools.request_modes(result))


@TABLE.processor(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, header=NoHeader, rights=no_rights, response=_modes)
def get_all_message_request_mode(call: RemotingCall, header: NoHeader, body: bytes) -> GetAllMessageRequestMode:
    """Translate a request for all message request modes, by topic and group."""
    return GetAllMessageRequestMode()


@TABLE.processor(
    RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON,
    header=ExportRocksDBConfigToJsonRequestHeader,
    rights=on_cluster(Action.GET),
)
def export_config_to_json(
    call: RemotingCall, header: ExportRocksDBConfigToJsonRequestHeader, body: bytes
) -> ExportConfigToJson:
    """Translate an export. It completes immediately, because there is no database."""
    if header.config_type is None:
        raise EngineError(
            ResponseCode.SYSTEM_ERROR,
            'java.lang.NullPointerException: Cannot read the array length because "<local3>" is null',
        )
    return ExportConfigToJson(header.config_type)


def _in_progress(call: RemotingCall, result: Done) -> bytes:
    return call.response(NOT_SET, None, dumps({"checkStatus": CHECK_IN_PROGRESS}))


@TABLE.processor(
    RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS,
    header=NoHeader,
    rights=on_fields(Action.GET, fields="topic"),
    response=_in_progress,
)
def check_queue_progress(call: RemotingCall, header: NoHeader, body: bytes) -> CheckQueueProgress:
    """Translate a request to compare consume queues in files with those in RocksDB.

    The response always has the status "in progress".
    """
    return CheckQueueProgress()


@TABLE.processor(RequestCode.RESET_MASTER_FLUSH_OFFSET, header=NoHeader, rights=on_cluster(Action.UPDATE))
def reset_master_flush_offset(call: RemotingCall, header: NoHeader, body: bytes) -> ResetMasterFlushOffset:
    """Translate a reset of the master's flush offset.

    Upstream's header has the offset; only a controller would use it.
    """
    return ResetMasterFlushOffset()


@TABLE.processor(RequestCode.GET_BROKER_EPOCH_CACHE, header=NoHeader, rights=no_rights)
def get_broker_epoch_cache(call: RemotingCall, header: NoHeader, body: bytes) -> GetBrokerEpochCache:
    """Translate a request for the epoch cache. Without a controller it is rejected."""
    return GetBrokerEpochCache()


@TABLE.processor(RequestCode.SET_COMMITLOG_READ_MODE, header=SetCommitLogReadAheadModeFields, rights=no_rights)
def set_commit_log_read_mode(
    call: RemotingCall, header: SetCommitLogReadAheadModeFields, body: bytes
) -> SetCommitLogReadMode:
    """Translate the read mode. It is stored as the key `dataReadAheadEnable`."""
    return SetCommitLogReadMode(header.mode)


@TABLE.processor(RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, header=NoHeader, rights=no_rights)
def update_cold_data_config(call: RemotingCall, header: NoHeader, body: bytes) -> UpdateColdDataFlowCtrConfig:
    """Translate thresholds. The body is properties text: groups and their thresholds."""
    return UpdateColdDataFlowCtrConfig(read_properties(body))


@TABLE.processor(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, header=NoHeader, rights=no_rights)
def remove_cold_data_config(call: RemotingCall, header: NoHeader, body: bytes) -> RemoveColdDataFlowCtrConfig:
    """Translate a request to remove a group's threshold. The whole body is the group name."""
    return RemoveColdDataFlowCtrConfig(body.decode("utf-8", "replace") if body else None)


def _cold_data(call: RemotingCall, result: ColdDataFlowCtrResult) -> bytes:
    return call.response(None, None, tools.cold_data(result))


@TABLE.processor(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, header=NoHeader, rights=no_rights, response=_cold_data)
def get_cold_data_info(call: RemotingCall, header: NoHeader, body: bytes) -> GetColdDataFlowCtrInfo:
    """Translate a request for all thresholds."""
    return GetColdDataFlowCtrInfo()
