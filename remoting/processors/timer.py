"""State of timed messages and delay levels.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: AdminBrokerProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from struct import Struct

from rocketmq_testkit.emulator.operations.timers import (
    DelayOffsetsResult,
    GetAllDelayOffset,
    GetTimerCheckPoint,
    GetTimerMetrics,
    TimerCheckPointResult,
    TimerMetricsResult,
)

from ..bodies.writing import data_version, dumps, number_map
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import NoHeader, RequestTable, Role
from ..request.required_rights import no_rights

TABLE = RequestTable(Role.BROKER)

_CHECK_POINT = Struct(">qqqqqqq")
"""The timer check point: seven 8-byte integers.

Time read, offset in the timer log, messages taken, messages taken on the master, then the data version: state version,
time and number of writes.
"""
_STATE_VERSION = 0


def _check_point(call: RemotingCall, result: TimerCheckPointResult) -> bytes:
    progress = (result.read_ms, result.log_bytes, result.taken, result.master_taken)
    return call.response(None, None, _CHECK_POINT.pack(*progress, _STATE_VERSION, result.changed_ms, result.version))


@TABLE.processor(RequestCode.GET_TIMER_CHECK_POINT, header=NoHeader, rights=no_rights, response=_check_point)
def get_timer_check_point(call: RemotingCall, header: NoHeader, body: bytes) -> GetTimerCheckPoint:
    """Translate a request for the timer check point: seven 8-byte numbers, as slave brokers read them."""
    return GetTimerCheckPoint()


def _metrics(call: RemotingCall, result: TimerMetricsResult) -> bytes:
    counts = {topic: {"count": each.count, "timeStamp": each.changed_ms} for topic, each in result.topics.items()}
    body = {"dataVersion": data_version(result.version, result.changed_ms), "timingCount": counts}
    return call.response(None, None, dumps(body))


@TABLE.processor(RequestCode.GET_TIMER_METRICS, header=NoHeader, rights=no_rights, response=_metrics)
def get_timer_metrics(call: RemotingCall, header: NoHeader, body: bytes) -> GetTimerMetrics:
    """Translate a request for the number of waiting timed messages of each topic."""
    return GetTimerMetrics()


def _offsets(call: RemotingCall, result: DelayOffsetsResult) -> bytes:
    body = {"dataVersion": data_version(result.version, result.changed_ms), "offsetTable": number_map(result.offsets)}
    return call.response(None, None, dumps(body))


@TABLE.processor(RequestCode.GET_ALL_DELAY_OFFSET, header=NoHeader, rights=no_rights, response=_offsets)
def get_all_delay_offset(call: RemotingCall, header: NoHeader, body: bytes) -> GetAllDelayOffset:
    """Translate a slave's request for the offsets of all delay levels."""
    return GetAllDelayOffset()
