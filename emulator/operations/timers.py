"""What the timer and the delay levels tell of themselves."""

from ..kernel.value_class import value
from .base import Operation, Result


@value
class GetTimerCheckPoint(Operation):
    """How far the wheel was read and filled when its file was written last. Errors: SYSTEM_ERROR without a timer."""


@value
class TimerCheckPointResult(Result):
    """`read_ms`: the slots before it were read. `taken`: messages read from the timer's topic; `log_bytes`: the log of
    the wheel. `version` counts the writes that found something new; the last was at `changed_ms`. `master_taken` is
    what a slave knows of its master, and of a master what it has taken itself.
    """

    read_ms: int
    log_bytes: int
    taken: int
    version: int
    changed_ms: int
    master_taken: int


@value
class GetTimerMetrics(Operation):
    """How many messages wait for each topic. Errors: SYSTEM_ERROR without a timer."""


@value
class TimerMetric:
    """How many messages wait, and when that changed last."""

    count: int
    changed_ms: int


@value
class TimerMetricsResult(Result):
    """By topic; `version` counts the changes, of which the last was at `changed_ms`."""

    topics: dict[str, TimerMetric]
    version: int
    changed_ms: int


@value
class GetAllDelayOffset(Operation):
    """How far each delay level was delivered."""


@value
class DelayOffsetsResult(Result):
    """By level, the offset of its queue up to which messages were delivered.

    `version` rises with every 200th look at a level; `changed_ms` is the time of a look.
    """

    offsets: dict[int, int]
    version: int
    changed_ms: int
