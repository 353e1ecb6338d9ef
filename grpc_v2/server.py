"""The entry point: the methods of MessagingService for a gRPC transport, in front of an engine."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from .config import ProxyConfig
from .proxy import CallLater, Proxy
from .routes import Endpoint
from .services import RPCS
from .services.clients import end_session
from .services.transaction import check_transaction
from .sessions import Session, SessionRegistry
from .settings import delays_ms
from .transport import GrpcMethod

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.engine import Engine


class MessagingService:
    """The proxy of one engine: what a transport registers, and what a host may ask."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self.methods: list[GrpcMethod] = [
            GrpcMethod(rpc.path, rpc.kind, rpc.request.FromString, partial(proxy.serve, rpc)) for rpc in RPCS
        ]

    @property
    def config(self) -> ProxyConfig:
        """The keys; a change is felt by the next request."""
        return self._proxy.config

    @property
    def sessions(self) -> SessionRegistry:
        """Clients that have sent their settings."""
        return self._proxy.sessions

    def close(self) -> None:
        """Forget all clients and cancel their timers; the connections are the transport's."""
        self._proxy.sessions.close()


def messaging_service(
    *,
    engine: "Engine",
    endpoint: Endpoint,
    config: ProxyConfig,
    log: Callable[[str], None],
    call_later: CallLater | None = None,
) -> MessagingService:
    """The proxy of an engine.

    `endpoint` says at which address the client of a call reaches a broker. `log` takes a line, or a line and a
    traceback below it. `call_later` (a reactor's) is the wall clock; without it the engine's time is used, which a
    frozen engine never reaches. Raises ValueError when pushedConsumerBackoff is not a list of delays.
    """
    delays_ms(config.pushed_consumer_backoff)
    return MessagingService(Proxy(engine, endpoint, config, log, call_later, check_transaction, _expired))


def _expired(proxy: Proxy, session: Session) -> None:
    end_session(proxy, session, "session expired")
