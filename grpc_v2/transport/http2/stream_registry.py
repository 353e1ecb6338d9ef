"""The streams of one connection: the open ones, and the final states of ended ones."""

from __future__ import annotations

from collections import deque
from typing import Final

from .stream import Http2Stream
from .stream_table import StreamState

# Number of ended streams that are kept per state. Frames that cross with the end arrive within a round trip.
_ENDED_MAX: Final = 1_024


class StreamRegistry:
    """Stores the state of every stream id that a client can name."""

    __slots__ = ("_ended", "_order", "last_id", "open")

    def __init__(self) -> None:
        self.open: dict[int, Http2Stream] = {}
        # The highest id that the client has used.
        self.last_id = 0
        self._ended: dict[int, StreamState] = {}
        # The ids of `_ended` by state, oldest first. A flood of one state does not evict the others.
        self._order: dict[StreamState, deque[int]] = {
            state: deque() for state in (StreamState.ABANDONED, StreamState.CLOSED, StreamState.RESET)
        }

    def state_of(self, stream_id: int) -> StreamState:
        """Return the state of a stream that is not open."""
        if not stream_id & 1 or stream_id > self.last_id:
            return StreamState.IDLE
        return self._ended.get(stream_id, StreamState.SKIPPED)

    def remove(self, stream: Http2Stream, state: StreamState) -> None:
        """Remove an open stream and store its final state."""
        stream.state = state
        stream.receiver = None
        del self.open[stream.stream_id]
        self._store_ended(stream.stream_id, state)

    def mark_abandoned(self, stream_id: int) -> None:
        """Store that a stream was reset before it was opened."""
        self._store_ended(stream_id, StreamState.ABANDONED)

    def _store_ended(self, stream_id: int, state: StreamState) -> None:
        if self._ended.get(stream_id) is state:
            return
        self._ended[stream_id] = state
        order = self._order[state]
        order.append(stream_id)
        if len(order) > _ENDED_MAX:
            oldest = order.popleft()
            # An id whose state has changed is in several orders. Its last state alone counts.
            if self._ended.get(oldest) is state:
                del self._ended[oldest]
