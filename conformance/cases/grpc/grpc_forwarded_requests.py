"""Requests of administrators to gRPC clients, which the broker forwards to their telemetry streams."""

from collections.abc import Iterator

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...clients.pending import Pending
from ...clients.telemetry_stream import TelemetryStream
from ...context.grpc import GrpcContext


class _Client:
    """A connected push consumer of a topic with one queue, with its telemetry stream."""

    def __init__(self, t: GrpcContext, group: str | None = None, topic: str | None = None) -> None:
        self._t = t
        self.topic = t.topic(kind="NORMAL", queues=1) if topic is None else topic
        self.group = t.group() if group is None else group
        self.id = t.new("client")
        self.settings = t.subscription(self.group, {self.topic: "*"}, kind=pb.PUSH_CONSUMER)
        self.stream = t.open(self.id, self.settings)
        self.stream.command()

    def given(self, message: str) -> Pending:
        """Send CONSUME_MESSAGE_DIRECTLY for the client and a message, named by its offset message id."""
        ext = {"consumerGroup": self.group, "clientId": self.id, "msgId": message, "topic": self.topic}
        return self._t.start(RequestCode.CONSUME_MESSAGE_DIRECTLY, ext)

    def stored(self, body: str = "consume this", **more: object) -> str:
        """Store a message and return its offset message id."""
        response = self._t.send(self._t.message(self.topic, body, **more))  # type: ignore[arg-type]  # fields of the message
        self._t.require(response.status.code == pb.OK, f"a message was not stored: {response}")
        group = self._t.group()
        [message] = self._t.until(lambda: self._t.messages_of(self.topic, group), 60)
        return message.offset_message_id

    def running_info(self, *, stack: bool) -> Pending:
        """Send GET_CONSUMER_RUNNING_INFO for the client."""
        ext = {"consumerGroup": self.group, "clientId": self.id, "jstackEnable": stack}
        return self._t.start(RequestCode.GET_CONSUMER_RUNNING_INFO, ext)

    def note_goes_on(self, label: str) -> None:
        """Send settings and record the next command on the stream, which must be their response."""
        self.stream.settings(self.settings)
        self._t.note(label, self.stream.command().status)


def _commands(stream: TelemetryStream) -> Iterator[sv.TelemetryCommand]:
    """Yield the commands of a stream except responses to settings."""
    while True:
        command = stream.command()
        if not command.HasField("settings"):
            yield command


def _verify(stream: TelemetryStream) -> sv.VerifyMessageCommand:
    """Return the next request to consume a message."""
    return next(_commands(stream)).verify_message_command


def _result(nonce: str, code: int = pb.OK) -> sv.TelemetryCommand:
    return sv.TelemetryCommand(
        status=pb.Status(code=code, message="of the client"),  # type: ignore[arg-type]  # an enum's value
        verify_message_result=sv.VerifyMessageResult(nonce=nonce),
    )


@grpc_case("GrpcClientChannel.processConsumeMessageDirectly")
def consume_message_directly_reaches_a_grpc_consumer(t: GrpcContext) -> None:
    """The proxy sends a stored message to a consumer on its telemetry stream, and returns the consumer's result."""
    client = _Client(t)
    asked = client.given(client.stored(tag="A", keys=["key"], properties={"color": "red"}))
    command = _verify(client.stream)
    t.note("message", command.message)
    t.note("has a nonce", command.nonce != "")
    client.stream.send(_result(command.nonce))
    t.note("response", asked(), 0)


@grpc_case("ClientActivity.buildConsumeMessageDirectlyResult")
def the_clients_status_determines_the_consume_result(t: GrpcContext) -> None:
    """The status in the client's result determines the consume result that the administrator gets."""
    client = _Client(t)
    message = client.stored()
    codes = (pb.OK, pb.FAILED_TO_CONSUME_MESSAGE, pb.MESSAGE_CORRUPTED, pb.VERIFY_FIFO_MESSAGE_UNSUPPORTED, 0)
    for code in codes:
        asked = client.given(message)
        client.stream.send(_result(_verify(client.stream).nonce, code))
        t.note(f"{code}", asked(), 0)


@grpc_case("GrpcChannelManager.scanExpireResultFuture")
def consume_message_directly_times_out_after_5_s_without_a_result(t: GrpcContext) -> None:
    """The proxy waits 5 s for a client's result and ignores a later one."""
    client = _Client(t)
    watch = t.stopwatch()
    asked = client.given(client.stored())
    command = _verify(client.stream)
    t.note_arrival(asked, watch, 4.5, 8.5, code=2)
    client.stream.send(_result(command.nonce))
    client.stream.send(_result("never asked"))
    client.note_goes_on("goes on")


@grpc_case("GrpcClientChannel.writeTelemetryCommand")
def consume_message_directly_times_out_without_a_telemetry_stream(t: GrpcContext) -> None:
    """A request to a client without a telemetry stream, but still in its group, times out."""
    client = _Client(t)
    message = client.stored()
    client.stream.cancel()
    t.wait(1)
    watch = t.stopwatch()
    t.note_arrival(client.given(message), watch, 4.5, 8.5, code=2)


@grpc_case("GrpcClientChannel.setClientObserver")
def consume_message_directly_uses_the_clients_newest_stream(t: GrpcContext) -> None:
    """A request goes to the client's newest stream, or to the first one again after new settings on it."""
    client = _Client(t)
    message = client.stored()
    second = t.open(client.id, client.settings)
    second.command()
    for label, stream in (("second", second), ("first", client.stream)):
        if label == "first":
            stream.settings(client.settings)
            t.settle()
        asked = client.given(message)
        stream.send(_result(_verify(stream).nonce))
        t.note(label, asked(), 0)


@grpc_case("GrpcClientChannel.processGetConsumerRunningInfo")
def a_request_for_a_grpc_consumers_running_info_times_out(t: GrpcContext) -> None:
    """A request for a gRPC client's running info, with or without stack, is not forwarded and times out."""
    client = _Client(t)
    pending = [client.running_info(stack=stack) for stack in (True, False)]
    watch = t.stopwatch()
    for stack, asked in zip((True, False), pending, strict=True):
        response = t.arrival(asked, step=0.5)
        t.note(f"with a stack: {stack}", [response.code, (response.remark or "").partition(" Timeout: ")[0]])
    t.note("after", watch.between(9, 14))
    client.note_goes_on("the next command")


@grpc_case("ProxyChannel.writeAndFlush")
def the_consume_status_omits_grpc_consumers_after_a_timeout(t: GrpcContext) -> None:
    """A request for a gRPC client's consume status times out after 5 s, and the client is omitted from the result."""
    client = _Client(t)
    watch = t.stopwatch()
    status = {"topic": client.topic, "group": client.group}
    asked = t.start(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, status)
    t.note_arrival(asked, watch, 4.5, 8, code=0)


@grpc_case("AdminBrokerProcessor.callConsumer")
def requests_to_a_terminated_grpc_consumer_return_not_online(t: GrpcContext) -> None:
    """After NotifyClientTermination a request to the client returns that it is not online."""
    client = _Client(t)
    message = client.stored()
    t.leave(client.id, client.group)
    t.note("given", client.given(message)(), 1)
    t.note("running info", client.running_info(stack=True)(), 1)
