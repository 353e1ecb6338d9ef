"""Calls to the gRPC server that are not RPCs of RocketMQ, and malformed ones."""

import grpc
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...clients.grpc_response import Failure, failure_of
from ...context.grpc import Grpc
from ...helpers.consumer import consuming

_SERVICE = "/apache.rocketmq.v2.MessagingService/"


@grpc_case("ServerImpl.ServerTransportListenerImpl.streamCreated")
def methods_that_nobody_has(t: Grpc) -> None:
    """A call of an unknown method or service is UNIMPLEMENTED with its name."""
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
        t.see(path, _raw(t, path, b""), "UNIMPLEMENTED")


@grpc_case("MessagingServiceGrpc.MessagingServiceImplBase.pullMessage")
def methods_that_do_nothing_yet(t: Grpc) -> None:
    """Pull and offset RPCs are declared but UNIMPLEMENTED, for any request and headers."""
    for name in ("PullMessage", "UpdateOffset", "GetOffset", "QueryOffset"):
        t.see(name, _raw(t, _SERVICE + name, b""), "UNIMPLEMENTED")
        t.see(f"{name} without client id", _raw(t, _SERVICE + name, b"", client=None), "UNIMPLEMENTED")


@grpc_case("ServerImpl.JumpToApplicationThreadServerStreamListener.messagesAvailable")
def bytes_that_are_no_request(t: Grpc) -> None:
    """A request that cannot be decoded ends the call with UNKNOWN and no text."""
    for name in ("QueryRoute", "SendMessage", "Heartbeat", "AckMessage", "QueryAssignment", "EndTransaction"):
        t.see(name, _raw(t, _SERVICE + name, b"\xff\xff\xff"), "UNKNOWN")
    t.see("ReceiveMessage", _stream(t, _SERVICE + "ReceiveMessage", b"\xff\xff\xff"), "UNKNOWN")


@grpc_case("ProtoLiteUtils.MessageMarshaller.parse")
def fields_that_nobody_knows(t: Grpc) -> None:
    """Unknown fields of a request are ignored."""
    topic = t.topic(kind="NORMAL", queues=1)
    request = sv.QueryRouteRequest(topic=pb.Resource(name=topic)).SerializeToString()
    unknown = b"\xfa\x3e\x03abc"  # field 1007, 3 bytes
    answer = _raw(t, _SERVICE + "QueryRoute", request + unknown)
    t.see("answer", answer if isinstance(answer, Failure) else sv.QueryRouteResponse.FromString(answer).status)


@grpc_case("ProtoLiteUtils.MessageMarshaller.parse")
def empty_requests(t: Grpc) -> None:
    """A request of 0 bytes counts as one with empty fields."""
    for rpc, response in (
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
        answer = _raw(t, _SERVICE + rpc, b"", client=t.new("client"))
        t.see(rpc, answer if isinstance(answer, Failure) else response.FromString(answer))


@grpc_case("HeaderInterceptor.interceptCall")
def headers_of_any_kind(t: Grpc) -> None:
    """Unknown, binary and repeated headers do not affect a call."""
    topic = t.topic(kind="NORMAL", queues=1)
    request = sv.QueryRouteRequest(topic=pb.Resource(name=topic)).SerializeToString()
    for what, more in (
        ("unknown", [("x-anything", "1")]),
        ("binary", [("x-anything-bin", b"\x00\xff")]),
        ("repeated", [("x-mq-language", "CPP"), ("x-mq-language", "GOLANG")]),
        ("namespace", [("x-mq-namespace", "ns")]),
    ):
        answer = _raw(t, _SERVICE + "QueryRoute", request, more=more)
        t.see(what, answer if isinstance(answer, Failure) else sv.QueryRouteResponse.FromString(answer).status)


@grpc_case("ContextInterceptor.interceptCall")
def the_channel_serves_many_calls(t: Grpc) -> None:
    """Held calls do not block other calls on the same connection."""
    consumer = consuming(t)
    pending = [consumer.start_receive() for _ in range(20)]
    t.wait(0.5)
    watch = t.stopwatch()
    t.see("route", t.route(consumer.topic).status, 20000)
    t.see("after", watch.between(0, 2))
    t.wait(5)
    t.see("answers", [each().code for each in pending])


@grpc_case("GrpcServerBuilder.newBuilder")
def large_messages_both_ways(t: Grpc) -> None:
    """Requests and responses of many megabytes are accepted."""
    consumer = consuming(t)
    for _ in range(4):
        t.see("sent", t.send(consumer.message(bytes(4 << 20))).status, 20000)
    sizes: list[int] = []
    for _ in range(4):
        if len(sizes) < 4:
            sizes += [len(each) for each in consumer.receive(deadline=20).bodies]
    t.see("received", sizes)


@grpc_case("ProtoReflectionService.serverReflectionInfo")
def reflection_is_served(t: Grpc) -> None:
    """The server lists its services by reflection."""
    path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    call = t.channel.stream_stream(path)(iter([b"\x3a\x00"]), timeout=10)  # field 7, list_services: empty
    try:
        names = b"".join(bytes(each) for each in call)
        t.see("names the service", b"apache.rocketmq.v2.MessagingService" in names)
        t.see("names itself", b"grpc.reflection.v1alpha.ServerReflection" in names)
    except grpc.RpcError as error:
        t.see("failure", failure_of(error))


def _raw(
    t: Grpc,
    path: str,
    data: bytes,
    *,
    client: str | None = "client",
    more: list[tuple[str, str]] | list[tuple[str, bytes]] | None = None,
) -> bytes | Failure:
    """Call a unary method by its path with raw bytes, and return the response's bytes."""
    method = t.channel.unary_unary(path)
    try:
        answer: bytes = method(data, timeout=10, metadata=[*t.metadata(client), *(more or [])], wait_for_ready=True)
    except grpc.RpcError as error:
        return failure_of(error)
    return answer


def _stream(t: Grpc, path: str, data: bytes) -> list[bytes] | Failure:
    method = t.channel.unary_stream(path)
    try:
        return list(method(data, timeout=10, metadata=t.metadata("client"), wait_for_ready=True))
    except grpc.RpcError as error:
        return failure_of(error)
