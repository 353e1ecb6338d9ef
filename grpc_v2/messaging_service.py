"""The proxy as its host uses it: methods of MessagingService for a gRPC transport, and the state of their clients."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from rocketmq_testkit.emulator.gate.gate import Gate
from rocketmq_testkit.emulator.gate.raw_request import Rejection

from .config.proxy_config import ProxyConfig
from .proxy.client_state import ClientState
from .proxy.proxy import CLIENT_ID
from .proxy.proxy_node import ProxyNode
from .proxy.raw_requests import raw_request
from .proxy.receive_metrics import RECEIVE, ReceiveMetrics
from .proxy.reflection import Reflection
from .proxy.request_pools import ProxyRequestPools
from .proxy.route_cache import RouteCache
from .proxy.rpc_call import NODE
from .proxy.rpc_table import SERVICE
from .proxy.sessions import SessionChannel
from .transport import GrpcMethod
from .transport.grpc.call import ConnectionAttributes
from .transport.grpc.health import HealthService, ServingStatus
from .transport.grpc.refused_calls import RefusedCall


class MessagingService:
    """A proxy: iteration yields the methods for a transport to register; the rest is for the host.

    `rpcs` are the methods of the protobuf service MessagingService. Reflection and, if configured, health checks are
    added. `tick` advances the engine's time to now.
    """

    def __init__(
        self,
        rpcs: Iterable[GrpcMethod],
        *,
        config: ProxyConfig,
        clients: ClientState,
        route_cache: RouteCache,
        node: ProxyNode,
        pools: ProxyRequestPools,
        gate: Gate,
        tick: Callable[[], None],
    ) -> None:
        self.clients = clients
        """The clients that have sent their settings, and what is held for them."""
        self._route_cache = route_cache
        self._node = node
        self._pools = pools
        self._gate = gate
        self._tick = tick
        self.methods: list[GrpcMethod] = [*rpcs, *Reflection().methods()]
        self._health = HealthService() if config.grpc_health_enable else None
        if self._health is not None:
            self.methods += self._health.methods()

    def __iter__(self) -> Iterator[GrpcMethod]:
        return iter(self.methods)

    def metrics(self) -> Mapping[str, ReceiveMetrics]:
        """Return a snapshot of the proxy's counters, by the name of each group of counters."""
        return {RECEIVE: self.clients.polls.metrics()}

    def journal_refused(self, facts: ConnectionAttributes, call: RefusedCall) -> None:
        """Journal a call or a connection that the transport rejected."""
        head = call.head
        self._tick()
        metadata = {} if head is None else head.metadata
        client = SessionChannel(metadata.get(CLIENT_ID) or "{}:{}".format(*facts.peer), facts.peer, None).channel_id
        label = "CONNECTION" if head is None else head.path.removeprefix(SERVICE)
        outcome = Rejection(call.code, call.name, call.text)
        self._gate.record_refusal(NODE, client, label, raw_request(metadata, None), outcome=outcome)

    def close(self) -> None:
        """Discard all clients and cancel their timers. The transport closes the connections."""
        if self._health is not None:
            self._health.set("", ServingStatus.NOT_SERVING)
        self.discard()

    def discard(self) -> None:
        """Discard all clients and the cache of routes, as a crash of the proxy does. The service continues."""
        self.clients.discard()
        self._route_cache.clear()
        self._node.end_run()
        self._pools.release_lost()
