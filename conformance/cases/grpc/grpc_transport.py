"""What the gRPC server does with calls that are no RPCs of RocketMQ, or not well made ones."""

import grpc
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...worlds.consumer import consuming
from ...worlds.grpc import Grpc
from ...worlds.grpc_answer import Failure, failure_of

_SERVICE = "/apache.rocketmq.v2.MessagingService/"


@grpc_case("ServerImpl.ServerTransportListenerImpl.streamCreated")
def methods_that_nobody_has(t: Grpc) -> None:
    """A method or a service that the proxy does not have is UNIMPLEMENTED, with its name."""
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
    """Pulling and the handling of offsets are declared and UNIMPLEMENTED, whatever the request and its headers are."""
    for name in ("PullMessage", "UpdateOffset", "GetOffset", "QueryOffset"):
        t.see(name, _raw(t, _SERVICE + name, b""), "UNIMPLEMENTED")
        t.see(f"{name} without client id", _raw(t, _SERVICE + name, b"", client=None), "UNIMPLEMENTED")


@grpc_case("ServerImpl.JumpToApplicationThreadServerStreamListener.messagesAvailable")
def bytes_that_are_no_request(t: Grpc) -> None:
    """A request that cannot be decoded ends the call as UNKNOWN without a text."""
    for name in ("QueryRoute", "SendMessage", "Heartbeat", "AckMessage", "QueryAssignment", "EndTransaction"):
        t.see(name, _raw(t, _SERVICE + name, b"\xff\xff\xff"), "UNKNOWN")
    t.see("ReceiveMessage", _stream(t, _SERVICE + "ReceiveMessage", b"\xff\xff\xff"), "UNKNOWN")


@grpc_case("ProtoLiteUtils.MessageMarshaller.parse")
def fields_that_nobody_knows(t: Grpc) -> None:
    """Fields that the proxy does not know are skipped."""
    topic = t.topic(kind="NORMAL", queues=1)
    request = sv.QueryRouteRequest(topic=pb.Resource(name=topic)).SerializeToString()
    unknown = b"\xfa\x3e\x03abc"  # field 1007, 3 bytes
    answer = _raw(t, _SERVICE + "QueryRoute", request + unknown)
    t.see("answer", answer if isinstance(answer, Failure) else sv.QueryRouteResponse.FromString(answer).status)


@grpc_case("ProtoLiteUtils.MessageMarshaller.parse")
def empty_requests(t: Grpc) -> None:
    """A request of no bytes is one whose fields are all empty."""
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
    """Headers that the proxy does not know, binary ones and repeated ones do not disturb a call."""
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
    """Calls that wait do not keep others on the same connection back."""
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
    """Requests and answers of many megabytes pass."""
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
    """The server names its services to whoever asks by reflection."""
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
    """The bytes that a unary call of any path answers to any bytes."""
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
