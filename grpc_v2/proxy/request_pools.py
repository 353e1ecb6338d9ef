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

from ..config.pools import ProxyPool, refused_pools, request_times_ms
from ..config.proxy_config import ProxyConfig
from ..proto import definition_pb2 as pb
from ..rules.status import Refusal
from .rpc_call import RpcCall

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker

FLOW_LIMIT = Refusal(pb.TOO_MANY_REQUESTS, "flow limit")
"""The response to a rejected request, if `flowLimitAnswerEnable` is on."""
_WITHOUT_RESPONSE = Rejection(None, "TOO_MANY_REQUESTS", "flow limit, without a response: flowLimitAnswerEnable=false")


@dataclass(frozen=True, slots=True, eq=False)
class ProxyRequest:
    """A request in a pool. `occupants` are the calls that occupy a thread until their response."""

    call: RpcCall
    message: object
    occupants: dict[RpcCall, None]

    def run(self, done: Callable[[], None]) -> None:
        """Start the request. It occupies its thread until its response if its RPC `blocks_thread`."""
        call = self.call
        if not call.rpc.blocks_thread:
            call.start(self.message)
            done()
            return

        def release() -> None:
            del self.occupants[call]
            done()

        self.occupants[call] = None
        call.release_after_reply(release)
        call.start(self.message)

    def end_before_start(self) -> bool:
        """Return False: the proxy rejects no request that has waited."""
        return False


class ProxyRequestPools:
    """The pools of one proxy. Raises ConfigError for an unknown pool or an invalid time."""

    def __init__(self, scheduler: Scheduler, config: ProxyConfig, brokers: "Sequence[Broker]") -> None:
        self._responds = config.flow_limit_answer_enable
        self._refusing_pools = refused_pools(config)
        self._pools = {pool: ThreadPool[ProxyRequest](scheduler, pool.title) for pool in ProxyPool}
        for pool, threads in self._pools.items():
            threads.threads = getattr(config, pool.threads)
            threads.capacity = getattr(config, pool.capacity)
        for pool, time_ms in request_times_ms(config).items():
            self._pools[pool].service_ms = time_ms
        self._brokers = brokers
        self._occupants: dict[RpcCall, None] = {}
        self._always_active = bool(self._refusing_pools) or any(threads.service_ms for threads in self._pools.values())
        self.is_active = False
        """True if requests may have to wait or be rejected; if False, callers skip the pools."""
        self.update()

    def update(self) -> None:
        """Update `is_active` after a change of a broker's pools: a request through them may occupy a thread here."""
        self.is_active = self._always_active or any(broker.request_pools.is_active for broker in self._brokers)

    def release_lost(self) -> None:
        """Release the threads of requests that were lost when a run of their broker or of the proxy ended."""
        for call in [each for each in self._occupants if each.is_lost]:
            call.release()

    def enter(self, call: RpcCall, message: object) -> None:
        """Start a request when a thread is free.

        A rejected request gets no response unless `flowLimitAnswerEnable` is on.
        """
        pool = call.rpc.pool
        if pool is None:
            call.start(message)
        elif pool in self._refusing_pools or not self._pools[pool].submit(ProxyRequest(call, message, self._occupants)):
            if self._responds:
                call.reject(FLOW_LIMIT)
            elif call.rpc.gate.rules is None:
                _ignore(call)
            else:
                from .proxy_only_call import obey_rules

                obey_rules(call, _ignore, responds=False)


def _ignore(call: RpcCall) -> None:
    """Journal a rejected request, which gets no response."""
    call.journal_refusal(_WITHOUT_RESPONSE, call.message)
