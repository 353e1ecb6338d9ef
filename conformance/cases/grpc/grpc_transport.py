"""Calls to the gRPC server that are not RPCs of RocketMQ, and malformed ones."""

import grpc
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...clients.grpc_response import Failure, failure_of
from ...context.grpc import GrpcContext
from ...helpers.consumer import consuming

_SERVICE = "/apache.rocketmq.v2.MessagingService/"


@grpc_case("ServerImpl.ServerTransportListenerImpl.streamCreated")
def an_unknown_method_or_service_is_unimplemented(t: GrpcContext) -> None:
    """A call of an unknown method or service returns UNIMPLEMENTED with its name."""
    for path in (
        f"{_SERVICE}Nothing",
        f"{_SERVICE}SyncLiteSubscription",
        "/apache.rocketmq.v2.Admin/ChangeLogLevel",
        "/apache.rocketmq.v1.MessagingService/QueryRoute",
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/Watch",
        "/nothing",
        "/",
    ):
        t.note(path, _raw(t, path, b""), "UNIMPLEMENTED")


@grpc_case("MessagingServiceGrpc.MessagingServiceImplBase.pullMessage")
def pull_and_offset_rpcs_are_unimplemented(t: GrpcContext) -> None:
    """Pull and offset RPCs are declared but UNIMPLEMENTED, for any request and headers."""
    for name in ("PullMessage", "UpdateOffset", "GetOffset", "QueryOffset"):
        t.note(name, _raw(t, _SERVICE + name, b""), "UNIMPLEMENTED")
        t.note(f"{name} without client id", _raw(t, _SERVICE + name, b"", client=None), "UNIMPLEMENTED")


@grpc_case("ServerImpl.JumpToApplicationThreadServerStreamListener.messagesAvailable")
def an_undecodable_request_ends_the_call_with_unknown(t: GrpcContext) -> None:
    """A request that cannot be decoded ends the call with UNKNOWN and no text."""
    for name in ("QueryRoute", "SendMessage", "Heartbeat", "AckMessage", "QueryAssignment", "EndTransaction"):
        t.note(name, _raw(t, _SERVICE + name, b"\xff\xff\xff"), "UNKNOWN")
    t.note("ReceiveMessage", _stream(t, _SERVICE + "ReceiveMessage", b"\xff\xff\xff"), "UNKNOWN")


@grpc_case("ProtoLiteUtils.MessageMarshaller.parse")
def unknown_fields_of_a_request_are_ignored(t: GrpcContext) -> None:
    """Unknown fields of a request are ignored."""
    topic = t.topic(kind="NORMAL", queues=1)
    request = sv.QueryRouteRequest(topic=pb.Resource(name=topic)).SerializeToString()
    unknown = b"\xfa\x3e\x03abc"  # field 1007, 3 bytes
    response = _raw(t, _SERVICE + "QueryRoute", request + unknown)
    t.note("response", response if isinstance(response, Failure) else sv.QueryRouteResponse.FromString(response).status)


@grpc_case("ProtoLiteUtils.MessageMarshaller.parse")
def a_request_of_0_bytes_counts_as_one_with_empty_fields(t: GrpcContext) -> None:
    """A request of 0 bytes counts as one with empty fields."""
    for rpc, response_type in (
        ("QueryRoute", sv.QueryRouteResponse),
        ("SendMessage", sv.SendMessageResponse),
        ("QueryAssignment", sv.QueryAssignmentResponse),
        ("AckMessage", sv.AckMessageResponse),
        ("EndTransaction", sv.EndTransactionResponse),
        ("ChangeInvisibleDuration", sv.ChangeInvisibleDurationResponse),
        ("ForwardMessageToDeadLetterQueue", sv.ForwardMessageToDeadLetterQueueResponse),
        ("RecallMessage", sv.RecallMessageResponse),
        ("Heartbeat", sv.HeartbeatResponse),
        ("NotifyClientTermination", sv.NotifyClientTerminationResponse),
    ):
        response = _raw(t, _SERVICE + rpc, b"", client=t.new("client"))
        t.note(rpc, response if isinstance(response, Failure) else response_type.FromString(response))


@grpc_case("HeaderInterceptor.interceptCall")
def unknown_binary_and_repeated_headers_do_not_affect_a_call(t: GrpcContext) -> None:
    """Unknown, binary and repeated headers do not affect a call."""
    topic = t.topic(kind="NORMAL", queues=1)
    request = sv.QueryRouteRequest(topic=pb.Resource(name=topic)).SerializeToString()
    for what, more in (
        ("unknown", [("x-anything", "1")]),
        ("binary", [("x-anything-bin", b"\x00\xff")]),
        ("repeated", [("x-mq-language", "CPP"), ("x-mq-language", "GOLANG")]),
        ("namespace", [("x-mq-namespace", "ns")]),
    ):
        response = _raw(t, _SERVICE + "QueryRoute", request, more=more)
        t.note(what, response if isinstance(response, Failure) else sv.QueryRouteResponse.FromString(response).status)


@grpc_case("ContextInterceptor.interceptCall")
def held_receives_do_not_block_other_calls_on_a_connection(t: GrpcContext) -> None:
    """Held calls do not block other calls on the same connection."""
    consumer = consuming(t)
    pending = [consumer.start_receive() for _ in range(20)]
    t.wait(0.5)
    watch = t.stopwatch()
    t.note("route", t.route(consumer.topic).status, pb.OK)
    t.note("after", watch.between(0, 2))
    t.wait(5)
    t.note("responses", [each().code for each in pending])


@grpc_case("GrpcServerBuilder.newBuilder")
def messages_of_4_mib_can_be_sent_and_received(t: GrpcContext) -> None:
    """Requests and responses of many megabytes are accepted."""
    consumer = consuming(t)
    for _ in range(4):
        t.note("sent", t.send(consumer.message(bytes(4 << 20))).status, pb.OK)
    sizes: list[int] = []
    for _ in range(4):
        if len(sizes) < 4:
            sizes += [len(each) for each in consumer.receive(deadline=20).bodies]
    t.note("received", sizes)


@grpc_case("ProtoReflectionService.serverReflectionInfo")
def the_server_lists_its_services_by_reflection(t: GrpcContext) -> None:
    """The server lists its services by reflection."""
    path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    call = t.channel.stream_stream(path)(iter([b"\x3a\x00"]), timeout=10)  # field 7, list_services: empty
    try:
        names = b"".join(bytes(each) for each in call)
        t.note("names the service", b"apache.rocketmq.v2.MessagingService" in names)
        t.note("names itself", b"grpc.reflection.v1alpha.ServerReflection" in names)
    except grpc.RpcError as error:
        t.note("failure", failure_of(error))


def _raw(
    t: GrpcContext,
    path: str,
    data: bytes,
    *,
    client: str | None = "client",
    more: list[tuple[str, str]] | list[tuple[str, bytes]] | None = None,
) -> bytes | Failure:
    """Call a unary method by its path with raw bytes, and return the response's bytes."""
    method = t.channel.unary_unary(path)
    try:
        response: bytes = method(data, timeout=10, metadata=[*t.metadata(client), *(more or [])], wait_for_ready=True)
    except grpc.RpcError as error:
        return failure_of(error)
    return response


def _stream(t: GrpcContext, path: str, data: bytes) -> list[bytes] | Failure:
    method = t.channel.unary_stream(path)
    try:
        return list(method(data, timeout=10, metadata=t.metadata("client"), wait_for_ready=True))
    except grpc.RpcError as error:
        return failure_of(error)
