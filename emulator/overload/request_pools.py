"""Thread pools for requests of remoting clients, and the refusal of requests that find a pool exhausted.

Requests are served at once, so none waits unless the threads are occupied. A thread is occupied by an operation that
waits for a slave, or for the time that `requestTimes` sets. Requests through the proxy do not queue at the broker.
Source: NettyRemotingAbstract.processRequestCommand, BrokerFastFailure, BrokerController.registerProcessor (5.3.3).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..config import BrokerConfig
from ..config.pool_values import parse_by_pool, parse_times
from ..gate.call import Call, Channel, Node, Outcome
from ..gate.gate import Gate
from ..kernel.errors import EngineError, RejectedBeforeProcessing
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..operations.base import Operation
from ..operations.send import EndTransaction, RecallMessage
from ..store.refusals import busy
from .thread_pool import ThreadPool

FIRST_SCAN_MS, SCAN_MS = 1000, 10
"""First time (after the start) and period of upstream's scan for requests that have waited too long."""
LAST_VERSION_WITHOUT_GO_AWAY = 475
"""MQVersion.Version.V5_3_1: only clients with a newer version get GO_AWAY."""
BLOCKING_OPERATIONS = (RecallMessage, EndTransaction)
"""Operations that wait for a slave on a thread of their pool. A send that waits for a slave occupies no thread."""


class BrokerPool(Enum):
    """A thread pool: name, and attributes of BrokerConfig for threads, queue capacity and maximum waiting time."""

    SEND = "send", "send_message_thread_pool_nums", "send_thread_pool_queue_capacity", "wait_time_mills_in_send_queue"
    PULL = "pull", "pull_message_thread_pool_nums", "pull_thread_pool_queue_capacity", "wait_time_mills_in_pull_queue"
    LITE_PULL = (
        "litePull",
        "lite_pull_message_thread_pool_nums",
        "lite_pull_thread_pool_queue_capacity",
        "wait_time_mills_in_lite_pull_queue",
    )
    ACK = "ack", "ack_message_thread_pool_nums", "ack_thread_pool_queue_capacity", "wait_time_mills_in_ack_queue"
    HEARTBEAT = (
        "heartbeat",
        "heartbeat_thread_pool_nums",
        "heartbeat_thread_pool_queue_capacity",
        "wait_time_mills_in_heartbeat_queue",
    )
    TRANSACTION = (
        "transaction",
        "end_transaction_thread_pool_nums",
        "end_transaction_pool_queue_capacity",
        "wait_time_mills_in_transaction_queue",
    )
    ADMIN = (
        "admin",
        "admin_broker_thread_pool_nums",
        "admin_broker_thread_pool_queue_capacity",
        "wait_time_mills_in_admin_broker_queue",
    )
    REPLY = "reply", "process_reply_message_thread_pool_nums", "reply_thread_pool_queue_capacity", None
    QUERY = "query", "query_message_thread_pool_nums", "query_thread_pool_queue_capacity", None
    CLIENT = "client", "client_manage_thread_pool_nums", "client_manager_thread_pool_queue_capacity", None
    CONSUMER = "consumer", "consumer_manage_thread_pool_nums", "consumer_manager_thread_pool_queue_capacity", None
    BALANCE = "balance", "load_balance_processor_thread_pool_nums", "load_balance_thread_pool_queue_capacity", None

    def __init__(self, title: str, threads: str, capacity: str, wait: str | None) -> None:
        self.title = title
        self.threads = threads
        self.capacity = capacity
        self.wait = wait


class RefusalForm(Enum):
    """The forms in which a broker reports that it is busy."""

    REJECTREQUEST = "REJECTREQUEST"
    OVERLOAD = "OVERLOAD"
    TIMEOUT_CLEAN_QUEUE = "TIMEOUT_CLEAN_QUEUE"
    PCBUSY_CLEAN_QUEUE = "PCBUSY_CLEAN_QUEUE"
    PC_SYNCHRONIZED = "PC_SYNCHRONIZED"

    def refusal(self, waited_ms: int = 0, size: int = 0) -> EngineError:
        """Build the refusal of a request that waited `waited_ms` in a queue with `size` other requests."""
        if self is RefusalForm.REJECTREQUEST:
            return busy()
        who = "system" if self is RefusalForm.OVERLOAD else "broker"
        text = f"[{self.value}]{who} busy, start flow control for a while"
        if self in (RefusalForm.TIMEOUT_CLEAN_QUEUE, RefusalForm.PCBUSY_CLEAN_QUEUE):
            text += f", period in queue: {waited_ms}ms, size of queue: {size}"
        kind = EngineError if self is RefusalForm.PC_SYNCHRONIZED else RejectedBeforeProcessing
        return kind(ResponseCode.SYSTEM_BUSY, text)


@dataclass(frozen=True, slots=True, eq=False)
class PooledRequest:
    """A request that passes through a thread pool."""

    call: Call
    operation: Operation
    pool: BrokerPool
    pools: "BrokerRequestPools"

    def run(self, done: Callable[[], None]) -> None:
        """Carry out the request. An operation that waits for a slave occupies its thread until its reply."""
        if isinstance(self.operation, BLOCKING_OPERATIONS):
            self.pools.submit(BlockingCall(self.call, done), self.operation)
        else:
            self.pools.submit(self.call, self.operation)
            done()

    def end_before_start(self) -> bool:
        """Refuse a send that gets its thread while the page cache is busy. Returns True if it was refused."""
        slow = self.pool is BrokerPool.SEND and self.pools.page_cache_busy
        if slow:
            self.refuse(RefusalForm.PC_SYNCHRONIZED.refusal())
        return slow

    def refuse(self, refusal: EngineError) -> None:
        """Reply with a refusal instead of carrying out the request."""
        self.pools.refuse(self.call, self.operation, refusal)


class BlockingCall:
    """A call that releases its thread with its reply, or when a rule of faults ends it.

    It passes on the attributes that rules of faults read (`ClientCall` of the faults).
    """

    __slots__ = ("_call", "_done")

    def __init__(self, call: Call, done: Callable[[], None]) -> None:
        self._call: Any = call
        self._done = done

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the call that rules of faults read."""
        return getattr(self._call, name)

    def refuse(self, code: int, remark: str) -> None:
        """Respond with a code, and release the thread."""
        self._call.refuse(code, remark)
        self._done()

    def fail(self, status: int, text: str) -> None:
        """End the call with a status of gRPC, and release the thread."""
        self._call.fail(status, text)
        self._done()

    def abandon(self) -> None:
        """End the request without a response, and release the thread."""
        self._call.abandon()
        self._done()

    @property
    def channel(self) -> Channel:
        """The client's channel."""
        channel: Channel = self._call.channel
        return channel

    @property
    def label(self) -> str:
        """The name of the request in its protocol."""
        label: str = self._call.label
        return label

    @property
    def number(self) -> int | None:
        """The number of the request on its connection."""
        number: int | None = self._call.number
        return number

    @property
    def active(self) -> bool:
        """True while the client waits for the response."""
        active: bool = self._call.active
        return active

    def reply(self, outcome: Outcome) -> None:
        """Send the outcome and release the thread."""
        self._call.reply(outcome)
        self._done()


class BrokerRequestPools:
    """The thread pools of one run of a broker."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, gate: Gate, node: Node) -> None:
        self._config = config
        self._scheduler = scheduler
        self._gate = gate
        self._node = node
        self._first_scan = scheduler.instant_after(FIRST_SCAN_MS)
        self._pools = {pool: ThreadPool[PooledRequest](scheduler, pool.title) for pool in BrokerPool}
        self._refusals: Mapping[BrokerPool, RefusalForm] = {}
        self._scan: Timer | None = None
        self.shutting_down = False
        """True while the broker shuts down gracefully."""
        self.is_active = False
        """True if requests may have to wait or be refused; if False, callers skip the pools."""
        self.apply_config()

    def apply_config(self) -> None:
        """Apply the current configuration. Raises ConfigError for an unknown pool or form, or a malformed time."""
        config = self._config
        times = request_times_ms(config)
        self._refusals = request_refusals(config)
        for pool, threads in self._pools.items():
            threads.threads = getattr(config, pool.threads)
            threads.capacity = getattr(config, pool.capacity)
            threads.service_ms = times.get(pool, 0)
        waits_for_slaves = config.broker_role == "SYNC_MASTER" and config.in_sync_replicas > 1
        kept = any(not threads.idle for threads in self._pools.values())
        self.is_active = bool(times or self._refusals or waits_for_slaves or kept or self._sends_go_away)
        self._scan_later()

    def waiting(self, pool: BrokerPool) -> int:
        """Return the number of requests that wait for a thread of a pool."""
        return len(self._pools[pool].waiting)

    def begin_shutdown(self) -> None:
        """Start a graceful shutdown: from now on clients that support GO_AWAY get it."""
        self.shutting_down = self.is_active = True

    @property
    def _sends_go_away(self) -> bool:
        return self.shutting_down or self._config.go_away_enable

    def go_away_error(self, client_version: int) -> EngineError | None:
        """Return the error GO_AWAY if the broker sends it to clients of this version, else None.

        The broker sends it during a graceful shutdown, and while `goAwayEnable` is on. The pools are active then, so
        callers skip this call while `is_active` is False.
        """
        if self._sends_go_away and client_version > LAST_VERSION_WITHOUT_GO_AWAY:
            return RejectedBeforeProcessing(ResponseCode.GO_AWAY, "please go away")
        return None

    def enter(
        self, pool: BrokerPool, call: Call, operation: Operation, go_away_error: EngineError | None = None
    ) -> None:
        """Carry out a request when a thread is free, or refuse it with SYSTEM_BUSY.

        `go_away_error` is the error GO_AWAY if the client gets it; the request is then refused with it.
        """
        request, form = PooledRequest(call, operation, pool, self), self._refusals.get(pool)
        if go_away_error is not None:
            request.refuse(go_away_error)
        elif form is not None:
            waited_ms = self._wait_ms(pool) or 0 if form is RefusalForm.TIMEOUT_CLEAN_QUEUE else 0
            request.refuse(form.refusal(waited_ms))
        elif pool is BrokerPool.SEND and self.page_cache_busy:
            request.refuse(busy())
        elif not self._pools[pool].submit(request):
            request.refuse(RefusalForm.OVERLOAD.refusal())
        else:
            self._scan_later()

    def submit(self, call: Call, operation: Operation) -> None:
        """Carry out an operation through the gate."""
        self._gate.submit(self._node, call, operation)

    def refuse(self, call: Call, operation: Operation, refusal: EngineError) -> None:
        """Refuse an operation through the gate."""
        self._gate.refuse(self._node, call, operation, refusal)

    @property
    def page_cache_busy(self) -> bool:
        """True while a send has occupied its thread for more than `osPageCacheBusyTimeOutMills`.

        The broker then considers its disk too slow. Upstream measures the time for which an append has held the lock of
        the commit log (DefaultMessageStore.isOSPageCacheBusy).
        """
        longest_ms = self._pools[BrokerPool.SEND].longest_ms
        return longest_ms is not None and longest_ms > self._config.os_page_cache_busy_time_out_mills

    def refuse_to_store(self) -> None:
        """Refuse a message that reaches the store without a pool, while the page cache is busy. Raises SYSTEM_BUSY."""
        if self.page_cache_busy or self._refusals.get(BrokerPool.SEND) is RefusalForm.PC_SYNCHRONIZED:
            raise RefusalForm.PC_SYNCHRONIZED.refusal()

    def describe(self, pool: BrokerPool) -> tuple[int, int, int]:
        """Return the state of a pool's queue: waiting requests, wait of the first one in ms, and capacity."""
        threads = self._pools[pool]
        return len(threads.waiting), threads.head_wait_ms, threads.capacity

    # requests that have waited too long

    def _wait_ms(self, pool: BrokerPool) -> int | None:
        return None if pool.wait is None else int(getattr(self._config, pool.wait))

    def _scan_later(self) -> None:
        """Schedule the next scan: when the first request has waited too long, or when the page cache becomes busy."""
        if self._scan is not None:
            self._scan.cancel()
            self._scan = None
        if not self._config.broker_fast_failure_enable:
            return
        due = [
            threads.waiting[0][0] + wait_ms
            for pool, threads in self._pools.items()
            if threads.waiting and (wait_ms := self._wait_ms(pool)) is not None
        ]
        sends = self._pools[BrokerPool.SEND]
        if sends.waiting and (longest_ms := sends.longest_ms) is not None:
            due.append(self._scheduler.now_ms - longest_ms + self._config.os_page_cache_busy_time_out_mills + 1)
        if due:
            first_ms = self._first_scan.ms
            after_first_ms = max(min(due), self._scheduler.now_ms + 1) - first_ms
            at_ms = first_ms + max(-(-after_first_ms // SCAN_MS), 0) * SCAN_MS
            self._scan = self._scheduler.call_at(at_ms, self._scan_queues, TimerKind.REQUEST_QUEUES)

    def _scan_queues(self) -> None:
        self._scan = None
        now = self._scheduler.now_ms
        sends = self._pools[BrokerPool.SEND]
        while sends.waiting and self.page_cache_busy:
            since_ms, request = sends.waiting.popleft()
            request.refuse(RefusalForm.PCBUSY_CLEAN_QUEUE.refusal(now - since_ms, len(sends.waiting)))
        for pool, threads in self._pools.items():
            wait_ms = self._wait_ms(pool)
            while wait_ms is not None and threads.waiting and now - threads.waiting[0][0] >= wait_ms:
                since_ms, request = threads.waiting.popleft()
                request.refuse(RefusalForm.TIMEOUT_CLEAN_QUEUE.refusal(now - since_ms, len(threads.waiting)))
        self._scan_later()


_POOLS = {pool.title: pool for pool in BrokerPool}


def request_times_ms(config: BrokerConfig) -> dict[BrokerPool, int]:
    """Return the time (ms) for which requests occupy a thread, by pool, from `requestTimes`. Raises ConfigError."""
    return parse_times("requestTimes", config.request_times, _POOLS, example_pool=BrokerPool.SEND.title)


def request_refusals(config: BrokerConfig) -> dict[BrokerPool, RefusalForm]:
    """Return the form of immediate refusals, by pool, from `requestRefusals`. Raises ConfigError."""
    return parse_by_pool(
        "requestRefusals",
        config.request_refusals,
        _POOLS,
        _refusal_form,
        placeholder="FORM",
        example=f"{BrokerPool.SEND.title}={RefusalForm.OVERLOAD.name}",
    )


def _refusal_form(text: str) -> RefusalForm:
    forms = RefusalForm.__members__
    if text not in forms:
        raise ValueError(f"{text} is no form of a rejection; forms are {', '.join(forms)}")
    return forms[text]
