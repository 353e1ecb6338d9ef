"""The sending half of a connection: ordered output, DATA within the peer's flow-control credit (RFC 9113 section 5.2).

It writes to no socket: `output` grows, and the owner of the socket empties it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .frames import DATA, HEAD, LARGEST_WINDOW, frame_head, header_frames
from .header_blocks import HeaderBlock
from .header_encoder import HeaderEncoder
from .settings import DEFAULT_WINDOW, PeerSettings
from .stream import Http2Stream
from .waiting_streams import WaitingStreams


class FrameSender:
    """Encodes the server's responses as frames. `on_end` is called after the last frame of a stream."""

    __slots__ = ("_on_end", "_peer", "_waiting", "encoder", "highest_credit", "output", "unsent_bytes", "window")

    def __init__(self, peer: PeerSettings, on_end: Callable[[Http2Stream], None]) -> None:
        self.output: list[bytes | memoryview] = []
        self.window = DEFAULT_WINDOW
        self._peer = peer
        self._on_end = on_end
        self._waiting = WaitingStreams(peer)
        self.encoder = HeaderEncoder()
        # Bytes of DATA that wait for credit, on all streams together.
        self.unsent_bytes = 0
        # An upper bound of the credit of all open streams. It may come from a stream that has ended.
        self.highest_credit = 0

    def respond(  # noqa: PLR0917  # called for each response: keywords would cost it time
        self, stream: Http2Stream, head: HeaderBlock, prefix: bytes, message: bytes, trailers: HeaderBlock
    ) -> None:
        """Send a complete response: headers, `prefix` and `message` as body, trailers."""
        size = len(prefix) + len(message)
        if (
            stream.queue is None
            and size <= self.window
            and size <= stream.credit + self._peer.initial_window
            and size <= self._peer.max_frame_bytes
            and not (encoder := self.encoder).notice
        ):
            self.window -= size
            sid = stream.stream_id.to_bytes(4, "big")
            prepared = encoder.prepared
            head = prepared.get(head) or encoder.encode(head)
            trailers = prepared.get(trailers) or encoder.encode(trailers)
            data = HEAD.pack(size >> 16, size & 0xFFFF, DATA, 0, stream.stream_id)
            self.output.append(
                b"".join(
                    (head.prefix, sid, head.block, data, prefix, message, trailers.ending_prefix, sid, trailers.block)
                )
            )
            self._on_end(stream)
            return
        self.headers(stream, head)
        self.data(stream, prefix + message)
        self.end(stream, trailers)

    def headers(self, stream: Http2Stream, block: HeaderBlock) -> None:
        """Send the header block that opens the response."""
        if stream.stalled:
            return
        self.output.append(self._header_frames(stream, block, end_stream=False))

    def data(self, stream: Http2Stream, payload: bytes) -> None:
        """Send a piece of the body: at once as far as the credit allows, the rest later."""
        if stream.stalled:
            return
        if stream.queue is not None:
            stream.queue.append(payload)
            self.unsent_bytes += len(payload)
            return
        size = len(payload)
        own_window = stream.credit + self._peer.initial_window
        if size <= self.window and size <= own_window and size <= self._peer.max_frame_bytes:
            self.window -= size
            stream.credit -= size
            self.output.append(frame_head(DATA, 0, stream.stream_id, size) + payload)
            return
        stream.queue = deque((memoryview(payload),))
        self.unsent_bytes += size
        while stream.queue is not None and self._send_frame(stream):
            pass
        if stream.queue is not None:
            self._waiting.add(stream)

    def end(self, stream: Http2Stream, block: HeaderBlock) -> None:
        """Send the header block that ends the response, after all queued DATA."""
        if stream.stalled:
            return
        if stream.queue is not None:
            stream.ending = block
        else:
            self._end(stream, block)

    def stall(self, stream: Http2Stream) -> None:
        """Send nothing more on a stream, neither queued nor new frames."""
        self.discard_unsent(stream)
        stream.stalled = True
        # A queue keeps complete responses off the fast path.
        stream.queue = deque()

    def discard_unsent(self, stream: Http2Stream) -> None:
        """Discard the unsent frames of a stream."""
        if stream.queue is None:
            return
        self._waiting.discard(stream)
        self.unsent_bytes -= sum(len(payload) for payload in stream.queue)
        stream.queue = None
        stream.ending = None

    def add_credit(self, stream: Http2Stream | None, increment: int) -> bool:
        """Add credit from a WINDOW_UPDATE for a stream, or for the connection (None). Returns False if it overflows."""
        if stream is None:
            if self.window + increment > LARGEST_WINDOW:
                return False
            self.window += increment
        else:
            if stream.credit + self._peer.initial_window + increment > LARGEST_WINDOW:
                return False
            stream.credit += increment
            if stream.credit > self.highest_credit:
                self.highest_credit = stream.credit
            if stream.queue is not None:
                self._waiting.credited(stream)
        if self._waiting.ready or self._waiting.blocked:
            self.pump()
        return True

    def table_resized(self) -> None:
        """Send a table size update with the next block if the peer allows a smaller table than before."""
        self.encoder.peer_table_bytes(self._peer.header_table_bytes)

    def pump(self) -> None:
        """Send queued DATA, one frame per stream in rotation, as far as the credit allows."""
        while self.window > 0 and (stream := self._waiting.next()) is not None:
            self._send_frame(stream)

    def _send_frame(self, stream: Http2Stream) -> bool:
        """Send one queued DATA frame of a stream, and the stream's end after the last one.

        Returns False without credit.
        """
        queue = stream.queue
        if queue is None:
            return False
        room = min(self.window, stream.credit + self._peer.initial_window, self._peer.max_frame_bytes)
        if room <= 0:
            return False
        payload = queue.popleft()
        if len(payload) > room:
            payload = memoryview(payload)
            queue.appendleft(payload[room:])
            payload = payload[:room]
        size = len(payload)
        self.window -= size
        stream.credit -= size
        self.unsent_bytes -= size
        self.output.append(frame_head(DATA, 0, stream.stream_id, size))
        self.output.append(payload)
        if not queue:
            self._waiting.discard(stream)
            stream.queue = None
            if stream.ending is not None:
                self._end(stream, stream.ending)
        return True

    def _end(self, stream: Http2Stream, block: HeaderBlock) -> None:
        self.output.append(self._header_frames(stream, block, end_stream=True))
        self._on_end(stream)

    def _header_frames(self, stream: Http2Stream, block: HeaderBlock, *, end_stream: bool) -> bytes:
        encoded = self.encoder.notice + self.encoder.encode(block).block
        self.encoder.notice = b""
        return header_frames(stream.stream_id, encoded, self._peer.max_frame_bytes, end_stream=end_stream)
