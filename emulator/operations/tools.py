"""What administrators' tools ask of a broker besides topics, groups and messages."""

from ..kernel.value_class import value
from .base import Operation, Result
from .groups import SetMessageRequestMode


@value
class ViewBrokerStats(Operation):
    """What was counted under a name and a key. Errors: SYSTEM_ERROR for what never was."""

    stats_name: str | None
    stats_key: str | None


@value
class BrokerStatsItem:
    """What was counted in a span: in all, in a second, and each time that something was."""

    sum: int
    tps: float
    avgpt: float


@value
class BrokerStatsResult(Result):
    """The last minute, hour and day."""

    minute: BrokerStatsItem
    hour: BrokerStatsItem
    day: BrokerStatsItem


@value
class CleanUnusedTopic(Operation):
    """Forget the queues of topics that the broker does not know."""


@value
class GetAllMessageRequestMode(Operation):
    """Which groups pull from and which pop which topics, as far as somebody has said so."""


@value
class MessageRequestModesResult(Result):
    """What was said."""

    modes: list[SetMessageRequestMode]


@value
class ExportConfigToJson(Operation):
    """Write tables of configuration from a database to files; there is none. `types`: topics, subscriptionGroups,
    consumerOffsets, with semicolons between. Errors: SYSTEM_ERROR (unknown type).
    """

    types: str


@value
class CheckQueueProgress(Operation):
    """Compare the queues of files with those of a database."""


@value
class ResetMasterFlushOffset(Operation):
    """Tell a slave up to where its master has written its log to the disk."""


@value
class GetBrokerEpochCache(Operation):
    """Since when masters have been such. Errors: SYSTEM_ERROR (no controller)."""


@value
class UpdateColdDataFlowCtrConfig(Operation):
    """Set how many bytes of cold messages groups may read, by their names. What is no number is left out."""

    thresholds: dict[str, str]


@value
class RemoveColdDataFlowCtrConfig(Operation):
    """Forget what a group may read; None: nobody is named."""

    group: str | None


@value
class GetColdDataFlowCtrInfo(Operation):
    """What groups may read of cold messages, and have read."""


@value
class ColdDataFlowCtrResult(Result):
    """What was set for groups (bytes), what holds for one without, and for all groups together."""

    thresholds: dict[str, int]
    group_threshold: int
    global_threshold: int


@value
class SetCommitLogReadMode(Operation):
    """Whether the log is read ahead: `0` yes, `1` no. Errors: INVALID_PARAMETER (other numbers), SYSTEM_ERROR."""

    mode: str | None
