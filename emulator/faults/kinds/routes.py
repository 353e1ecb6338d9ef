"""Faults of routes: missing, stale, or with an address at which no broker listens."""

from dataclasses import replace
from typing import Any

from ...gate.call import Outcome
from ...operations.cluster import GetRouteInfo, RouteResult, no_route
from ..cluster_control import ClusterControl
from ..errors import FaultError, shown
from ..events import RequestEvent, ResponseEvent
from ..fault import Fault, kind
from ..parameters import Optional, Text, parameter
from ..phase import Phase
from .standing import BROKER

ROUTE = (GetRouteInfo,)
DEAD = "127.0.0.1:9"
"""The port of the discard protocol, on which nothing listens."""
_PORT_MAX, _PORT_DIGITS_MAX = 65535, 5


@kind(
    "hide_route",
    layer="cluster",
    phases=(Phase.REQUEST,),
    operations=ROUTE,
    situation="A name server has no route of a topic: a broker registers it late, or a name server has restarted.",
)
class HideRoute(Fault):
    """Respond to queries for a route that there is none."""

    def on_request(self, event: RequestEvent) -> bool:
        """Refuse the query."""
        event.refuse(no_route(_topic(event)))
        return True


@kind(
    "stale_route",
    layer="cluster",
    phases=(Phase.RESPONSE,),
    operations=ROUTE,
    situation="A name server or a proxy's cache has an old route: removed brokers, or too few or too many queues.",
)
class StaleRoute(Fault):
    """Respond to queries for a route with the route as of the time at which the rule was added.

    Over gRPC the message types are the current ones, because a proxy in the broker's process reads them from the broker
    (LocalMetadataService, 5.3.3); those of a deleted topic are unspecified.
    """

    def on_added(self, cluster: ClusterControl, state: dict[Any, Any]) -> None:
        """Keep the routes of all topics."""
        state["routes"] = cluster.routes()

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Replace the route."""
        topic = _topic(event)
        route: RouteResult | None = event.firing.state["routes"].get(topic)
        if route is None:
            return no_route(topic)
        return replace(route, message_type=event.firing.cluster.message_type(topic))


@kind(
    "route_to_dead_broker",
    layer="cluster",
    phases=(Phase.RESPONSE,),
    operations=ROUTE,
    situation="A broker died or moved less than 2 min ago, and the name server still has its old address.",
)
class RouteToDeadBroker(Fault):
    """Put an address at which nothing listens into routes. In routes for gRPC it is the address of the proxy."""

    broker: str | None = parameter(
        Optional(BROKER), "name of the broker that has the address; by default all brokers", default=None
    )
    address: str = parameter(Text(DEAD), "the address, host:port", default=DEAD)

    def check(self) -> None:
        """Raise FaultError for an address without a port."""
        host, _, port = self.address.rpartition(":")
        if not host or not _is_port(port):
            raise FaultError(f"address={shown(self.address)}: not HOST:PORT; use {DEAD!r}")

    def check_brokers(self, cluster: ClusterControl) -> None:
        """Raise FaultError if there is no broker with the given name."""
        if self.broker is not None:
            cluster.check_broker(self.broker)

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Replace addresses."""
        route = event.outcome
        if not isinstance(route, RouteResult):
            return route
        members = [
            replace(member, address=self.address) if self.broker in (None, member.broker_name) else member
            for member in route.brokers
        ]
        return replace(route, brokers=members)


def _is_port(text: str) -> bool:
    return text.isdecimal() and len(text) <= _PORT_DIGITS_MAX and 0 < int(text) <= _PORT_MAX


def _topic(event: RequestEvent | ResponseEvent) -> str:
    assert isinstance(event.operation, GetRouteInfo), "the declaration limits the fault to this operation"
    return event.operation.topic or "null"
