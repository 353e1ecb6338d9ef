"""State of the timer and of the delay levels."""

from dataclasses import KW_ONLY

from ..kernel.value_class import value
from .base import Operation, Result


@value
class GetTimerCheckPoint(Operation):
    """Return the timer check point as last written to its file. Raises SYSTEM_ERROR if `timerWheelEnable` is false."""


@value
class TimerCheckPointResult(Result):
    """The timer check point: how far the timer has read its topic, and when that was written to its file.

    `read_ms`: all slots before this time are read. `taken`: number of messages read from the timer's topic.
    `log_bytes`: size of the timer log. `version` counts the writes of the file; the last one was at `changed_ms`.
    `master_taken`: on a slave the master's `taken` as last replicated, on a master its own.
    """

    read_ms: int
    log_bytes: int
    taken: int
    version: int
    _: KW_ONLY
    changed_ms: int
    master_taken: int


@value
class GetTimerMetrics(Operation):
    """Return the number of waiting timed messages by topic. Raises SYSTEM_ERROR if `timerWheelEnable` is false."""


@value
class TimerMetric:
    """The number of waiting timed messages of a topic, and the time of the last change."""

    count: int
    changed_ms: int


@value
class TimerMetricsResult(Result):
    """Timer metrics by topic; `version` counts the changes, the last one was at `changed_ms`."""

    topics: dict[str, TimerMetric]
    version: int
    changed_ms: int


@value
class GetAllDelayOffset(Operation):
    """Return the delivery offset of each delay level."""


@value
class DelayOffsetsResult(Result):
    """For each delay level, the queue offset up to which its messages were delivered.

    `version` grows by one with every 200 checks, those of all levels together. `changed_ms` is the time of the last
    check; while `version` is 0, it is the start of the broker.
    """

    offsets: dict[int, int]
    version: int
    changed_ms: int
