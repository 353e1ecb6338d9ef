"""Frames that carry requests: HEADERS, CONTINUATION and DATA. They open streams and feed the application."""

from __future__ import annotations

from typing import Final

from .connection_output import ConnectionOutput, Draining
from .errors import ConnectionProtocolError, ErrorCode, StreamProtocolError
from .flood_guard import FloodGuard
from .frames import CONTINUATION, END_HEADERS, END_STREAM, PADDED, PRIORITIZED, STREAM_ID_MASK, window_update
from .limits import Limits
from .request_blocks import PendingBlock, RequestBlocks
from .request_head import MalformedRequestError, RequestHead
from .settings import DEFAULT_WINDOW
from .stream import Application, Http2Stream
from .stream_registry import StreamRegistry
from .stream_table import TRANSITIONS, StreamAction, StreamEvent, StreamState, refuse

# Pieces of a body above this size are passed as views of the received bytes.
_VIEW_BYTES: Final = 2_048


class RequestFrames:
    """Processes the request frames of one connection."""

    __slots__ = (
        "_application",
        "_blocks",
        "_frames",
        "_guard",
        "_limits",
        "_output",
        "_registry",
        "_streams",
        "pending",
        "receive_window",
    )

    def __init__(self, application: Application, limits: Limits, output: ConnectionOutput, guard: FloodGuard) -> None:
        self._application = application
        self._limits = limits
        self._output = output
        self._guard = guard
        self._frames = output.sender.output
        self._registry = output.registry
        self._streams = output.streams
        self._blocks = RequestBlocks(limits)
        # A header block that spans several frames.
        self.pending: PendingBlock | None = None
        # Bytes of DATA that the client may still send on all streams together.
        self.receive_window = max(limits.connection_window_bytes, DEFAULT_WINDOW)

    def on_data(  # noqa: PLR0917  # called for each frame: keywords would cost it time
        self, flags: int, stream_id: int, data: bytes, start: int, end: int
    ) -> None:
        """Process a DATA frame, whose payload is `data[start:end]`."""
        length = end - start
        window = self.receive_window - length
        if window < 0:
            raise ConnectionProtocolError(ErrorCode.FLOW_CONTROL_ERROR, "more DATA than the connection's window")
        full = self._limits.connection_window_bytes
        if window < full >> 1 and not self._output.withholds_credit:
            # The window is refilled without waiting until the application has consumed the bytes. The limit on message
            # size bounds the memory.
            self._frames.append(window_update(0, full - window))
            window = full
        self.receive_window = window
        stream = self._streams.get(stream_id)
        ended = flags & END_STREAM
        event = StreamEvent.DATA_END if ended else StreamEvent.DATA
        if stream is None:
            refuse_without_stream(self._guard, self._registry, stream_id, event)
            return
        action, state = TRANSITIONS[stream.state, event]
        if action is not StreamAction.DELIVER:
            refuse(action, stream_id)
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
                self._guard.controls.spend(self._guard.now)
            elif (
                stream.receive_window < self._limits.stream_window_bytes >> 1
                and not stream.stalled
                and not self._output.withholds_credit
            ):
                increment = self._limits.stream_window_bytes - stream.receive_window
                stream.receive_window += increment
                self._frames.append(window_update(stream_id, increment))
        if stream.receiver is not None:
            payload = memoryview(data)[start:end] if end - start > _VIEW_BYTES else data[start:end]
            stream.receiver.data(payload, bool(ended))

    def on_headers(  # noqa: PLR0917  # called for each frame: keywords would cost it time
        self, flags: int, stream_id: int, data: bytes, start: int, end: int
    ) -> None:
        """Process a HEADERS frame, whose payload is `data[start:end]`."""
        if not stream_id & 1:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, f"HEADERS on stream {stream_id}")
        if flags & PADDED:
            start, end = _without_padding(data, start, end)
        depends_on_itself = False
        if flags & PRIORITIZED:
            if end - start < 5:
                raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS too short for its priority")
            depends_on_itself = int.from_bytes(data[start : start + 4], "big") & STREAM_ID_MASK == stream_id
            start += 5
        block = data[start:end]
        if len(block) > self._limits.max_header_list_bytes:
            raise ConnectionProtocolError(ErrorCode.ENHANCE_YOUR_CALM, f"header block of {len(block)} bytes")
        if not flags & END_HEADERS:
            self.pending = PendingBlock(self._limits, stream_id, flags, block, depends_on_itself=depends_on_itself)
        else:
            self._on_block(flags, stream_id, block, depends_on_itself=depends_on_itself)

    def on_continuation(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """Process a frame that arrives while a header block is incomplete: it must continue the block."""
        pending = self.pending
        assert pending is not None
        if kind != CONTINUATION or stream_id != pending.stream_id:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "a header block was interrupted")
        pending.add(payload)
        if flags & END_HEADERS:
            self.pending = None
            self._on_block(pending.flags, stream_id, pending.whole(), depends_on_itself=pending.depends_on_itself)

    def _on_block(self, flags: int, stream_id: int, block: bytes, *, depends_on_itself: bool) -> None:
        decoded = self._blocks.decode(block)
        if depends_on_itself:
            # RFC 7540, section 5.3.1, as DefaultHttp2FrameReader of Netty, which upstream's proxy uses. Netty does not
            # decode the block, and its header table then differs from the client's. Here the block is decoded above.
            self._registry.last_id = max(self._registry.last_id, stream_id)
            raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, "the stream depends on itself")
        ended = flags & END_STREAM
        event = StreamEvent.HEADERS_END if ended else StreamEvent.HEADERS
        stream = self._streams.get(stream_id)
        if stream is None:
            stream = self._open_stream(stream_id, event)
            if stream is None:
                return
        action, state = TRANSITIONS[stream.state, event]
        if action is StreamAction.BEGIN:
            try:
                head = decoded if isinstance(decoded, RequestHead) else self._blocks.head(block, decoded)
            except MalformedRequestError as error:
                raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, str(error)) from None
            stream.state = state
            self._begin(stream, head, bool(ended))
        elif action is StreamAction.TRAILERS:
            self._end_request(stream, decoded)
        else:
            refuse(action, stream_id)

    def _open_stream(self, stream_id: int, event: StreamEvent) -> Http2Stream | None:
        """Return a new stream in state IDLE, None if the request is ignored."""
        if stream_id <= self._registry.last_id:
            refuse_without_stream(self._guard, self._registry, stream_id, event)
            return None
        self._registry.last_id = stream_id
        if self._output.draining is Draining.REFUSING or len(self._streams) >= self._limits.max_concurrent_streams:
            raise StreamProtocolError(stream_id, ErrorCode.REFUSED_STREAM, "no more streams are accepted")
        if self._output.sender.unsent_bytes > self._limits.max_unsent_bytes:
            raise StreamProtocolError(
                stream_id, ErrorCode.REFUSED_STREAM, "the client gives no credit for its responses"
            )
        stream = Http2Stream(self._output, stream_id, self._limits.stream_window_bytes)
        self._streams[stream_id] = stream
        return stream

    def _begin(self, stream: Http2Stream, head: RequestHead, ended: bool) -> None:
        stream.body_left = head.content_length
        if ended and head.content_length:
            raise StreamProtocolError(stream.stream_id, ErrorCode.PROTOCOL_ERROR, "content-length without DATA")
        receiver = self._application.begin(stream, head)
        if stream.state is StreamState.OPEN or stream.state is StreamState.HALF_CLOSED_REMOTE:
            stream.receiver = receiver
            if ended and receiver is not None:
                receiver.data(b"", True)

    def _end_request(self, stream: Http2Stream, decoded: RequestHead | list[tuple[str, str]]) -> None:
        if isinstance(decoded, RequestHead) or any(name[:1] == ":" for name, _ in decoded):
            raise StreamProtocolError(stream.stream_id, ErrorCode.PROTOCOL_ERROR, "pseudo-header field in trailers")
        if stream.body_left:
            raise StreamProtocolError(stream.stream_id, ErrorCode.PROTOCOL_ERROR, "content-length and DATA differ")
        stream.state = StreamState.HALF_CLOSED_REMOTE
        if stream.receiver is not None:
            stream.receiver.data(b"", True)


def refuse_without_stream(guard: FloodGuard, registry: StreamRegistry, stream_id: int, event: StreamEvent) -> None:
    """Handle a frame for a stream that is not open: ignore it, or raise the error that the stream's state demands."""
    guard.controls.spend(guard.now)
    refuse(TRANSITIONS[registry.state_of(stream_id), event][0], stream_id)


def _without_padding(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the start and the end of the payload of a padded frame."""
    if end == start:
        raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "padded frame without a pad length")
    padding = data[start]
    if padding >= end - start:
        raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "more padding than frame")
    return start + 1, end - padding
