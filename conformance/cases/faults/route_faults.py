"""Routes that are missing, stale or name a dead address, as clients see them."""

from contextlib import nullcontext

from rocketmq_testkit.emulator.faults.kinds.routes import DEAD
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...context.case_context import CaseContext
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext, connection_state
from ...helpers.real_faults import hidden_route, registered_with_address, registered_with_queues, try_connection

OFTEN_REGISTERED = {"registerNameServerPeriod": "10000"}
"""A broker registers itself every 10 s, so that a name server knows it soon after a restart."""
RARE_REGISTRATION = {"registerNameServerPeriod": "60000"}
"""A broker registers itself once a minute, and after each change of a topic."""


def _query(kind: str, topic: str, **parameters: str) -> dict[str, object]:
    return {"when": {"operation": "GetRouteInfo", "topic": topic}, "then": {kind: parameters}}


@remoting_case("RouteInfoManager.pickupTopicRouteData", real=RARE_REGISTRATION, alone=True, fault="hide_route")
def a_route_that_the_name_server_lacks_is_not_found(t: RemotingContext) -> None:
    """A name server that does not know a topic of a broker returns TOPIC_NOT_EXIST. The broker serves the topic."""
    topic = t.topic(queues=1)
    with t.faulty(_query("hide_route", topic), lambda: hidden_route(t, topic)):
        t.note("route", t.route(topic), 17)
        t.note("sent", t.send(topic, "direct"), 0)
    t.note("route then", t.until(lambda: t.route(topic).code == 0))
    t.note("stored", t.stored(topic).bodies)


@grpc_case("RouteActivity.queryRoute", real=RARE_REGISTRATION, alone=True, fault="hide_route")
def a_route_that_the_proxy_cannot_find_is_topic_not_found(t: GrpcContext) -> None:
    """A proxy whose name server does not know a topic returns TOPIC_NOT_FOUND for its route and assignment."""
    topic, group = t.topic(queues=1), t.group()
    with t.faulty(_query("hide_route", topic), lambda: hidden_route(t, topic)):
        t.note("route", t.route(topic), pb.TOPIC_NOT_FOUND)
        t.note("assignment", t.assignment(topic, group), pb.TOPIC_NOT_FOUND)
    t.note("stored", t.max_offset(topic))


@remoting_case("RouteInfoManager.registerBroker", real=RARE_REGISTRATION, alone=True, fault="stale_route")
def a_stale_route_has_the_old_number_of_queues(t: RemotingContext) -> None:
    """A name server that has not noticed a change of a topic returns the old route. The broker serves all queues."""
    topic = t.topic(queues=1)
    rule = _query("stale_route", topic)
    with t.faulty(rule, lambda: registered_with_queues(t, topic, queues=1, real_queues=4)):
        if t.config_of(topic).json["writeQueueNums"] != 4:
            t.topic(name=topic, queues=4)
        t.note("route", t.route(topic), 0)
        t.note("sent", t.send(topic, queue=3), 0)
    t.topic(name=topic, queues=5)
    t.note("route then", t.route(topic), 0)


@grpc_case("TopicRouteService.getAllMessageQueueView", alone=True, fault="stale_route")
def a_proxy_with_a_stale_route_returns_that_of_a_deleted_topic(t: GrpcContext) -> None:
    """A proxy returns the route of a deleted topic until its cache expires."""
    topic = t.topic(queues=1)
    t.note("route", t.route(topic), pb.OK)
    with t.faulty(_query("stale_route", topic), nullcontext):
        _delete(t, topic)
        t.note("route after the deletion", t.route(topic), pb.OK)


def _delete(t: CaseContext, topic: str) -> None:
    for connection in (t.broker, t.namesrv):
        code = RequestCode.DELETE_TOPIC_IN_BROKER if connection is t.broker else RequestCode.DELETE_TOPIC_IN_NAMESRV
        deleted = t.request(code, {"topic": topic}, to=connection)
        t.require(deleted.code == 0, f"the topic was not deleted: {deleted}")


@remoting_case("RouteInfoManager.registerBroker", real=RARE_REGISTRATION, alone=True, fault="route_to_dead_broker")
def a_route_to_a_dead_broker_has_an_address_that_refuses_connections(t: RemotingContext) -> None:
    """A name server that has not noticed the new address of a broker returns the old one, which refuses connections."""
    topic = t.topic(queues=1)
    with t.faulty(_query("route_to_dead_broker", topic, address=DEAD), lambda: registered_with_address(t, DEAD)):
        route = t.note("route", t.route(topic), 0)
        [broker] = route.json["brokerDatas"]
        t.note("connection", try_connection(t, broker["brokerAddrs"]["0"]))
        t.note("sent", t.send(topic), 0)
    t.note("route then", t.route(topic), 0)


@remoting_case("NettyRemotingServer.shutdown", real=OFTEN_REGISTERED, alone=True, fault="stop_name_server")
def without_a_name_server_brokers_serve_those_who_know_them(t: RemotingContext) -> None:
    """A stopped name server closes its connections and refuses new ones. Brokers serve clients that know them."""
    topic = t.topic(queues=1)
    with t.faulty({"then": "stop_name_server"}, t.deployment.name_server_stopped):
        t.note("connection", connection_state(t.namesrv))
        t.note("new connection", try_connection(t, t.deployment.access.namesrv))
        t.note("sent", t.send(topic, "meanwhile"), 0)
    t.reconnect()
    t.note("route then", t.until(lambda: t.route(topic).code == 0, 60))
    t.note("stored", t.stored(topic).bodies)


@grpc_case("TopicRouteService.getAllMessageQueueView", real=OFTEN_REGISTERED, alone=True, fault="stop_name_server")
def without_a_name_server_a_proxy_serves_known_topics(t: GrpcContext) -> None:
    """A proxy has the routes of topics in its cache and serves them while the name server is stopped."""
    topic = t.topic(queues=1)
    t.note("sent", t.send(t.message(topic)).status, pb.OK)
    t.note("route", t.route(topic).status, pb.OK)
    with t.faulty({"then": "stop_name_server"}, t.deployment.name_server_stopped):
        t.note("new connection", try_connection(t, t.deployment.access.namesrv))
        t.note("route without a name server", t.route(topic).status, pb.OK)
        t.note("sent without a name server", t.send(t.message(topic)).status, pb.OK)
    t.reconnect()
    t.note("stored", t.max_offset(topic))
