"""Requests of admin tools to a broker, other than those for topics, groups and messages."""

from dataclasses import KW_ONLY

from ..kernel.value_class import value
from .base import Operation, Result
from .groups import SetMessageRequestMode


@value
class ViewBrokerStats(Operation):
    """Return the counter with a name and a key. Raises SYSTEM_ERROR if there is none."""

    stats_name: str | None
    stats_key: str | None


@value
class BrokerStatsItem:
    """A counter over a time span: its sum, its rate per second, and its average per event."""

    sum: int
    tps: float
    avgpt: float


@value
class BrokerStatsResult(Result):
    """The counter over the last minute, hour and day."""

    minute: BrokerStatsItem
    hour: BrokerStatsItem
    day: BrokerStatsItem


@value
class CleanUnusedTopic(Operation):
    """Delete the queues of topics that do not exist on the broker."""


@value
class GetAllMessageRequestMode(Operation):
    """Message request mode (PULL or POP) per topic and group, as set with SET_MESSAGE_REQUEST_MODE."""


@value
class MessageRequestModesResult(Result):
    """The request modes that were set."""

    modes: list[SetMessageRequestMode]


@value
class ExportConfigToJson(Operation):
    """Export configuration tables from a database to files; the emulator has no database.

    `types`: topics, subscriptionGroups, consumerOffsets, separated by semicolons. Raises SYSTEM_ERROR (unknown type).
    """

    types: str


@value
class CheckQueueProgress(Operation):
    """Compare file-based consume queues with those of a database."""


@value
class ResetMasterFlushOffset(Operation):
    """Set on a slave the offset up to which its master has flushed its log."""


@value
class GetBrokerEpochCache(Operation):
    """Return the epochs of masters. Raises SYSTEM_ERROR (no controller)."""


@value
class UpdateColdDataFlowCtrConfig(Operation):
    """Set the number of cold bytes that groups may read, by group name. Values that are not numbers are ignored."""

    thresholds: dict[str, str]


@value
class RemoveColdDataFlowCtrConfig(Operation):
    """Remove a group's cold-read threshold; None means that the request names no group."""

    group: str | None


@value
class GetColdDataFlowCtrInfo(Operation):
    """Return the cold-read thresholds of groups, and their reads so far."""


@value
class ColdReads:
    """Cold bytes that a group has read since the counts started again, and the times of its first and last read."""

    acc: int
    created_ms: int
    last_ms: int


@value
class ColdDataFlowCtrResult(Result):
    """Thresholds set for groups (bytes), the threshold of any other group, and that of all groups together.

    `reads` are the groups that have read cold data lately, and `all_reads` the cold bytes of all groups.
    """

    thresholds: dict[str, int]
    group_threshold: int
    global_threshold: int
    reads: dict[str, ColdReads]
    _: KW_ONLY
    all_reads: int


@value
class SetCommitLogReadMode(Operation):
    """Set read-ahead of the log: `0` on, `1` off. Raises INVALID_PARAMETER (other numbers), SYSTEM_ERROR."""

    mode: str | None
