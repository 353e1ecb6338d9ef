"""A raw client of the gRPC protocol over a channel of grpcio."""

import threading
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import Message
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.rpc_table import SERVICE
from rocketmq_testkit.grpc_v2.services import RPCS
from rocketmq_testkit.remoting.client import Credentials
from rocketmq_testkit.remoting.client.closeable import Closeable

from .contradiction import Contradiction
from .grpc_response import Received, failure_of
from .grpc_signature import authorization
from .pending import ANSWER_SECONDS
from .telemetry_stream import TelemetryStream

_RPCS = {rpc.name: rpc for rpc in RPCS}
_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
)


def open_channel(endpoint: str, tls: grpc.ChannelCredentials | None = None) -> grpc.Channel:
    """Open a channel with a connection of its own, which grpcio would share among the channels of a process."""
    if tls is None:
        return grpc.insecure_channel(endpoint, options=_OPTIONS)
    return grpc.secure_channel(endpoint, tls, options=_OPTIONS)


class GrpcClient(Closeable):
    """Calls of any number of client ids on one channel. Unary calls return the response message or a Failure.

    With `credentials` every call is signed. `hand_over` is called before each call: grpcio sends it later, from
    threads of its own.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        *,
        credentials: Credentials | None = None,
        hand_over: Callable[[], None] = lambda: None,
    ) -> None:
        self.channel = channel
        self._credentials = credentials
        self._hand_over = hand_over
        self._streams: list[TelemetryStream] = []

    def close(self) -> None:
        """Reset the telemetry streams and close the channel."""
        self.end_streams()
        self.channel.close()

    def end_streams(self) -> None:
        """Reset the telemetry streams."""
        for stream in self._streams:
            stream.cancel()

    def metadata(self, client: str | None, **headers: str | None) -> list[tuple[str, str]]:
        """Return the headers of a call. Keywords add, replace and, with None, remove headers: `x_mq_language=None`."""
        values: dict[str, str | None] = {
            "x-mq-client-id": client,
            "x-mq-language": "JAVA",
            "x-mq-client-version": "5.2.0",
            "x-mq-protocol": "v2",
            **({} if self._credentials is None else authorization(self._credentials)),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return [(name, value) for name, value in values.items() if value is not None]

    def call(self, rpc: str, request: Message, **more: Any) -> Any:
        """Return the response of a unary RPC, or the Failure with which it ended; `more`: see `start_call`."""
        return self.start_call(rpc, request, **more)()

    def start_call(
        self,
        rpc: str,
        request: Message,
        *,
        client: str | None = "client",
        deadline: float | None = ANSWER_SECONDS,
        **headers: str | None,
    ) -> Callable[[], Any]:
        """Start a unary RPC; returns a function that waits for its response, or the Failure with which it ended.

        `deadline` is in seconds; None means no deadline.
        """
        self._hand_over()
        method = self.channel.unary_unary(
            SERVICE + rpc,
            request_serializer=type(request).SerializeToString,
            response_deserializer=_RPCS[rpc].response.FromString,  # type: ignore[attr-defined]  # a message class
        )
        metadata = self.metadata(client, **headers)
        future = method.future(request, timeout=deadline, metadata=metadata, wait_for_ready=True)

        def response() -> Any:
            try:
                return future.result()
            except grpc.RpcError as error:
                return failure_of(error)

        return response

    def open_receive(
        self, request: sv.ReceiveMessageRequest, *, client: str | None, deadline: float | None, **headers: str | None
    ) -> Any:
        """Open the call of a receive: a cancelable iterable of its responses; `deadline`: see `start_call`."""
        method = self.channel.unary_stream(
            _RPCS["ReceiveMessage"].path,
            request_serializer=sv.ReceiveMessageRequest.SerializeToString,
            response_deserializer=sv.ReceiveMessageResponse.FromString,
        )
        self._hand_over()
        return method(request, timeout=deadline, metadata=self.metadata(client, **headers), wait_for_ready=True)

    def start_receiving(
        self,
        request: sv.ReceiveMessageRequest,
        *,
        client: str | None = "client",
        deadline: float | None = None,
        **headers: str | None,
    ) -> Callable[[], Received]:
        """Start a receive; returns a function that waits for its end and returns the result.

        The function raises Contradiction if the receive does not end in time. `deadline`: see `start_call`.
        """
        stream = self.open_receive(request, client=client, deadline=deadline, **headers)
        received = Received()
        reader = threading.Thread(target=_read, args=(stream, received), name="receive", daemon=True)
        reader.start()

        def collect() -> Received:
            reader.join(ANSWER_SECONDS + 10)
            if reader.is_alive():
                raise Contradiction("a receive has not ended")
            return received

        return collect

    def open(self, client: str, settings: pb.Settings | None = None, **headers: str | None) -> TelemetryStream:
        """Open a telemetry stream; `settings`, if given, are its first command."""
        stream = TelemetryStream(self.channel, client, self.metadata(client, **headers), self._hand_over)
        self._streams.append(stream)
        if settings is not None:
            stream.settings(settings)
        return stream


def _read(stream: Any, received: Received) -> None:
    try:
        for part in stream:
            received.parts.append(part.WhichOneof("content") or "")
            if part.HasField("status"):
                received.status = part.status
            elif part.HasField("message"):
                received.messages.append(part.message)
            elif part.HasField("delivery_timestamp"):
                received.delivered_ms = part.delivery_timestamp.ToMilliseconds()
    except grpc.RpcError as error:
        received.failure = failure_of(error)
