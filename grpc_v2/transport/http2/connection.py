"""The server side of one HTTP/2 connection: splits received bytes into frames, and rejects frames out of order.

Sans-IO: it must not know a socket, a reactor, a clock (the time is an argument), or gRPC. Its upstream counterpart is
Netty's Http2ConnectionHandler under grpc-java's NettyServerHandler (proxy 5.3.3).
"""

from __future__ import annotations

from collections.abc import Callable

from . import frames
from .connection_output import ConnectionOutput
from .control_frames import ControlFrames
from .errors import ConnectionProtocolError, ErrorCode, StreamProtocolError
from .flood_guard import FloodGuard
from .frames import (
    ACK,
    DATA,
    DEFAULT_MAX_FRAME_BYTES,
    HEAD,
    HEAD_BYTES,
    HEADERS,
    PREFACE,
    STREAM_ID_MASK,
    WINDOW_UPDATE,
)
from .limits import Limits
from .request_frames import RequestFrames
from .settings import DEFAULT_WINDOW, PeerSettings, announced
from .stream import Application, Closing
from .stream_table import StreamState


class Http2Connection:
    """One connection. `output` is its sending side.

    `on_output` is called after each change of `output` outside of `receive`, `open` and `connection_lost`: there may be
    output, or the connection may be closing. Its argument is False if more output of the same response is expected.
    """

    __slots__ = (
        "_application",
        "_controls",
        "_guard",
        "_incomplete_frame",
        "_limits",
        "_preface_received",
        "_requests",
        "_settings_seen",
        "output",
    )

    def __init__(self, application: Application, limits: Limits, on_output: Callable[[bool], None]) -> None:
        peer = PeerSettings()
        self.output = ConnectionOutput(peer, on_output)
        self._application = application
        self._limits = limits
        self._guard = FloodGuard(limits)
        self._requests = RequestFrames(application, limits, self.output, self._guard)
        self._controls = ControlFrames(peer, self.output, self._guard)
        self._incomplete_frame = b""
        self._preface_received = 0  # bytes
        self._settings_seen = False

    def open(self) -> None:
        """Write the server's preface to the output, which the caller takes."""
        output = self.output.sender.output
        output.append(frames.settings(announced(self._limits)))
        window = self._requests.receive_window
        if window > DEFAULT_WINDOW:
            output.append(frames.window_update(0, window - DEFAULT_WINDOW))

    def receive(self, data: bytes, now: float) -> None:
        """Process bytes from the socket, split at any point. The caller takes the output afterwards.

        `now` is in seconds and never decreases.
        """
        output = self.output
        if output.closing:
            return
        self._guard.now = now
        output.receiving = True
        try:
            self._take(data)
        except ConnectionProtocolError as error:
            self._fail(error.code, error.reason)
        finally:
            output.receiving = False

    def connection_lost(self, reason: str) -> None:
        """Handle the loss of the socket: cancel every open request."""
        output = self.output
        output.closing = Closing.ABORT
        output.sender.output.clear()
        for stream in list(output.streams.values()):
            receiver = stream.receiver
            output.remove_stream(stream, StreamState.CLOSED)
            if receiver is not None:
                receiver.client_lost(reason)

    def _take(self, data: bytes) -> None:
        if self._incomplete_frame:
            data = self._incomplete_frame + data
            self._incomplete_frame = b""
        at = self._take_preface(data) if self._preface_received < len(PREFACE) else 0
        size = len(data)
        last_head = size - HEAD_BYTES
        requests, controls, output = self._requests, self._controls, self.output
        while at <= last_head:
            high, low, kind, flags, stream_id = HEAD.unpack_from(data, at)
            length = high << 16 | low
            if length > DEFAULT_MAX_FRAME_BYTES:
                raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, f"frame of {length} bytes")
            start = at + HEAD_BYTES
            end = start + length
            if end > size:
                break
            at = end
            stream_id &= STREAM_ID_MASK
            try:
                if requests.pending is None and self._settings_seen:
                    if kind == DATA:
                        requests.on_data(flags, stream_id, data, start, end)
                    elif kind == HEADERS:
                        requests.on_headers(flags, stream_id, data, start, end)
                    elif kind == WINDOW_UPDATE:
                        controls.on_window_update(stream_id, data[start:end])
                    else:
                        controls.on_other(kind, flags, stream_id, data[start:end])
                elif requests.pending is not None:
                    requests.on_continuation(kind, flags, stream_id, data[start:end])
                elif kind == frames.SETTINGS and not flags & ACK:
                    self._settings_seen = True
                    controls.on_settings(flags, stream_id, data[start:end])
                else:
                    raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "the first frame is not SETTINGS")
            except StreamProtocolError as error:
                self._fail_stream(error)
            if output.closing:
                return
        if at < size:
            self._incomplete_frame = data[at:]

    def _take_preface(self, data: bytes) -> int:
        """Compare received bytes with the client's preface. Returns the number of bytes of `data` that belong to it."""
        wanted = PREFACE[self._preface_received : self._preface_received + len(data)]
        if data[: len(wanted)] != wanted:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "this is not the preface of HTTP/2")
        self._preface_received += len(wanted)
        return len(wanted)

    def _fail_stream(self, error: StreamProtocolError) -> None:
        # A client that makes the server reset streams costs as much as a client that resets them itself.
        self._guard.resets.spend(self._guard.now)
        output = self.output
        stream = output.streams.get(error.stream_id)
        if stream is not None:
            receiver = stream.receiver
            self._application.failed(receiver, error.code, error.reason)
            output.reset_stream(stream, error.code)
            if receiver is not None:
                receiver.client_lost(str(error))
        elif error.stream_id > output.registry.last_id:
            # RST_STREAM is not allowed on a stream that was never opened.
            self._fail(error.code, error.reason)
        else:
            if error.code is ErrorCode.REFUSED_STREAM:  # a new request; any other error is about an ended stream
                self._application.failed(None, error.code, error.reason)
            output.registry.mark_abandoned(error.stream_id)
            output.sender.output.append(frames.rst_stream(error.stream_id, error.code))

    def _fail(self, code: ErrorCode, reason: str) -> None:
        self._application.failed(None, code, reason)
        self.output.fail(code, reason)
