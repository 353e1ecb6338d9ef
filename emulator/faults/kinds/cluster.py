"""Faults of a cluster: brokers and name servers that stop, flap, or cannot be reached by one client."""

from typing import Any

from ...gate.call import Node, Outcome
from ...kernel.scheduler import Timer
from ..addresses import check_address, matches_address
from ..client_call import Line
from ..cluster_control import ClusterControl, StandingFault, Undo
from ..errors import FaultError
from ..events import ConnectEvent, PushEvent, RequestEvent, ResponseEvent
from ..fault import Fault, kind
from ..parameters import Flag, OneOf, Optional, PositiveDurationCheck, Text, given, parameter
from ..phase import Phase
from ..times import ms_of
from .standing import BROKER, STANDING, StandingKind, lasting, of_brokers


@kind(
    "stop_broker",
    layer="cluster",
    phases=STANDING,
    situation="A broker is restarted, crashes, or loses its machine; routes change as with a real name server.",
)
class StopBroker(StandingKind):
    """Stop a broker and close its port. At the end of the fault it starts with its stored data."""

    broker: str = parameter(BROKER, "name of the broker; of a slave, with its id: `broker-a:1`")
    duration: str | None = lasting()
    kill: bool = parameter(Flag(), "true: as a crash of the process; false: gracefully", default=False)

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Stop the broker."""
        return cluster.stop_broker(self.broker, kill=self.kill)


@kind(
    "restart_broker",
    layer="cluster",
    phases=STANDING,
    situation="A broker is restarted by its operator or its supervisor: an update, a crash of its process.",
)
class RestartBroker(StandingKind):
    """Restart a broker at once, with its stored data. Its connections and those of the proxy break.

    In the phase `request` the request that fires the rule is lost. In the phase `response` the broker has carried it
    out, and the response is lost. Without a request the broker restarts when the rule is added, or at its `start`. A
    broker that is stopped stays stopped.
    """

    broker: str | None = of_brokers("name of the broker; by default that of the request, or all brokers without one")
    kill: bool = parameter(Flag(), "true: after a crash of the process; false: gracefully", default=False)

    @property
    def duration_ms(self) -> int | None:
        """None: a restart is over at once."""
        return None

    @property
    def loses_exchange(self) -> bool:
        """True: the connection of the request breaks."""
        return True

    def begin_at(self, cluster: ClusterControl, node: Node | None) -> StandingFault | None:
        """Restart the broker of the parameter, that of the request, or all."""
        cluster.restart_broker(self.broker, node, kill=self.kill)
        return None

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Restart the broker of the parameter, or all."""
        self.begin_at(cluster, None)
        return Undo(lambda: None)


@kind(
    "flap_broker",
    layer="cluster",
    phases=STANDING,
    situation="A broker that crashes again and again: out of memory, a failing disk, a restart loop.",
)
class FlapBroker(StandingKind):
    """Stop and start a broker repeatedly. It is stopped first, and runs at the end."""

    broker: str = parameter(BROKER, "name of the broker; of a slave, with its id: `broker-a:1`")
    down: str = parameter(PositiveDurationCheck(), "time for which the broker is stopped", default="5s")
    up: str = parameter(PositiveDurationCheck(), "time for which the broker runs", default="5s")
    duration: str | None = lasting()
    kill: bool = parameter(Flag(), "true: as a crash of the process; false: gracefully", default=True)

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Stop the broker for the first time."""
        return Flapping(cluster, self)


class Flapping:
    """A broker that stops and starts repeatedly."""

    def __init__(self, cluster: ClusterControl, fault: FlapBroker) -> None:
        self._cluster = cluster
        self._fault = fault
        self._stop: StandingFault | None = None
        self._timer: Timer | None = None
        self._go_down()

    def _go_down(self) -> None:
        self._stop = self._cluster.stop_broker(self._fault.broker, kill=self._fault.kill)
        self._timer = self._cluster.later(ms_of(self._fault.down), self._go_up)

    def _go_up(self) -> None:
        if self._stop is not None:
            self._stop.end()
            self._stop = None
        self._timer = self._cluster.later(ms_of(self._fault.up), self._go_down)

    def end(self) -> None:
        """Let the broker run."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._stop is not None:
            self._stop.end()
            self._stop = None


@kind(
    "stop_name_server",
    layer="cluster",
    phases=STANDING,
    situation="All name servers are down: clients keep the routes that they have, and find no others.",
)
class StopNameServer(StandingKind):
    """Stop the name server for clients of the remoting protocol and close its port.

    The proxy has the routes in its cache. If the name server shares its port with a broker, the port stays open and
    requests to the name server get no response.
    """

    duration: str | None = lasting()

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Stop the name server."""
        return cluster.stop_name_server()


@kind(
    "partition",
    layer="cluster",
    phases=(Phase.CONNECT, Phase.REQUEST, Phase.RESPONSE, Phase.PUSH),
    in_all_phases=True,
    situation="A network failure between one client and its brokers: a firewall, a broken link, a paused machine.",
)
class Partition(Fault):
    """Cut one client off: requests, responses, pushes and new connections of the client are lost.

    Open connections are cut as well: they stay open and transport nothing, or end with a reset at their next request.
    A client id is known once a connection has named it: remoting connections do so with their first heartbeat, gRPC
    requests always. Connections to the name server never do; cut them by address.
    """

    SCHEMA = {"anyOf": [given("client"), given("address")]}
    client: str | None = parameter(Optional(Text("client-1")), "client id of the client", default=None)
    address: str | None = parameter(
        Optional(Text("10.0.0.7")),
        "IP address of the client, a pattern such as `10.0.*`, or `localhost` for both loopback addresses",
        default=None,
    )
    how: str = parameter(
        OneOf("silent", "reset"), "`silent` (open connections stay open), or `reset` of them", default="silent"
    )

    def check(self) -> None:
        """Raise FaultError unless a client is given by its id or IP address."""
        if self.address is not None:
            check_address("address", self.address)
        if self.client is None and self.address is None:
            raise FaultError("partition without a client; give its client id or its address, such as client='client-1'")

    def selects(self, facts: Any, state: dict[Any, Any]) -> bool:
        """True for an event of the client. Its connections are remembered: later requests may not name the client."""
        if self.address is not None and matches_address(facts.address, self.address):
            return True
        if self.client is None:
            return False
        connections: set[str] = state.setdefault("connections", set())
        if facts.channel_id not in connections and self.client not in facts.clients:
            return False
        connections.add(facts.channel_id)
        return True

    def on_connect(self, event: ConnectEvent) -> None:
        """Refuse or ignore a new connection."""
        if self.how == "reset":
            event.connection.refuse()
        else:
            event.connection.ignore()

    def on_request(self, event: RequestEvent) -> bool:
        """Lose a request."""
        self._cut(event.call.line)
        event.call.abandon()
        return True

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Lose the response to an earlier request."""
        return event.intercept(lambda response: self._cut(response.line), loses=True)

    def on_push(self, event: PushEvent) -> bool:
        """Lose a push."""
        return True

    def _cut(self, line: Line) -> None:
        if self.how == "reset":
            line.reset()
