"""Requests of administrators' tools that are not about configuration, topics, groups or messages.

A broker here has no controller, no database and no files; it responds like a real broker without them.
Source: AdminBrokerProcessor (5.3.3).
"""

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.java_numbers import parse_integer
from ..kernel.response_code import ResponseCode
from ..operations.base import Done
from ..operations.tools import (
    BrokerStatsItem,
    BrokerStatsResult,
    CheckQueueProgress,
    CleanUnusedTopic,
    ExportConfigToJson,
    GetBrokerEpochCache,
    ResetMasterFlushOffset,
    SetCommitLogReadMode,
    ViewBrokerStats,
)
from ..store.message_store import MessageStore
from ..topic.topic_table import TopicTable

CONFIG_TYPES = frozenset({"topics", "subscriptiongroups", "consumeroffsets"})
"""The tables that ExportConfigToJson may name."""
READ_AHEAD, READ_AT_RANDOM = 0, 1
"""The modes of SetCommitLogReadMode: MADV_NORMAL and MADV_RANDOM of madvise(2)."""


class BrokerTools:
    """Handles further requests of administrators' tools to one broker."""

    def __init__(self, config: BrokerConfig, store: MessageStore, topics: TopicTable) -> None:
        self._config = config
        self._store = store
        self._topics = topics

    @handles(ViewBrokerStats)
    def view_stats(self, call: Call, operation: ViewBrokerStats) -> BrokerStatsResult:
        """Return the statistics of a name and key. Errors: SYSTEM_ERROR if they were never recorded."""
        name, key, stats = operation.stats_name, operation.stats_key, self._store.stats
        stats.catch_up()
        found = stats.by_name.snapshots(name, key)
        if found is None:
            shown = ["null" if each is None else each for each in (name, key)]
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"The stats <{shown[0]}> <{shown[1]}> not exist")
        return BrokerStatsResult(*(BrokerStatsItem(*each) for each in found))

    @handles(CleanUnusedTopic)
    def clean_unused_topics(self, call: Call, operation: CleanUnusedTopic) -> Done:
        """Delete the queues of topics that do not exist; light message queues (LMQ) stay."""
        self._store.delete_unknown_topics(self._topics.find, self._topics.is_system)
        return Done()

    @handles(ExportConfigToJson)
    def export_config(self, call: Call, operation: ExportConfigToJson) -> Done:
        """Check the types; there is no database to export. Errors: SYSTEM_ERROR (unknown type)."""
        for each in operation.types.split(";"):
            if each and each.strip().lower() not in CONFIG_TYPES:
                raise EngineError(
                    ResponseCode.SYSTEM_ERROR, f"java.lang.IllegalArgumentException: Unknown config type: {each}"
                )
        return Done("export done.")

    @handles(CheckQueueProgress)
    def check_queues(self, call: Call, operation: CheckQueueProgress) -> Done:
        """Return at once; upstream writes the results of this check only to its log."""
        return Done()

    @handles(ResetMasterFlushOffset)
    def reset_master_flush_offset(self, call: Call, operation: ResetMasterFlushOffset) -> Done:
        """Return at once: only upstream's slaves store this offset, for a controller."""
        return Done()

    @handles(GetBrokerEpochCache)
    def epoch_cache(self, call: Call, operation: GetBrokerEpochCache) -> Done:
        """Raise SYSTEM_ERROR: there is no controller."""
        raise EngineError(ResponseCode.SYSTEM_ERROR, "this request only for controllerMode ")

    @handles(SetCommitLogReadMode)
    def set_read_mode(self, call: Call, operation: SetCommitLogReadMode) -> Done:
        """Turn read-ahead of the commit log on or off.

        Errors: INVALID_PARAMETER (unknown mode), SYSTEM_ERROR (no mode, or one that is not a number).
        """
        if operation.mode is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "set commitlog readahead mode param error")
        try:
            mode = parse_integer(operation.mode)
        except ValueError:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "set commitlog readahead mode failed") from None
        if mode not in (READ_AHEAD, READ_AT_RANDOM):
            raise EngineError(ResponseCode.INVALID_PARAMETER, "set commitlog readahead mode param value error")
        self._config.data_read_ahead_enable = mode == READ_AHEAD
        return Done(f"set commitlog readahead mode success, mode: {mode}")
