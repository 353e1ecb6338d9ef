"""Streams with unsent DATA, in the order in which they share the connection's window.

The cost of each call is O(log n) for n waiting streams, whatever the client sends. A frame that releases one byte must
not make the server visit every stream.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from typing import Final

from .settings import PeerSettings
from .stream import Http2Stream

# The heap is rebuilt when outdated entries make up more than half of it, but not below this size.
_SMALLEST_REBUILD: Final = 64


class WaitingStreams:
    """Streams that wait for a WINDOW_UPDATE.

    The window of a stream is its `credit`, which may be negative, plus the peer's initial window. A stream whose own
    window is open waits for the connection's window alone and takes turns with the others in `ready`. A stream whose
    own window is used up is `blocked`. A heap orders blocked streams by credit, because SETTINGS_INITIAL_WINDOW_SIZE
    opens or closes the windows of all streams at once. `next` then moves streams between the two one by one.
    """

    __slots__ = ("_by_credit", "_peer", "blocked", "ready")

    def __init__(self, peer: PeerSettings) -> None:
        self._peer = peer
        # By id. For each frame with credit the sender tests only if it is empty.
        self.ready: OrderedDict[int, Http2Stream] = OrderedDict()
        self.blocked: dict[int, Http2Stream] = {}
        # (-credit, stream id). An entry is outdated unless its stream is blocked and has exactly this credit.
        self._by_credit: list[tuple[int, int]] = []

    def add(self, stream: Http2Stream) -> None:
        """Append a stream."""
        if stream.credit + self._peer.initial_window > 0:
            self.ready[stream.stream_id] = stream
        else:
            self._block(stream)

    def discard(self, stream: Http2Stream) -> None:
        """Remove a stream; a no-op if it does not wait."""
        self.ready.pop(stream.stream_id, None)
        self.blocked.pop(stream.stream_id, None)

    def credited(self, stream: Http2Stream) -> None:
        """Update the place of a stream whose own credit has grown; a no-op if it does not wait."""
        if self.blocked.pop(stream.stream_id, None) is not None:
            self.add(stream)

    def next(self) -> Http2Stream | None:
        """Return the next stream whose own window is open and move it to the end; None if there is none."""
        initial_window = self._peer.initial_window
        while self._by_credit:
            negative, stream_id = self._by_credit[0]
            stream = self.blocked.get(stream_id)
            if stream is not None and stream.credit == -negative:
                if stream.credit + initial_window <= 0:
                    break
                del self.blocked[stream_id]
                heappop(self._by_credit)
                self.ready[stream_id] = stream
                return stream
            heappop(self._by_credit)
        while self.ready:
            stream_id, stream = self.ready.popitem(last=False)
            if stream.credit + initial_window > 0:
                self.ready[stream_id] = stream
                return stream
            self._block(stream)
        return None

    def _block(self, stream: Http2Stream) -> None:
        self.blocked[stream.stream_id] = stream
        if len(self._by_credit) > max(_SMALLEST_REBUILD, 2 * len(self.blocked)):
            self._by_credit = [(-blocked.credit, stream_id) for stream_id, blocked in self.blocked.items()]
            heapify(self._by_credit)
        else:
            heappush(self._by_credit, (-stream.credit, stream.stream_id))
