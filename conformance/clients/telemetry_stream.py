"""A telemetry stream of a gRPC client, read by a thread."""

import queue
import threading
from collections.abc import Callable, Iterator

import grpc
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.services.telemetry import TELEMETRY

from .contradiction import Contradiction
from .grpc_response import Failure, failure_of
from .pending import ANSWER_SECONDS


class TelemetryStream:
    """One telemetry stream of a client. `hand_over` is called before each command: grpcio's threads send it later."""

    def __init__(
        self, channel: grpc.Channel, client: str, metadata: list[tuple[str, str]], hand_over: Callable[[], None]
    ) -> None:
        self.client = client
        self._hand_over = hand_over
        self._out: queue.Queue[sv.TelemetryCommand | None] = queue.Queue()
        self._in: queue.Queue[sv.TelemetryCommand | Failure | None] = queue.Queue()
        method = channel.stream_stream(
            TELEMETRY.path,
            request_serializer=sv.TelemetryCommand.SerializeToString,
            response_deserializer=sv.TelemetryCommand.FromString,
        )
        hand_over()
        self._call = method(self._commands(), metadata=metadata)
        threading.Thread(target=self._read, name=f"telemetry-{client}", daemon=True).start()

    def send(self, command: sv.TelemetryCommand) -> None:
        """Send a command."""
        self._hand_over()
        self._out.put(command)

    def settings(self, settings: pb.Settings) -> None:
        """Send settings."""
        self.send(sv.TelemetryCommand(settings=settings))

    def next(self, seconds: float = ANSWER_SECONDS) -> sv.TelemetryCommand | Failure | None:
        """Return the server's next command; a Failure or None if the stream has ended. Raises TimeoutError."""
        try:
            return self._in.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"nothing came on the telemetry stream of {self.client} within {seconds:g} s") from None

    def command(self, seconds: float = ANSWER_SECONDS) -> sv.TelemetryCommand:
        """Return the next command of a stream that must not end. Raises Contradiction, TimeoutError."""
        command = self.next(seconds)
        if not isinstance(command, sv.TelemetryCommand):
            raise Contradiction(f"the stream has ended: {command}")
        return command

    def half_close(self) -> None:
        """Half-close the stream: no more commands will be sent."""
        self._hand_over()
        self._out.put(None)

    def cancel(self) -> None:
        """Reset the stream."""
        self._hand_over()
        self._call.cancel()
        self._out.put(None)

    def _commands(self) -> Iterator[sv.TelemetryCommand]:
        while (command := self._out.get()) is not None:
            yield command

    def _read(self) -> None:
        try:
            for command in self._call:
                self._in.put(command)
            self._in.put(None)
        except grpc.RpcError as error:
            self._in.put(failure_of(error))
