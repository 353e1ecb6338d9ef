"""Entry point of the proxy: the methods of MessagingService for a gRPC transport, backed by an engine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.gate.raw_request import Rejection

from .config.proxy_config import ProxyConfig
from .config_checks import check
from .proxy.proxy import CLIENT_ID, CallLater, Proxy
from .proxy.raw_requests import raw_request
from .proxy.receive_metrics import ReceiveMetrics
from .proxy.receive_polls import nothing_new
from .proxy.reflection import Reflection
from .proxy.routes import Endpoint
from .proxy.rpc_call import NODE
from .proxy.rpc_table import SERVICE
from .proxy.sessions import Session, SessionChannel, SessionRegistry
from .rules.request_size import decoder
from .services import RPCS
from .services.clients import end_session
from .services.pushes import pushed
from .transport import GrpcMethod
from .transport.grpc.call import ConnectionFacts
from .transport.grpc.health import HealthService, ServingStatus
from .transport.grpc.refused import RefusedCall

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker
    from rocketmq_testkit.emulator.engine import Engine


class MessagingService:
    """A proxy: iteration yields the methods for a transport to register; the rest is for the host."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self.methods: list[GrpcMethod] = [
            *(GrpcMethod(rpc.path, rpc.kind, decoder(rpc.request), partial(proxy.serve, rpc)) for rpc in RPCS),
            *Reflection().methods(),
        ]
        self._health = HealthService() if proxy.config.grpc_health_enable else None
        if self._health is not None:
            self.methods += self._health.methods()

    def __iter__(self) -> Iterator[GrpcMethod]:
        return iter(self.methods)

    @property
    def config(self) -> ProxyConfig:
        """The configuration. A change affects the next request."""
        return self._proxy.config

    @property
    def sessions(self) -> SessionRegistry:
        """The clients that have sent their settings."""
        return self._proxy.sessions

    @property
    def receive_metrics(self) -> ReceiveMetrics:
        """A snapshot of the counters of receives."""
        return replace(self._proxy.polls.metrics)

    def expire(self, client_id: str) -> None:
        """End the session of a client and its receives, as if it had sent nothing for too long."""
        session = self._proxy.sessions.end(client_id)
        if session is not None:
            for poll in list(session.polls):  # the polls of a silent client would have ended long before
                poll.end(nothing_new())
            _expired(self._proxy, session)

    def refused(self, facts: ConnectionFacts, call: RefusedCall) -> None:
        """Journal a call or a connection that the transport rejected."""
        proxy, head = self._proxy, call.head
        proxy.tick()
        metadata = {} if head is None else head.metadata
        client = SessionChannel(metadata.get(CLIENT_ID) or "{}:{}".format(*facts.peer), facts.peer, None).channel_id
        label = "CONNECTION" if head is None else head.path.removeprefix(SERVICE)
        outcome = Rejection(call.code, call.name, call.text)
        proxy.engine.gate.refused(NODE, client, label, raw_request(metadata, None), outcome)

    def forget_clients(self) -> None:
        """Discard all clients without any follow-up, as in a crash of the proxy."""
        self._proxy.forget()

    def close(self) -> None:
        """Discard all clients and cancel their timers. The transport closes the connections."""
        if self._health is not None:
            self._health.set("", ServingStatus.NOT_SERVING)
        self._proxy.forget()


def messaging_methods(
    *,
    engine: "Engine",
    endpoint: Endpoint,
    config: ProxyConfig,
    log: Callable[[str], None],
    brokers: "Sequence[Broker] | None" = None,
    tick: Callable[[], None] | None = None,
    call_later: CallLater | None = None,
) -> MessagingService:
    """Create a proxy for brokers of an engine (default: all of them).

    - `endpoint` returns the address at which the client of a call reaches a broker.
    - `log` takes one line, or a line followed by a traceback.
    - `tick` runs before each request and advances the engine's time to now.
    - `call_later` schedules by the wall clock (a reactor's `callLater`). Without it the engine's time is used, which
      does not advance while it is frozen.

    Raises ConfigError if a key that holds a list is invalid.
    """
    check(config)
    fronted = engine.brokers if brokers is None else brokers
    return MessagingService(
        Proxy(engine, fronted, endpoint, config, log, tick or _no_tick, call_later, pushed, _expired)
    )


def _no_tick() -> None:
    """Do nothing: another component advances the engine's time."""


def _expired(proxy: Proxy, session: Session) -> None:
    end_session(proxy, session, "session expired")
