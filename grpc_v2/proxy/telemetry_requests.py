"""Requests to clients on their telemetry streams. The client's response carries the request's nonce.

If the client does not respond in time, the proxy responds SYSTEM_BUSY on its behalf. Source: GrpcChannelManager
(5.3.3).
"""

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.timer_kind import TimerKind

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.kernel.scheduler import Scheduler, Timer

    from ..config.proxy_config import ProxyConfig

SCAN_PERIOD_MS = 1_000
"""Period of upstream's scan for timed-out requests, in ms."""


class RelayResult(NamedTuple):
    """The response to the broker that sent a request to a client. Source: ProxyRelayResult (5.3.3)."""

    code: ResponseCode
    remark: str
    body: bytes = b""


class PendingRequests:
    """Requests that the proxy forwarded to clients and that are still pending."""

    def __init__(self, scheduler: "Scheduler", config: "ProxyConfig") -> None:
        self._scheduler = scheduler
        self._config = config
        self._start_ms = scheduler.now_ms
        self._nonces = count()
        self._waiting: dict[str, tuple[Callable[[RelayResult], None], Timer]] = {}

    def register(self, callback: Callable[[RelayResult], None], client_id: str) -> str:
        """Register a request and return its nonce.

        `callback` gets the client's response, or SYSTEM_BUSY after grpcProxyRelayRequestTimeoutInSeconds.
        """
        nonce = str(next(self._nonces))
        limit_ms = self._config.grpc_proxy_relay_request_timeout_in_seconds * 1000
        scans = (self._scheduler.now_ms + limit_ms - self._start_ms) // SCAN_PERIOD_MS + 1
        due_ms = self._start_ms + scans * SCAN_PERIOD_MS
        timer = self._scheduler.call_at(due_ms, lambda: self._time_out(nonce), TimerKind.GRPC_CLIENT_REQUEST, client_id)
        self._waiting[nonce] = callback, timer
        return nonce

    def pop_callback(self, nonce: str) -> Callable[[RelayResult], None] | None:
        """Remove a pending request and return its callback. None if no request has this nonce."""
        found = self._waiting.pop(nonce, None)
        if found is None:
            return None
        callback, timer = found
        timer.cancel()
        return callback

    def discard_all(self) -> None:
        """Discard all pending requests without calling their callbacks."""
        for nonce in list(self._waiting):
            self.pop_callback(nonce)

    def _time_out(self, nonce: str) -> None:
        callback = self.pop_callback(nonce)
        if callback is not None:
            callback(RelayResult(ResponseCode.SYSTEM_BUSY, "call remote timeout"))
