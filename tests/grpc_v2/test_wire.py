"""The services on the real transport: calls of grpcio and of the official Python SDK over a socket."""

import asyncio
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

import grpc
import pytest
from grpc_harness import a_message, a_receive, a_send, an_ack, subscribing
from rocketmq.v5.client import ClientConfiguration
from rocketmq.v5.client.client_configuration import Credentials
from rocketmq.v5.consumer import SimpleConsumer
from rocketmq.v5.model import Message
from rocketmq.v5.model.filter_expression import FilterExpression
from rocketmq.v5.producer import Producer
from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient, open_channel
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

SERVICE = "/apache.rocketmq.v2.MessagingService/"
STARTS = 20


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def client(emulator: Emulator) -> Iterator[GrpcClient]:
    with GrpcClient(open_channel(emulator.endpoint)) as client:
        yield client


@pytest.fixture
def main_loop() -> Iterator[None]:
    """The loop of this thread, which the Python SDK asks for: `asyncio.run` of an earlier test leaves none."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


def receive(client: GrpcClient, request: sv.ReceiveMessageRequest, deadline: float = 10) -> Any:
    """Return the frames of a receive, as they arrive."""
    return client.open_receive(request, client="wire", deadline=deadline)


def test_a_message_is_sent_received_and_acknowledged_over_grpcio(emulator: Emulator, client: GrpcClient) -> None:
    """A message passes through settings, send, receive, acknowledgement and termination."""
    emulator.topic("whole")
    telemetry = client.open("wire", subscribing("whole-group", "whole"))
    assert telemetry.command().settings.subscription.group.name == "whole-group"
    sent = client.call("SendMessage", a_send(a_message("whole", b"\x00\xff" * 5_000)), client="wire")
    assert sent.entries[0].status.code == 20000
    frames = list(receive(client, a_receive("whole", "whole-group")))
    assert [frame.WhichOneof("content") for frame in frames] == ["status", "message", "delivery_timestamp"]
    assert frames[1].message.body == b"\x00\xff" * 5_000
    handle = frames[1].message.system_properties.receipt_handle
    acked = client.call("AckMessage", an_ack(handle, topic="whole", group="whole-group"), client="wire")
    assert acked.status.code == 20000
    left = client.call("NotifyClientTermination", grpc_requests.termination("whole-group"), client="wire")
    assert left.status.code == 20000
    telemetry.half_close()
    while (command := telemetry.next()) is not None:
        assert isinstance(command, sv.TelemetryCommand)
        assert command.settings.subscription.group.name == "whole-group"


@pytest.mark.parametrize(
    ("path", "request_bytes", "code", "text"),
    [
        ("SyncLiteSubscription", b"", "UNIMPLEMENTED", f"Method not found: {SERVICE[1:]}SyncLiteSubscription"),
        ("PullMessage", b"", "UNIMPLEMENTED", f"Method {SERVICE[1:]}PullMessage is unimplemented"),
        ("SendMessage", b"\xff\xff\xff", "UNKNOWN", ""),
    ],
)
def test_unknown_methods_and_invalid_bytes_end_in_a_grpc_status(
    client: GrpcClient, path: str, request_bytes: bytes, code: str, *, text: str
) -> None:
    """Newer methods, methods that 5.3.3 does not implement, and invalid bytes return a gRPC status."""
    with pytest.raises(grpc.RpcError) as refused:
        client.channel.unary_unary(SERVICE + path)(request_bytes, metadata=client.metadata("wire"), timeout=10)
    assert (refused.value.code().name, refused.value.details()) == (code, text)


def test_the_calls_deadline_limits_the_poll(emulator: Emulator, client: GrpcClient) -> None:
    """A poll as long as its call's deadline ends before that. A deadline below the shortest poll is rejected."""
    emulator.topic("empty")
    frames = list(receive(client, a_receive("empty", "g", poll_ms=20_000), deadline=1.2))
    assert [frame.status.code for frame in frames if frame.HasField("status")] == [40401]
    (refused, _) = receive(client, a_receive("empty", "g", poll_ms=20_000), deadline=0.9)
    assert refused.status.code == 40018


def test_a_cancelled_poll_takes_no_message(emulator: Emulator, client: GrpcClient) -> None:
    """In the profile `fast`, a cancelled poll gets no message, and the next poll gets it."""
    topic = emulator.topic("cancelled")
    waiting = receive(client, a_receive("cancelled", "g", poll_ms=5_000))
    following = receive(client, a_receive("cancelled", "g", poll_ms=5_000))
    waiting.cancel()
    with pytest.raises(grpc.RpcError):
        list(waiting)
    # The server handles calls of one connection in order, so the cancellation has arrived.
    client.call("QueryRoute", sv.QueryRouteRequest())
    topic.send(b"only")
    assert [frame.message.body for frame in following if frame.HasField("message")] == [b"only"]


@pytest.mark.usefixtures("main_loop")
def test_sdk_consumers_that_receive_before_their_settings_get_messages(emulator: Emulator) -> None:
    """Consumers of the official SDK that receive before the response to their settings get the sent messages."""
    emulator.topic("again", queues=2)
    configuration = ClientConfiguration(emulator.endpoint, Credentials("", ""))
    producer = Producer(configuration, ("again",))
    producer.startup()
    try:
        for number in range(STARTS):
            message = Message()
            message.topic, message.body = "again", str(number).encode()
            producer.send(message)
            consumer = SimpleConsumer(configuration, "again-group", {"again": FilterExpression("*")})
            consumer.startup()
            (got,) = consumer.receive(16, 15)
            assert got.body == str(number).encode()
            consumer.ack(got)
            consumer.shutdown()
    finally:
        producer.shutdown()


@pytest.mark.parametrize("version", ["v1alpha", "v1"])
def test_reflection_lists_the_service_under_upstreams_names(client: GrpcClient, version: str) -> None:
    """Reflection, requested as grpcurl does, lists and describes the services by their real names."""
    path = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    method = client.channel.stream_stream(path)
    list_services, by_symbol = b"\x3a\x00", b"\x22\x23apache.rocketmq.v2.MessagingService"
    services, files = method(iter([list_services, by_symbol]), timeout=10)
    assert b"apache.rocketmq.v2.MessagingService" in services
    assert b"apache/rocketmq/v2/service.proto" in files
    assert b"rocketmq_testkit" not in files


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until another thread has made a condition true."""
    deadline = monotonic() + 10
    while not condition():
        assert monotonic() < deadline
        sleep(0.005)


@pytest.mark.parametrize("threshold", [0, 10])
def test_a_receive_without_a_broker_gets_a_message_of_any_broker(threshold: int) -> None:
    """A receive that names no broker gets a message of any broker at once, and its handle acknowledges it there."""
    with (
        Emulator(brokers=3, topics=["t"], config={"popWithNotifyThreshold": threshold}) as emulator,
        GrpcClient(open_channel(emulator.endpoint)) as client,
    ):
        topic = emulator.topic("t")
        for number, broker in enumerate(topic.brokers, 1):
            frames = receive(client, a_receive("t", broker="", poll_ms=20_000), deadline=30)
            wait_until(lambda: emulator.receive_metrics.pops_in_progress == 1)
            topic.send(broker.encode(), broker=broker)
            (message,) = [frame.message for frame in frames if frame.HasField("message")]
            assert message.body == broker.encode()
            handle = message.system_properties.receipt_handle
            assert handle.split(" ")[5] == broker
            assert client.call("AckMessage", an_ack(handle, topic="t")).status.code == 20000
            counted = emulator.receive_metrics
            assert (counted.receives, counted.is_long_polling, counted.pops_in_progress) == (number, number, 0)


def received_again(client: GrpcClient) -> list[bytes]:
    """Receive from topic `t`, again if the channel notices only then that the crash has closed its connection."""
    bodies: list[bytes] = []

    def is_received() -> bool:
        try:
            frames = list(receive(client, a_receive("t"), deadline=10))
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return False
        bodies.extend(frame.message.body for frame in frames if frame.HasField("message"))
        return True

    wait_until(is_received)
    return bodies


def test_receives_interrupted_by_a_crash_are_not_counted_as_in_flight() -> None:
    """The clients of receives that a crash interrupts get an error, and can repeat them."""
    with (
        Emulator(topics=["t"], config={"popWithNotifyThreshold": 10}) as emulator,
        GrpcClient(open_channel(emulator.endpoint)) as client,
    ):
        frames = receive(client, a_receive("t", poll_ms=20_000), deadline=30)
        wait_until(lambda: emulator.receive_metrics.pops_in_progress == 1)
        emulator.crash()
        with pytest.raises(grpc.RpcError):
            next(iter(frames))
        assert emulator.receive_metrics.pops_in_progress == 0
        emulator.topic("t").send(b"x")
        assert received_again(client) == [b"x"]


def test_a_cancelled_receive_is_not_counted_as_in_flight() -> None:
    """A cancelled receive is not counted as in flight, and other receives get the messages.

    A receive that waits for a notification behaves like this even in the profile `faithful`.
    """
    with (
        Emulator(topics=["t"], profile="faithful", config={"popWithNotifyThreshold": 10}) as emulator,
        GrpcClient(open_channel(emulator.endpoint)) as client,
    ):
        frames = receive(client, a_receive("t", poll_ms=20_000), deadline=30)
        wait_until(lambda: emulator.receive_metrics.pops_in_progress == 1)
        frames.cancel()
        wait_until(lambda: emulator.receive_metrics.pops_in_progress == 0)
        emulator.topic("t").send(b"x")
        again = receive(client, a_receive("t"), deadline=10)
        assert [frame.message.body for frame in again if frame.HasField("message")] == [b"x"]
