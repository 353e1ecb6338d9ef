"""The thread pools that requests pass through, and the rejection of requests when a pool is full.

Requests run immediately, so nothing waits here unless a thread is occupied: by a request that waits for a slave, or for
the time in `grpcRequestTimes`. Source: GrpcMessagingApplication (5.3.3), whose rejection handler never matches, because
it looks for tasks of another class.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.gate.raw_request import Rejection
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.overload.thread_pool import ThreadPool

from ..config.proxy_config import ProxyConfig
from ..pools import Pool, refused_pools, times_ms
from ..proto import definition_pb2 as pb
from ..rules.status import Refusal
from .rpc_call import RpcCall

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker

KEEP_THEIR_THREAD = ("EndTransaction", "RecallMessage")
"""RPCs that wait for a slave on the thread of their pool."""
FLOW_LIMIT = Refusal(pb.TOO_MANY_REQUESTS, "flow limit")
"""The response to a rejected request, if `flowLimitAnswerEnable` is on."""
_WITHOUT_ANSWER = Rejection(None, "TOO_MANY_REQUESTS", "flow limit, without a response: flowLimitAnswerEnable=false")


_POOL_OF = {rpc: pool for pool in Pool for rpc in pool.rpcs}


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request in a pool."""

    call: RpcCall
    message: object

    def run(self, done: Callable[[], None]) -> None:
        """Start the request. It occupies its thread until its response if it is one of KEEP_THEIR_THREAD."""
        call = self.call
        if call.rpc.name not in KEEP_THEIR_THREAD:
            call.guard(call.rpc.start, call, self.message)
            done()
            return
        call.on_reply = done
        call.guard(call.rpc.start, call, self.message)

    def give_up(self) -> bool:
        """Return False: the proxy rejects no request that has waited."""
        return False


class RequestPools:
    """The pools of one proxy. Raises ConfigError for an unknown pool or an invalid time."""

    def __init__(self, scheduler: Scheduler, config: ProxyConfig, brokers: "Sequence[Broker]") -> None:
        self._answers = config.flow_limit_answer_enable
        self._refusing = refused_pools(config)
        self._pools = {pool: ThreadPool[Request](scheduler, pool.title) for pool in Pool}
        for pool, threads in self._pools.items():
            threads.threads = getattr(config, pool.threads)
            threads.capacity = getattr(config, pool.capacity)
        for pool, time_ms in times_ms(config).items():
            self._pools[pool].keeps_ms = time_ms
        self._brokers = brokers
        self._always_on = bool(self._refusing) or any(threads.keeps_ms for threads in self._pools.values())

    @property
    def on(self) -> bool:
        """True if a request can wait or be rejected.

        Otherwise requests need not enter. Brokers change while they run.
        """
        return self._always_on or any(broker.request_pools.on for broker in self._brokers)

    def enter(self, call: RpcCall, message: object) -> None:
        """Start a request when a thread is free.

        A rejected request gets no response unless `flowLimitAnswerEnable` is on.
        """
        pool = _POOL_OF.get(call.rpc.name)
        if pool is None:
            call.guard(call.rpc.start, call, message)
        elif pool in self._refusing or not self._pools[pool].take(Request(call, message)):
            if self._answers:
                call.refuse(FLOW_LIMIT)
            else:
                call.journal_refusal(_WITHOUT_ANSWER, call.message)
