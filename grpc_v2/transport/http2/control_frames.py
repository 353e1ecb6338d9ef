"""Frames that control the connection and its streams: WINDOW_UPDATE, RST_STREAM, PING, SETTINGS, PRIORITY, GOAWAY."""

from __future__ import annotations

from . import frames
from .connection_output import DRAIN_PING, DRAIN_REASON, ConnectionOutput, Draining
from .errors import ConnectionProtocolError, ErrorCode, StreamProtocolError
from .flood_guard import FloodGuard
from .frames import ACK, CONTINUATION, STREAM_ID_MASK
from .request_frames import refuse_without_stream
from .settings import PeerSettings
from .stream_table import TRANSITIONS, StreamEvent


class ControlFrames:
    """Processes the control frames of one connection. `peer` are the client's settings."""

    __slots__ = ("_frames", "_guard", "_output", "_peer", "_registry", "_sender", "_streams")

    def __init__(self, peer: PeerSettings, output: ConnectionOutput, guard: FloodGuard) -> None:
        self._peer = peer
        self._output = output
        self._guard = guard
        self._sender = output.sender
        self._frames = output.sender.output
        self._registry = output.registry
        self._streams = output.streams

    def on_other(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """Process any control frame but WINDOW_UPDATE. Unknown types are ignored."""
        if kind == frames.RST_STREAM:
            self._on_rst_stream(stream_id, payload)
        elif kind == frames.PING:
            self._on_ping(flags, stream_id, payload)
        elif kind == frames.SETTINGS:
            self.on_settings(flags, stream_id, payload)
        elif kind == frames.PRIORITY:
            self._on_priority(stream_id, payload)
        elif kind == frames.GOAWAY:
            if stream_id:
                raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "GOAWAY on a stream")
            # The client opens no more streams. The open ones are served to their end.
            self._guard.controls.spend(self._guard.now)
        elif kind in (frames.PUSH_PROMISE, CONTINUATION):
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, f"frame of type {kind} from a client")
        else:
            self._guard.controls.spend(self._guard.now)

    def on_window_update(self, stream_id: int, payload: bytes) -> None:
        """Process a WINDOW_UPDATE frame."""
        if len(payload) != 4:
            raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE is not four bytes long")
        increment = int.from_bytes(payload, "big") & STREAM_ID_MASK
        if not stream_id:
            self._guard.controls.spend(self._guard.now)
            if not increment:
                raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of 0")
            if not self._sender.add_credit(None, increment):
                raise ConnectionProtocolError(ErrorCode.FLOW_CONTROL_ERROR, "the connection's window overflows")
            return
        stream = self._streams.get(stream_id)
        if stream is None:
            refuse_without_stream(self._guard, self._registry, stream_id, StreamEvent.CREDIT)
            return
        self._guard.controls.spend(self._guard.now)
        if not increment:
            raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of 0")
        if not self._sender.add_credit(stream, increment):
            raise StreamProtocolError(stream_id, ErrorCode.FLOW_CONTROL_ERROR, "the stream's window overflows")

    def _on_rst_stream(self, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM is not four bytes long")
        stream = self._streams.get(stream_id)
        if stream is None:
            refuse_without_stream(self._guard, self._registry, stream_id, StreamEvent.CLIENT_RESET)
            return
        self._guard.resets.spend(self._guard.now)
        receiver = stream.receiver
        self._output.remove_stream(stream, TRANSITIONS[stream.state, StreamEvent.CLIENT_RESET][1])
        if receiver is not None:
            receiver.client_lost(
                f"the client reset the stream with {frames.error_code(int.from_bytes(payload, 'big')).name}"
            )

    def _on_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "PING on a stream")
        if len(payload) != 8:
            raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "PING is not eight bytes long")
        self._guard.controls.spend(self._guard.now)
        if not flags & ACK:
            if not self._output.ignores_pings:
                self._frames.append(frames.ping(payload, ack=True))
        elif self._output.draining is Draining.ANNOUNCED and payload == DRAIN_PING:
            # Everything that the client sent before it received GOAWAY has arrived by now.
            self._output.go_away(ErrorCode.NO_ERROR, DRAIN_REASON)

    def on_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        """Process a SETTINGS frame."""
        if stream_id:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "SETTINGS on a stream")
        self._guard.controls.spend(self._guard.now)
        if flags & ACK:
            if payload:
                raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS acknowledgement with a payload")
            return
        self._peer.apply(payload)
        self._sender.table_resized()
        if self._peer.initial_window + self._sender.highest_credit > frames.LARGEST_WINDOW:
            self._check_windows()
        self._frames.append(frames.settings(ack=True))
        self._sender.pump()

    def _check_windows(self) -> None:
        """Raise FLOW_CONTROL_ERROR if the initial window makes the window of an open stream overflow.

        Only windows of almost 2 GiB lead here, so the visit to all streams counts as one frame for each.
        """
        self._guard.controls.spend(self._guard.now, len(self._streams))
        highest = max((stream.credit for stream in self._streams.values()), default=0)
        if self._peer.initial_window + highest > frames.LARGEST_WINDOW:
            raise ConnectionProtocolError(ErrorCode.FLOW_CONTROL_ERROR, "a stream's window overflows")
        self._sender.highest_credit = highest

    def _on_priority(self, stream_id: int, payload: bytes) -> None:
        # Priorities are deprecated (RFC 9113 section 5.3.2): they are validated and otherwise ignored.
        if not stream_id:
            raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, "PRIORITY on the connection")
        self._guard.controls.spend(self._guard.now)
        if len(payload) != 5:
            raise StreamProtocolError(stream_id, ErrorCode.FRAME_SIZE_ERROR, "PRIORITY is not five bytes long")
        if int.from_bytes(payload[:4], "big") & STREAM_ID_MASK == stream_id:
            raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, "the stream depends on itself")
