"""Brokers and proxies that stop, are killed or shut down gracefully, as their clients see it."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.client import RemotingTimeout
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients import grpc_requests
from ...clients.http2_connection import Http2ClientConnection
from ...clients.pending import Pending
from ...clients.remoting_response import DecodedResponse
from ...context.case_context import CaseContext
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext, connection_state
from ...deployment.target import Capability
from ...helpers.real_faults import try_connection
from ..client.go_away import FIRST_VERSION_WITH_GO_AWAY, GRACEFUL_SHUTDOWN, LAST_VERSION_WITHOUT_GO_AWAY

_STOP_SECONDS = 60


@contextmanager
def _killed(t: CaseContext) -> Iterator[None]:
    t.deployment.kill()
    try:
        yield
    finally:
        t.deployment.start()


def _end_of(pending: Pending) -> DecodedResponse | str:
    """Return the response to a request, or how its connection ended."""
    try:
        return pending(_STOP_SECONDS)
    except RemotingTimeout:
        return "no response"
    except ConnectionError as error:
        return "reset" if isinstance(error.__cause__, ConnectionResetError) else "closed"


def _note_down(t: RemotingContext, kill: bool) -> None:
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    waiting = t.start_pull(topic, group, offset=1, suspend_ms=20_000)
    t.settle()
    rule = {"then": {"stop_broker": {"broker": t.broker_name, "kill": kill}}}
    with t.faulty(rule, lambda: _killed(t) if kill else t.deployment.stopped()):
        t.note("waiting pull", _end_of(waiting))
        t.note("connection", connection_state(t.broker))
        t.note("new connection", try_connection(t))
        t.note("route", t.route(topic), 17)
        t.note("brokers", t.request(RequestCode.GET_BROKER_CLUSTER_INFO, to=t.namesrv).json)
    t.reconnect()
    t.note("route then", t.until(lambda: t.route(topic).code == 0))
    t.note("stored", t.stored(topic).bodies)
    t.note("sent then", t.send(topic, "then"), 0)


@remoting_case("BrokerController.shutdown", alone=True, needs={Capability.RESTART}, fault="stop_broker")
def a_stopped_broker_refuses_connections_and_has_no_route(t: RemotingContext) -> None:
    """A broker that shuts down closes its connections, refuses new ones, and leaves the name server's routes.

    It starts with its messages.
    """
    _note_down(t, kill=False)


@remoting_case("BrokerHousekeepingService.onChannelClose", alone=True, needs={Capability.CRASH}, fault="stop_broker")
def a_killed_broker_refuses_connections_and_has_no_route(t: RemotingContext) -> None:
    """A broker whose process is killed loses its routes at once, because its connection to the name server ends."""
    _note_down(t, kill=True)


def _note_proxy_down(t: GrpcContext, kill: bool) -> None:
    topic = t.topic(queues=1)
    t.sent(topic, 1)
    rule = {"then": {"stop_broker": {"broker": t.broker_name, "kill": kill}}}
    endpoint = t.deployment.access.endpoint
    with Http2ClientConnection(endpoint) as connection:
        query = grpc_requests.route(topic, t.endpoints()).SerializeToString()
        connection.call(1, "QueryRoute", query, dict(t.metadata("client")))
        connection.until_ended(1, 10)
        with t.faulty(rule, lambda: _killed(t) if kill else t.deployment.stopped()):
            events = connection.until_closed(_STOP_SECONDS)
            # This client does not acknowledge the PING of a graceful shutdown, so the frames before the end depend on
            # time. The case of `go_away` compares them.
            t.note("connection", events if kill else events[-1])
            t.note("new connection", try_connection(t, endpoint))
    t.reconnect()
    t.note("sent then", t.send(t.message(topic)).status, pb.OK)
    t.note("stored", t.max_offset(topic))


@grpc_case("ProxyStartup.main", alone=True, needs={Capability.RESTART}, fault="stop_broker")
def a_proxy_in_the_brokers_process_stops_with_it(t: GrpcContext) -> None:
    """The proxy ends its connections and refuses new ones while the only broker, which contains it, is stopped."""
    _note_proxy_down(t, kill=False)


@grpc_case("ProxyStartup.main", alone=True, needs={Capability.CRASH}, fault="stop_broker")
def a_proxy_in_the_brokers_process_is_killed_with_it(t: GrpcContext) -> None:
    """The connections to the proxy end without GOAWAY if the only broker, which contains it, is killed."""
    _note_proxy_down(t, kill=True)


@remoting_case(
    "NettyRemotingAbstract.processRequestCommand",
    real=GRACEFUL_SHUTDOWN,
    alone=True,
    needs={Capability.RESTART},
    fault="respond",
)
def a_broker_that_shuts_down_responds_with_go_away(t: RemotingContext) -> None:
    """During a graceful shutdown a send returns GO_AWAY and is not stored. The connection stays open."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    client = t.connect(version=FIRST_VERSION_WITH_GO_AWAY)
    older = t.connect(version=LAST_VERSION_WITHOUT_GO_AWAY)
    rule = {
        "when": {"operation": "SendMessage"},
        "then": {"respond": {"code": "GO_AWAY", "remark": "please go away"}},
    }

    @contextmanager
    def shutting_down() -> Iterator[None]:
        stopping = t.stopping()
        refused = t.until(lambda: t.send(topic, "early", to=client).code == 1500, _STOP_SECONDS)
        t.require(refused, f"no send returned GO_AWAY within {_STOP_SECONDS} s after the start of the shutdown")
        yield
        stopping.join(_STOP_SECONDS)

    with t.faulty(rule, shutting_down):
        t.note("sent", t.send(topic, "refused", to=client), 1500)
        t.note("sent again", t.send(topic, "refused", to=client), 1500)
        t.note("stored", "refused" in t.pull(topic, group, to=older).bodies)


@grpc_case("NettyServerHandler.GracefulShutdown.start", alone=True, needs={Capability.RESTART}, fault="go_away")
def a_proxy_that_shuts_down_sends_goaway_and_completes_open_streams(t: GrpcContext) -> None:
    """A proxy that shuts down sends GOAWAY and a ping, a second GOAWAY, and closes after the last open stream."""
    topic, group = t.topic(queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    metadata = {**dict(t.metadata(client)), "grpc-timeout": "20S"}
    t.end_streams()  # an open telemetry stream delays a shutdown by 30 s
    stops: list[Thread] = []
    rule = {"when": {"operation": "GetRouteInfo"}, "then": "go_away"}
    with Http2ClientConnection(t.deployment.access.endpoint) as connection:
        waiting = t.receive_request(topic, group, await_s=5)
        connection.call(1, "ReceiveMessage", waiting.SerializeToString(), metadata)

        @contextmanager
        def shutting_down() -> Iterator[None]:
            yield
            stops.append(t.stopping())

        with t.faulty(rule, shutting_down):
            connection.call(3, "QueryRoute", grpc_requests.route(topic, t.endpoints()).SerializeToString(), metadata)
            t.require(connection.until_ended(3, 10)[-1] == "stream 3 ended", "the route was not returned")
        t.note("announced", connection.until_event("GOAWAY NO_ERROR, last stream 3", _STOP_SECONDS))
        t.wait(6)
        t.note("afterwards", connection.until_closed(_STOP_SECONDS))
    for each in stops:
        each.join(_STOP_SECONDS)
