"""Route requests as clients of either protocol send them."""

import ssl

import grpc
from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient
from rocketmq_testkit.conformance.clients.remoting_topics import route_request
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import RemotingClient

ENDPOINTS = grpc_requests.endpoints("192.0.2.1:8081")


def query_route(channel: grpc.Channel, topic: str, client_id: str = "a client") -> sv.QueryRouteResponse:
    """Query the proxy for a route as an SDK does."""
    request = grpc_requests.route(topic, ENDPOINTS)
    answer = GrpcClient(channel).call("QueryRoute", request, client=client_id, deadline=10)
    assert isinstance(answer, sv.QueryRouteResponse), answer
    return answer


def endpoint_of(answer: sv.QueryRouteResponse) -> str:
    """Return the address of the first queue's broker."""
    (address,) = answer.message_queues[0].broker.endpoints.addresses
    return f"{address.host}:{address.port}"


def route_addresses(namesrv: str, topic: str, tls: ssl.SSLContext | None = None) -> str:
    """Return the body of a name server's route as text."""
    with RemotingClient(namesrv, tls=tls) as client:
        answer = client.request(*route_request(topic))
        assert answer.code == 0, answer.remark
        return answer.body.decode()
