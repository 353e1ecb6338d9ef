"""The server side of one HTTP/2 connection: takes bytes, passes requests to the application, collects output.

Sans-IO: it must not know a socket, a reactor, a clock (the time is an argument), or gRPC. Its upstream counterpart is
Netty's Http2ConnectionHandler under grpc-java's NettyServerHandler (proxy 5.3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from . import frames
from .errors import ConnectionProtocolError, ErrorCode, StreamProtocolError
from .flood_guard import Budget
from .frames import (
    ACK,
    CONTINUATION,
    DATA,
    DEFAULT_MAX_FRAME_BYTES,
    END_HEADERS,
    END_STREAM,
    HEAD,
    HEAD_BYTES,
    HEADERS,
    PADDED,
    PREFACE,
    PRIORITIZED,
    STREAM_ID_MASK,
    WINDOW_UPDATE,
)
from .header_blocks import HeaderBlock
from .limits import Limits
from .request_blocks import PendingBlock, RequestBlocks
from .request_head import MalformedRequestError, RequestHead
from .sender import Sender
from .settings import DEFAULT_WINDOW, PeerSettings, announced
from .stream import TRANSITIONS, Action, Application, Event, State, Stream
from .stream_registry import StreamRegistry

# Pieces of a body above this size are passed as views of the received bytes.
_VIEW_BYTES: Final = 2_048
_DRAIN_PING: Final = b"draining"


class Closing(IntEnum):
    """The action required of the socket's owner after the output is written."""

    NO = 0
    AFTER_OUTPUT = 1
    ABORT = 2


class _Draining(IntEnum):
    NO = 0
    ANNOUNCED = 1  # GOAWAY was sent; requests already sent by the client are still accepted
    REFUSING = 2  # new requests are refused; the connection closes with its last stream


class Http2Connection:
    """One connection.

    `on_output` is called when there is output while no input is being processed. Its argument is False if more output
    of the same response is expected.
    """

    __slots__ = (
        "_application",
        "_blocks",
        "_controls",
        "_draining",
        "_limits",
        "_now",
        "_on_output",
        "_peer",
        "_pending",
        "_preface_at",
        "_receive_window",
        "_receiving",
        "_resets",
        "_rest",
        "_sender",
        "_settings_seen",
        "_streams",
        "closing",
        "failure",
        "streams",
    )

    def __init__(self, application: Application, limits: Limits, on_output: Callable[[bool], None]) -> None:
        self._application = application
        self._limits = limits
        self._on_output = on_output
        self._peer = PeerSettings()
        self._sender = Sender(self._peer, self._ended)
        self._blocks = RequestBlocks(limits)
        self._streams = StreamRegistry()
        self._rest = b""
        self._preface_at = 0
        self._settings_seen = False
        self._receiving = False
        self._now = 0.0
        # A header block that spans several frames.
        self._pending: PendingBlock | None = None
        self._receive_window = max(limits.connection_window_bytes, DEFAULT_WINDOW)
        self._draining = _Draining.NO
        self._controls = Budget("control frames", limits.control_burst, limits.controls_per_second)
        self._resets = Budget("reset streams", limits.reset_burst, limits.resets_per_second)
        # Open streams by id.
        self.streams = self._streams.open
        self.closing = Closing.NO
        # The reason why the connection failed, for the log.
        self.failure: str | None = None

    # Called by the owner of the socket.

    def open(self) -> None:
        """Write the server's preface to the output."""
        output = self._sender.output
        output.append(frames.settings(announced(self._limits)))
        if self._receive_window > DEFAULT_WINDOW:
            output.append(frames.window_update(0, self._receive_window - DEFAULT_WINDOW))

    def take_output(self) -> bytes:
        """Return and clear the output."""
        output = self._sender.output
        if not output:
            return b""
        data = b"".join(output)
        output.clear()
        return data

    def receive(self, data: bytes, now: float) -> None:
        """Process bytes from the socket, split at any point. `now` is in seconds and never decreases."""
        if self.closing:
            return
        self._now = now
        self._receiving = True
        try:
            self._take(data)
        except ConnectionProtocolError as error:
            self._fail(error.code, error.reason)
        finally:
            self._receiving = False

    def lost(self, reason: str) -> None:
        """Handle the loss of the socket: cancel every open request."""
        self.closing = Closing.ABORT
        self._sender.output.clear()
        for stream in list(self.streams.values()):
            receiver = stream.receiver
            self._forget(stream, State.CLOSED)
            if receiver is not None:
                receiver.lost(reason)

    def drain(self) -> None:
        """Close gracefully: send GOAWAY, accept requests in flight, close after the last one (RFC 9113 section 6.8)."""
        if self.closing or self._draining:
            return
        self._draining = _Draining.ANNOUNCED
        self._emit(frames.go_away(STREAM_ID_MASK, ErrorCode.NO_ERROR) + frames.ping(_DRAIN_PING, ack=False))

    # Called by the application.

    def respond(self, stream: Stream, head: HeaderBlock, prefix: bytes, message: bytes, trailers: HeaderBlock) -> None:
        """Send a complete response: headers, body (`prefix` and `message`), trailers."""
        if self.closing:
            return
        self._sender.respond(stream, head, prefix, message, trailers)
        self._changed()

    def send_headers(self, stream: Stream, block: bytes) -> None:
        """Send the header block that opens a response."""
        if self.closing:
            return
        self._sender.headers(stream, block)
        self._changed(final=False)

    def send_data(self, stream: Stream, payload: bytes) -> None:
        """Send a piece of a response's body. It is queued until the peer gives credit."""
        if self.closing:
            return
        self._sender.data(stream, payload)
        self._changed(final=False)

    def send_end(self, stream: Stream, block: bytes) -> None:
        """Send the header block that ends a response."""
        if self.closing:
            return
        self._sender.end(stream, block)
        self._changed()

    def reset_stream(self, stream: Stream, code: int) -> None:
        """Reset a stream with an error code."""
        action, state = TRANSITIONS[stream.state, Event.SERVER_RESET]
        if action is Action.GIVE_UP and not self.closing:
            self._sender.output.append(frames.rst_stream(stream.stream_id, code))
            self._forget(stream, state)
            self._changed()

    def go_away(self, code: int, debug: str = "") -> None:
        """Refuse new streams from now on, and close after the last open one."""
        if self.closing:
            return
        self._draining = _Draining.REFUSING
        self._sender.output.append(frames.go_away(self._streams.last_id, code, debug))
        self._close_when_drained()
        self._changed()

    def stall(self, stream: Stream) -> None:
        """Send nothing more on a stream, and give the client no more credit for it."""
        self._sender.stall(stream)

    def inject(self, data: bytes) -> None:
        """Write raw bytes to the output, to break the protocol on purpose."""
        self._emit(data)

    def close(self, closing: Closing) -> None:
        """Close the socket: after the output, or at once with the output discarded."""
        if closing is Closing.ABORT:
            self._sender.output.clear()
        self.closing = max(self.closing, closing)
        self._changed()

    # Input.

    def _take(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
            self._rest = b""
        at = self._take_preface(data) if self._preface_at < len(PREFACE) else 0
        size = len(data)
        while size - at >= HEAD_BYTES:
            high, low, kind, flags, stream_id = HEAD.unpack_from(data, at)
            start = at + HEAD_BYTES
            end = start + (high << 16 | low)
            if end - start > DEFAULT_MAX_FRAME_BYTES:
                raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, f"frame of {end - start} bytes")
            if end > size:
                break
            at = end
            stream_id &= STREAM_ID_MASK
            try:
                if self._pending is None and self._settings_seen:
                    if kind == DATA:
                        self._on_data(flags, stream_id, data, start, end)
                    elif kind == HEADERS:
                        self._on_headers(flags, stream_id, data, start, end)
                    elif kind == WINDOW_UPDATE:
                        self._on_window_update(stream_id, data[start:end])
                    else:
                        self._on_other(kind, flags, stream_id, data[start:end])
                elif self._pending is not None:
                    self._on_continuation(self._pending, kind, flags, stream_id, data[start:end])
                elif kind == frames.SETTINGS and not flags & ACK:
                    self._settings_seen = True
                    self._on_settings(flags, stream_id, data[start:end])
                else:
                    raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "the first frame is not SETTINGS")
            except StreamProtocolError as error:
                self._fail_stream(error)
            if self.closing:
                return
        self._rest = data[at:]

    def _take_preface(self, data: bytes) -> int:
        """Compare received bytes with the client's preface. Returns the number of bytes of `data` that belong to it."""
        wanted = PREFACE[self._preface_at : self._preface_at + len(data)]
        if data[: len(wanted)] != wanted:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "this is not the preface of HTTP/2")
        self._preface_at += len(wanted)
        return len(wanted)

    def _on_data(self, flags: int, stream_id: int, data: bytes, start: int, end: int) -> None:
        length = end - start
        window = self._receive_window - length
        if window < 0:
            raise ConnectionProtocolError(ErrorCode.FLOW_CONTROL_ERROR, "more DATA than the connection's window")
        full = self._limits.connection_window_bytes
        if window < full >> 1:
            # Received bytes return to the window at once. The limit on message size bounds the memory.
            self._sender.output.append(frames.window_update(0, full - window))
            window = full
        self._receive_window = window
        stream = self.streams.get(stream_id)
        ended = flags & END_STREAM
        event = Event.DATA_END if ended else Event.DATA
        if stream is None:
            self._without_stream(stream_id, event)
            return
        action, state = TRANSITIONS[stream.state, event]
        if action is not Action.DELIVER:
            self._refuse(action, stream_id)
        if length > stream.receive_window:
            raise StreamProtocolError(stream_id, ErrorCode.FLOW_CONTROL_ERROR, "more DATA than the stream's window")
        stream.receive_window -= length
        if flags & PADDED:
            start, end = _without_padding(data, start, end)
        if stream.body_left is not None:
            stream.body_left -= end - start
            if stream.body_left < 0 or (ended and stream.body_left):
                raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, "content-length and DATA differ")
        stream.state = state
        if not ended:
            if start == end:
                self._controls.spend(self._now)
            elif stream.receive_window < self._limits.stream_window_bytes >> 1 and not stream.stalled:
                increment = self._limits.stream_window_bytes - stream.receive_window
                stream.receive_window += increment
                self._sender.output.append(frames.window_update(stream_id, increment))
        if stream.receiver is not None:
            payload = memoryview(data)[start:end] if end - start > _VIEW_BYTES else data[start:end]
            stream.receiver.data(payload, bool(ended))

    def _on_headers(self, flags: int, stream_id: int, data: bytes, start: int, end: int) -> None:
        if not stream_id & 1:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, f"HEADERS on stream {stream_id}")
        if flags & PADDED:
            start, end = _without_padding(data, start, end)
        depends_on = 0
        if flags & PRIORITIZED:
            if end - start < 5:
                raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS too short for its priority")
            depends_on = int.from_bytes(data[start : start + 4], "big") & STREAM_ID_MASK
            start += 5
        block = data[start:end]
        if len(block) > self._limits.max_header_list_bytes:
            raise ConnectionProtocolError(ErrorCode.ENHANCE_YOUR_CALM, f"header block of {len(block)} bytes")
        if not flags & END_HEADERS:
            self._pending = PendingBlock(self._limits, stream_id, flags, block)
        elif depends_on == stream_id:
            self._blocks.decode(block)
            self._streams.last_id = max(self._streams.last_id, stream_id)
            raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, "the stream depends on itself")
        else:
            self._on_block(flags, stream_id, block)

    def _on_continuation(self, pending: PendingBlock, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if kind != CONTINUATION or stream_id != pending.stream_id:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "a header block was interrupted")
        pending.add(payload)
        if flags & END_HEADERS:
            self._pending = None
            self._on_block(pending.flags, stream_id, pending.whole())

    def _on_block(self, flags: int, stream_id: int, block: bytes) -> None:
        decoded = self._blocks.decode(block)
        ended = flags & END_STREAM
        event = Event.HEADERS_END if ended else Event.HEADERS
        stream = self.streams.get(stream_id)
        if stream is None:
            stream = self._open_stream(stream_id, event)
            if stream is None:
                return
        action, state = TRANSITIONS[stream.state, event]
        if action is Action.BEGIN:
            try:
                head = decoded if isinstance(decoded, RequestHead) else self._blocks.head(block, decoded)
            except MalformedRequestError as error:
                raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, str(error)) from None
            stream.state = state
            self._begin(stream, head, bool(ended))
        elif action is Action.TRAILERS:
            self._end_request(stream, decoded)
        else:
            self._refuse(action, stream_id)

    def _open_stream(self, stream_id: int, event: Event) -> Stream | None:
        """Return a new stream in state IDLE, None if the request is ignored."""
        if stream_id <= self._streams.last_id:
            self._without_stream(stream_id, event)
            return None
        self._streams.last_id = stream_id
        if self._draining is _Draining.REFUSING or len(self.streams) >= self._limits.max_concurrent_streams:
            raise StreamProtocolError(stream_id, ErrorCode.REFUSED_STREAM, "no more streams are taken")
        if self._sender.unsent_bytes > self._limits.max_unsent_bytes:
            raise StreamProtocolError(
                stream_id, ErrorCode.REFUSED_STREAM, "the client gives no credit for its responses"
            )
        stream = Stream(self, stream_id, self._limits.stream_window_bytes)
        self.streams[stream_id] = stream
        return stream

    def _begin(self, stream: Stream, head: RequestHead, ended: bool) -> None:
        stream.body_left = head.content_length
        if ended and head.content_length:
            raise StreamProtocolError(stream.stream_id, ErrorCode.PROTOCOL_ERROR, "content-length without DATA")
        receiver = self._application.begin(stream, head)
        if stream.state is State.OPEN or stream.state is State.HALF_CLOSED_REMOTE:
            stream.receiver = receiver
            if ended and receiver is not None:
                receiver.data(b"", True)

    def _end_request(self, stream: Stream, decoded: RequestHead | list[tuple[str, str]]) -> None:
        if isinstance(decoded, RequestHead) or any(name[:1] == ":" for name, _ in decoded):
            raise StreamProtocolError(stream.stream_id, ErrorCode.PROTOCOL_ERROR, "pseudo-header field in trailers")
        if stream.body_left:
            raise StreamProtocolError(stream.stream_id, ErrorCode.PROTOCOL_ERROR, "content-length and DATA differ")
        stream.state = State.HALF_CLOSED_REMOTE
        if stream.receiver is not None:
            stream.receiver.data(b"", True)

    def _on_other(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if kind == frames.RST_STREAM:
            self._on_rst_stream(stream_id, payload)
        elif kind == frames.PING:
            self._on_ping(flags, stream_id, payload)
        elif kind == frames.SETTINGS:
            self._on_settings(flags, stream_id, payload)
        elif kind == frames.PRIORITY:
            self._on_priority(stream_id, payload)
        elif kind == frames.GOAWAY:
            if stream_id:
                raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "GOAWAY on a stream")
            # The client opens no more streams. The open ones are served to their end.
            self._controls.spend(self._now)
        elif kind in (frames.PUSH_PROMISE, CONTINUATION):
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, f"frame of type {kind} from a client")
        else:
            self._controls.spend(self._now)

    def _on_window_update(self, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE is not four bytes long")
        increment = int.from_bytes(payload, "big") & STREAM_ID_MASK
        if not stream_id:
            self._controls.spend(self._now)
            if not increment:
                raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of 0")
            if not self._sender.add_credit(None, increment):
                raise ConnectionProtocolError(ErrorCode.FLOW_CONTROL_ERROR, "the connection's window overflows")
            return
        stream = self.streams.get(stream_id)
        if stream is None:
            self._without_stream(stream_id, Event.CREDIT)
            return
        self._controls.spend(self._now)
        if not increment:
            raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of 0")
        if not self._sender.add_credit(stream, increment):
            raise StreamProtocolError(stream_id, ErrorCode.FLOW_CONTROL_ERROR, "the stream's window overflows")

    def _on_rst_stream(self, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM is not four bytes long")
        stream = self.streams.get(stream_id)
        if stream is None:
            self._without_stream(stream_id, Event.CLIENT_RESET)
            return
        self._resets.spend(self._now)
        receiver = stream.receiver
        self._forget(stream, TRANSITIONS[stream.state, Event.CLIENT_RESET][1])
        if receiver is not None:
            receiver.lost(f"the client reset the stream with {frames.reset_code(int.from_bytes(payload, 'big')).name}")

    def _on_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "PING on a stream")
        if len(payload) != 8:
            raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "PING is not eight bytes long")
        self._controls.spend(self._now)
        if not flags & ACK:
            self._sender.output.append(frames.ping(payload, ack=True))
        elif self._draining is _Draining.ANNOUNCED and payload == _DRAIN_PING:
            # Everything that the client sent before it received GOAWAY has arrived by now.
            self.go_away(ErrorCode.NO_ERROR)

    def _on_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "SETTINGS on a stream")
        self._controls.spend(self._now)
        if flags & ACK:
            if payload:
                raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS acknowledgement with a payload")
            return
        self._peer.apply(payload)
        self._sender.table_resized()
        if self._peer.initial_window + self._sender.highest_credit > frames.LARGEST_WINDOW:
            self._check_windows()
        self._sender.output.append(frames.settings(ack=True))
        self._sender.pump()

    def _check_windows(self) -> None:
        """Raise FLOW_CONTROL_ERROR if the initial window makes the window of an open stream overflow.

        Only windows of almost 2 GiB lead here, so the visit to all streams counts as one frame for each.
        """
        self._controls.spend(self._now, len(self.streams))
        highest = max((stream.credit for stream in self.streams.values()), default=0)
        if self._peer.initial_window + highest > frames.LARGEST_WINDOW:
            raise ConnectionProtocolError(ErrorCode.FLOW_CONTROL_ERROR, "a stream's window overflows")
        self._sender.highest_credit = highest

    def _on_priority(self, stream_id: int, payload: bytes) -> None:
        # Priorities are deprecated (RFC 9113 section 5.3.2): they are validated and otherwise ignored.
        if not stream_id:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "PRIORITY on the connection")
        self._controls.spend(self._now)
        if len(payload) != 5:
            raise StreamProtocolError(stream_id, ErrorCode.FRAME_SIZE_ERROR, "PRIORITY is not five bytes long")
        if int.from_bytes(payload[:4], "big") & STREAM_ID_MASK == stream_id:
            raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, "the stream depends on itself")

    # Lifecycle of streams.

    def _without_stream(self, stream_id: int, event: Event) -> None:
        """Handle a frame for a stream that is not open."""
        self._controls.spend(self._now)
        self._refuse(TRANSITIONS[self._streams.state_of(stream_id), event][0], stream_id)

    @staticmethod
    def _refuse(action: Action, stream_id: int) -> None:
        if action is Action.STREAM_CLOSED:
            raise StreamProtocolError(stream_id, ErrorCode.STREAM_CLOSED, "frame on a stream that the client ended")
        if action is Action.STREAM_PROTOCOL:
            raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, "frame that does not fit the stream's state")
        if action is Action.CONNECTION_CLOSED:
            raise ConnectionProtocolError(ErrorCode.STREAM_CLOSED, f"frame on stream {stream_id}, which has ended")
        if action is Action.CONNECTION_PROTOCOL:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, f"frame on stream {stream_id}, which is not open")

    def _ended(self, stream: Stream) -> None:
        action, state = TRANSITIONS[stream.state, Event.SERVER_END]
        if action is Action.PASS_OVER:
            return
        self._forget(stream, state)
        if action is Action.GIVE_UP:
            self._sender.output.append(frames.rst_stream(stream.stream_id, ErrorCode.NO_ERROR))

    def _forget(self, stream: Stream, state: State) -> None:
        if stream.queue is not None:
            self._sender.forget(stream)
        self._streams.forget(stream, state)
        if self._draining:
            self._close_when_drained()

    def _fail_stream(self, error: StreamProtocolError) -> None:
        # A client that makes the server reset streams costs as much as a client that resets them itself.
        self._resets.spend(self._now)
        stream = self.streams.get(error.stream_id)
        if stream is not None:
            receiver = stream.receiver
            self._application.broken(receiver, error.code, error.reason)
            self.reset_stream(stream, error.code)
            if receiver is not None:
                receiver.lost(str(error))
        elif error.stream_id > self._streams.last_id:
            # RST_STREAM is not allowed on a stream that was never opened.
            self._fail(error.code, error.reason)
        else:
            if error.code is ErrorCode.REFUSED_STREAM:
                self._application.broken(None, error.code, error.reason)
            self._streams.abandon(error.stream_id)
            self._sender.output.append(frames.rst_stream(error.stream_id, error.code))

    def _fail(self, code: ErrorCode, reason: str) -> None:
        self.failure = f"{code.name}: {reason}"
        self._application.broken(None, code, reason)
        self._sender.output.append(frames.go_away(self._streams.last_id, code, reason))
        self.closing = Closing.AFTER_OUTPUT

    def _close_when_drained(self) -> None:
        if self._draining is _Draining.REFUSING and not self.streams and not self.closing:
            self.closing = Closing.AFTER_OUTPUT

    def _emit(self, data: bytes) -> None:
        if not self.closing:
            self._sender.output.append(data)
            self._changed()

    def _changed(self, *, final: bool = True) -> None:
        if not self._receiving:
            self._on_output(final)


def _without_padding(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the start and the end of the payload of a padded frame."""
    if end == start:
        raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "padded frame without a pad length")
    padding = data[start]
    if padding >= end - start:
        raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "more padding than frame")
    return start + 1, end - padding
