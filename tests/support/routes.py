"""Route requests as clients of either protocol send them."""

import ssl

import grpc
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

QUERY_ROUTE = "/apache.rocketmq.v2.MessagingService/QueryRoute"


def query_route(channel: grpc.Channel, topic: str, client_id: str = "a client") -> sv.QueryRouteResponse:
    """Query the proxy for a route as an SDK does."""
    ask = channel.unary_unary(
        QUERY_ROUTE,
        request_serializer=sv.QueryRouteRequest.SerializeToString,
        response_deserializer=sv.QueryRouteResponse.FromString,
    )
    endpoints = pb.Endpoints(scheme=pb.IPv4, addresses=[pb.Address(host="192.0.2.1", port=8081)])
    request = sv.QueryRouteRequest(topic=pb.Resource(name=topic), endpoints=endpoints)
    metadata = (("x-mq-client-id", client_id), ("x-mq-language", "PYTHON"), ("x-mq-protocol", "v2"))
    answer: sv.QueryRouteResponse = ask(request, metadata=metadata, timeout=10)
    return answer


def endpoint_of(answer: sv.QueryRouteResponse) -> str:
    """Return the address of the first queue's broker."""
    (address,) = answer.message_queues[0].broker.endpoints.addresses
    return f"{address.host}:{address.port}"


def route_addresses(namesrv: str, topic: str, tls: ssl.SSLContext | None = None) -> str:
    """Return the body of a name server's route as text."""
    with RemotingClient(namesrv, tls=tls) as client:
        answer = client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        assert answer.code == 0, answer.remark
        return answer.body.decode()
