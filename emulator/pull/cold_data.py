"""Cold-data flow control: limits the bytes of old messages that groups pull, and suspends groups beyond their limit.

Cold data is farther from the end of the commit log than `accessMessageInMemoryHotRatio` percent of the machine's
memory. The broker counts the cold bytes that pulls return, for each group and for all groups together. A group that
reaches its limit, or that has read cold data while all groups together reach theirs, is suspended in queues where its
next message is cold. The counts start again every 5 s. Pops are neither counted nor suspended.

Upstream can also scan the page cache (`coldDataScanEnable`, off by default) and adapt limits (`coldCtrStrategyEnable`,
off by default); the emulator does neither. As in upstream, limits set by administrators do not survive a restart.
Source: ColdDataCgCtrService, CommitLog.ColdDataCheckService (5.3.3).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.call import Call
from ..kernel.java_numbers import parse_long
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import frozen_value
from ..message.names import MAY_ALWAYS_PULL, SYSTEM_GROUP_PREFIX
from ..operations.base import Done
from ..operations.tools import (
    ColdDataFlowCtrResult,
    ColdReads,
    GetColdDataFlowCtrInfo,
    RemoveColdDataFlowCtrConfig,
    UpdateColdDataFlowCtrConfig,
)
from .queue_reader import QueueReader
from .suggested_broker import MEMORY_BYTES

CLEAR_INTERVAL_MS = 5_000
_KEPT_MS = 60_000
"""The time for which a group that reads no cold data stays in the table."""


@frozen_value
class ColdSuspension:
    """The suspension of a group in a queue."""

    read: int
    """Cold bytes that the group, or all groups together, have read since the last clearing."""
    limit: int
    key: str
    """The origin of the limit: `cgColdReadThreshold`, `globalColdReadThreshold`, or empty for the group's own limit."""
    until_ms: int
    """The time at which the counts start again."""


@dataclass(slots=True)
class GroupReads:
    """Cold bytes that a group has read since the last clearing."""

    acc: int
    created_ms: int
    last_ms: int


class ColdData:
    """The cold reads and limits of groups in one run of a broker."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, reader: QueueReader) -> None:
        self._config = config
        self._scheduler = scheduler
        self._reader = reader
        self._start_ms = scheduler.now_ms
        self._thresholds: dict[str, int] = {}
        self._reads: dict[str, GroupReads] = {}
        self._all = 0
        """Cold bytes that all groups have read since the last clearing."""
        self._timer: Timer | None = None

    # requests

    @handles(UpdateColdDataFlowCtrConfig)
    def update(self, call: Call, operation: UpdateColdDataFlowCtrConfig) -> Done:
        """Set limits; ignore a value that is not a 64-bit number."""
        for group, text in operation.thresholds.items():
            try:
                self._thresholds[group] = parse_long(text)
            except ValueError:
                continue
        return Done()

    @handles(RemoveColdDataFlowCtrConfig)
    def remove(self, call: Call, operation: RemoveColdDataFlowCtrConfig) -> Done:
        """Delete the limit of a group; a missing one is not an error."""
        if operation.group is not None:
            self._thresholds.pop(operation.group, None)
        return Done()

    @handles(GetColdDataFlowCtrInfo)
    def info(self, call: Call, operation: GetColdDataFlowCtrInfo) -> ColdDataFlowCtrResult:
        """Return all limits, and the reads since the last clearing."""
        config = self._config
        return ColdDataFlowCtrResult(
            dict(self._thresholds),
            config.cg_cold_read_threshold,
            config.global_cold_read_threshold,
            {group: ColdReads(each.acc, each.created_ms, each.last_ms) for group, each in self._reads.items()},
            all_reads=self._all,
        )

    # pulls

    @property
    def enabled(self) -> bool:
        """True if pulls must be counted and checked."""
        return self._config.cold_data_flow_control_enable

    def record(self, group: str, topic: str, queue_id: int, offsets: Iterable[int]) -> None:
        """Count the cold bytes among the messages at some offsets of a queue, which a pull of a group returns."""
        if group in MAY_ALWAYS_PULL or group.startswith(SYSTEM_GROUP_PREFIX):
            return
        cold = sum(self._cold_size(topic, queue_id, offset) for offset in offsets)
        if cold <= 0:
            return
        now = self._scheduler.now_ms
        self._all += cold
        found = self._reads.get(group)
        if found is None:
            self._reads[group] = GroupReads(cold, now, now)
        else:
            found.acc += cold
            found.last_ms = now
        self._schedule_clearing()

    def _cold_size(self, topic: str, queue_id: int, offset: int) -> int:
        """Return the size of a message in bytes, 0 if it is not cold."""
        return self._reader.size(topic, queue_id, offset) if self._is_cold(topic, queue_id, offset) else 0

    def _is_cold(self, topic: str, queue_id: int, offset: int) -> bool:
        """True if a stored message is cold. Source: DefaultMessageStore.checkInColdAreaByCommitOffset (5.3.3)."""
        if not self._reader.is_stored(topic, queue_id, offset):
            return False
        hot = MEMORY_BYTES * self._config.access_message_in_memory_hot_ratio // 100
        return self._reader.lag_bytes(topic, queue_id, offset) > hot

    def suspension(self, group: str, topic: str, queue_id: int, offset: int) -> ColdSuspension | None:
        """Return the suspension of a group at an offset of a queue, None if it may read there."""
        if not self.enabled or group in MAY_ALWAYS_PULL or group.startswith(SYSTEM_GROUP_PREFIX):
            return None
        reads = self._reads.get(group)
        if reads is None:
            return None
        config, until_ms = self._config, self._next_check_ms(self._scheduler.now_ms + 1)
        own = self._thresholds.get(group)
        limit = config.cg_cold_read_threshold if own is None else own
        if reads.acc >= limit:
            found = ColdSuspension(reads.acc, limit, "cgColdReadThreshold" if own is None else "", until_ms)
        elif self._all >= config.global_cold_read_threshold:
            key = "globalColdReadThreshold"
            found = ColdSuspension(self._all, config.global_cold_read_threshold, key, until_ms)
        else:
            return None
        return found if self._is_cold(topic, queue_id, offset) else None

    # clearing

    def resume_ms(self) -> int:
        """Return the time at which a pull that is suspended now is executed again: the first check after 3 s.

        Source: ColdDataPullRequestHoldService, whose checks run every 5 s.
        """
        return self._next_check_ms(self._scheduler.now_ms + 3_000)

    def _next_check_ms(self, earliest_ms: int) -> int:
        periods = -(-(earliest_ms - self._start_ms) // CLEAR_INTERVAL_MS)
        return self._start_ms + periods * CLEAR_INTERVAL_MS

    def _schedule_clearing(self) -> None:
        if self._timer is None and self._reads:
            due_ms = self._next_check_ms(self._scheduler.now_ms + 1)
            self._timer = self._scheduler.call_at(due_ms, self._clear, TimerKind.COLD_DATA)

    def _clear(self) -> None:
        """Start all counts again, and forget groups that have not read cold data for a minute."""
        self._timer = None
        oldest_ms = self._scheduler.now_ms - _KEPT_MS
        self._reads = {group: each for group, each in self._reads.items() if each.last_ms > oldest_ms}
        for each in self._reads.values():
            each.acc = 0
        self._all = 0
        self._schedule_clearing()
