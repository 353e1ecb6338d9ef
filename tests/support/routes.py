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
    response = GrpcClient(channel).call("QueryRoute", request, client=client_id, deadline=10)
    assert isinstance(response, sv.QueryRouteResponse), response
    return response


def endpoint_of(response: sv.QueryRouteResponse) -> str:
    """Return the address of the first queue's broker."""
    (address,) = response.message_queues[0].broker.endpoints.addresses
    return f"{address.host}:{address.port}"


def route_addresses(namesrv: str, topic: str, tls: ssl.SSLContext | None = None) -> str:
    """Return the body of a name server's route as text."""
    with RemotingClient(namesrv, tls=tls) as client:
        response = client.request(*route_request(topic))
        assert response.code == 0, response.remark
        return response.body.decode()
