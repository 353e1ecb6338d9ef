"""What the timer and the delay levels tell of themselves. Source: AdminBrokerProcessor (5.3.3)."""

# ruff: noqa: ARG001  # every processor and every answer has the same arguments, whether it needs them or not

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

TABLE = RequestTable(Role.BROKER)

_CHECK_POINT = Struct(">qqqqqqq")
"""Time read, place in the log, messages taken, those of the master, state version, time and number of writes."""
_STATE_VERSION = 0


def _check_point(call: RemotingCall, result: TimerCheckPointResult) -> bytes:
    progress = (result.read_ms, result.log_bytes, result.taken, result.master_taken)
    return call.answer(None, None, _CHECK_POINT.pack(*progress, _STATE_VERSION, result.changed_ms, result.version))


@TABLE.processor(RequestCode.GET_TIMER_CHECK_POINT, header=NoHeader, answer=_check_point)
def get_timer_check_point(call: RemotingCall, header: NoHeader, body: bytes) -> GetTimerCheckPoint:
    """Seven numbers of eight bytes, as slaves of a broker read them."""
    return GetTimerCheckPoint()


def _metrics(call: RemotingCall, result: TimerMetricsResult) -> bytes:
    counts = {topic: {"count": each.count, "timeStamp": each.changed_ms} for topic, each in result.topics.items()}
    body = {"dataVersion": data_version(result.version, result.changed_ms), "timingCount": counts}
    return call.answer(None, None, dumps(body))


@TABLE.processor(RequestCode.GET_TIMER_METRICS, header=NoHeader, answer=_metrics)
def get_timer_metrics(call: RemotingCall, header: NoHeader, body: bytes) -> GetTimerMetrics:
    """How many messages wait for each topic."""
    return GetTimerMetrics()


def _offsets(call: RemotingCall, result: DelayOffsetsResult) -> bytes:
    body = {"dataVersion": data_version(result.version, result.changed_ms), "offsetTable": number_map(result.offsets)}
    return call.answer(None, None, dumps(body))


@TABLE.processor(RequestCode.GET_ALL_DELAY_OFFSET, header=NoHeader, answer=_offsets)
def get_all_delay_offset(call: RemotingCall, header: NoHeader, body: bytes) -> GetAllDelayOffset:
    """What a slave broker copies."""
    return GetAllDelayOffset()
