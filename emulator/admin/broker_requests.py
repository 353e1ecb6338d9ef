"""Admin requests about the broker itself: configuration and counters. Source: AdminBrokerProcessor (5.3.3)."""

from collections.abc import Callable

from ..assembly.handlers import handles
from ..config import BrokerConfig, ConfigError
from ..faults.defects import Defects
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.upstream_version import VERSION_NAME, VERSION_NUMBER
from ..message.stored_record import is_readable, store_timestamp
from ..operations.base import Done
from ..operations.cluster import (
    GetBrokerConfig,
    GetBrokerRuntimeInfo,
    RuntimeInfoResult,
    TextResult,
    UpdateBrokerConfig,
)
from ..overload.request_pools import BrokerPool, BrokerRequestPools
from ..store.message_store import MessageStore

ALWAYS_BLACK = frozenset({"brokerConfigPath", "rocketmqHome", "configBlackList"})
"""Keys that no request can change, regardless of `configBlackList`."""
_STORE_SPANS = (
    *("<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s"),
    *("1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~"),
)
_POOLS = (BrokerPool.SEND, BrokerPool.PULL, BrokerPool.QUERY, BrokerPool.LITE_PULL, BrokerPool.ACK)


class BrokerAdministration:
    """Handles configuration and runtime info requests of one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        defects: Defects,
        scheduler: Scheduler,
        store: MessageStore,
        timer_congestion: Callable[[], int],
        config_changed: Callable[[], None],
        request_pools: BrokerRequestPools,
    ) -> None:
        self._config = config
        self._defects = defects
        self._scheduler = scheduler
        self._store = store
        self._timer_congestion = timer_congestion
        self._config_changed = config_changed
        self._request_pools = request_pools
        self._boot_ms = scheduler.now_ms
        self._version_counter = 0
        self._version_timestamp = scheduler.now_ms
        self._black_list = ALWAYS_BLACK.union(config.config_black_list.split(";"))

    @handles(GetBrokerConfig)
    def get_config(self, call: Call, operation: GetBrokerConfig) -> TextResult:
        """Return all keys in properties format."""
        return TextResult(self._config.as_text(), self._version_counter, self._version_timestamp)

    @handles(UpdateBrokerConfig)
    def update_config(self, call: Call, operation: UpdateBrokerConfig) -> Done:
        """Change all keys or none. Errors: NO_PERMISSION (black list), SYSTEM_ERROR (unknown key, wrong value)."""
        if self._black_list & operation.properties.keys():
            raise EngineError(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
        before = self._config.copy()
        try:
            if self._defects.unknown_settings_ignored:
                self._config.update_known(operation.properties)
            else:
                self._config.update(operation.properties)
            self._config_changed()
        except ConfigError as error:
            for attribute in self._config.attributes().values():
                setattr(self._config, attribute, getattr(before, attribute))
            raise EngineError(ResponseCode.SYSTEM_ERROR, str(error)) from None
        self._version_counter += 1
        self._version_timestamp = self._scheduler.now_ms
        return Done()

    @handles(GetBrokerRuntimeInfo)
    def runtime_info(self, call: Call, operation: GetBrokerRuntimeInfo) -> RuntimeInfoResult:
        """Return the runtime info table that mqadmin shows for a broker."""
        now, log = self._scheduler.now_ms, self._store.log
        stats = self._store.stats
        rates = stats.rates()
        puts = max(stats.puts, 1)  # upstream uses at least 1 as its divisor
        oldest = next((record for _, record in log.records_from(0) if is_readable(record)), None)
        ends, _, most_ends = self._request_pools.describe(BrokerPool.TRANSACTION)
        earliest = self._store.last_store_timestamp if oldest is None else store_timestamp(oldest)
        table = {
            "brokerActive": "true",
            "brokerVersion": str(VERSION_NUMBER),
            "brokerVersionDesc": VERSION_NAME,
            "bootTimestamp": str(self._boot_ms),
            "runtime": f"[ {_duration(now - self._boot_ms)} ]",
            **rates,
            "msgPutTotalYesterdayMorning": str(stats.yesterday.put),
            "msgPutTotalTodayMorning": str(stats.today.put),
            "msgPutTotalTodayNow": str(stats.put),
            "msgGetTotalYesterdayMorning": str(stats.yesterday.got),
            "msgGetTotalTodayMorning": str(stats.today.got),
            "msgGetTotalTodayNow": str(stats.got),
            "pageCacheLockTimeMills": "0",
            "earliestMessageTimeStamp": str(earliest),
            "commitLogMinOffset": str(log.min_offset),
            "commitLogMaxOffset": str(log.max_offset),
            "commitLogDiskRatio": self._disk_ratio(),
            "commitLogDirCapacity": f"Total : {log.max_bytes} B, Free : {max(log.max_bytes - log.stored_bytes, 0)} B.",
            "consumeQueueDiskRatio": str(self._store.disk.used(log.stored_bytes)),
            "dispatchMaxBuffer": "0",
            "dispatchBehindBytes": "0",
            "remainHowManyDataToFlush": "0 B",
            "remainTransientStoreBufferNumbs": "2147483647",
            "startAcceptSendRequestTimeStamp": str(self._config.start_accept_send_request_time_stamp),
            "putMessageTimesTotal": str(puts),
            "putMessageFailedTimes": "0",
            "putMessageEntireTimeMax": "0",
            "putMessageDistributeTime": _distribution(stats.puts),
            "putLatency99": "0.00",
            "putLatency999": "0.00",
            "getMessageEntireTimeMax": "0",
            "putMessageSizeTotal": str(stats.put_bytes),
            "putMessageAverageSize": str(stats.put_bytes / puts),
            "EndTransactionQueueSize": str(ends),
            "EndTransactionThreadPoolQueueCapacity": str(most_ends),
            "timerReadBehind": "0",
            "timerOffsetBehind": "0",
            "timerCongestNum": str(self._timer_congestion()),
            "timerEnqueueTps": "0.0",
            "timerDequeueTps": "0.0",
        }
        for pool in _POOLS:
            size, head_ms, capacity = self._request_pools.describe(pool)
            table[f"{pool.title}ThreadPoolQueueSize"] = str(size)
            table[f"{pool.title}ThreadPoolQueueHeadWaitTimeMills"] = str(head_ms)
            table[f"{pool.title}ThreadPoolQueueCapacity"] = str(capacity)
        return RuntimeInfoResult(table)

    def _disk_ratio(self) -> str:
        """Return how full the disk is; without a simulated disk, how full the commit log is."""
        log, disk = self._store.log, self._store.disk
        return str(disk.used(log.stored_bytes) or f"{log.stored_bytes / log.max_bytes:.4f}")


def _distribution(stored: int) -> str:
    """Format the distribution of store times; here every store takes 0 ms. Source: StoreStatsService (5.3.3)."""
    return "".join(f"[{span}]:{0 if number else stored} " for number, span in enumerate(_STORE_SPANS))


def _duration(elapsed_ms: int) -> str:
    seconds = elapsed_ms // 1000
    return (
        f"{seconds // 86400} days, {seconds // 3600 % 24} hours, {seconds // 60 % 60} minutes, {seconds % 60} seconds"
    )
