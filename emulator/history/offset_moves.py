"""Changes of groups' offsets that no delivery explains: first offsets, resets, copies, and lower commits."""

from dataclasses import replace

from .events import MoveKind, OffsetMove
from .record_keys import Queue

MOVES_MAX = 4
"""The number of moves that are kept for each group and queue."""
QUEUES_MAX = 5_000
"""The number of groups and queues with moves; above it the one whose first move is the oldest is removed."""
GroupQueue = tuple[str, Queue]
"""(group, queue)"""


class OffsetMoves:
    """The newest moves by group and queue."""

    def __init__(self) -> None:
        self._moves: dict[GroupQueue, list[OffsetMove]] = {}
        self.unnamed: list[GroupQueue] = []
        """The group queues of moves whose client is not known yet: those of the request that is being carried out."""

    def copy(self) -> "OffsetMoves":
        """Return an independent copy."""
        made = OffsetMoves()
        made._moves = {key: moves.copy() for key, moves in self._moves.items()}
        made.unnamed = self.unnamed.copy()
        return made

    def note(self, group: str, queue: Queue, move: OffsetMove) -> bool:
        """Append a move. Returns False, and appends nothing, for the commit by which a recorded reset or copy ends."""
        key = (group, queue)
        moves = self._moves.get(key)
        if moves is None:
            if len(self._moves) >= QUEUES_MAX:
                del self._moves[next(iter(self._moves))]
            moves = self._moves[key] = []
        elif _repeats(moves[-1], move):
            return False
        moves.append(move)
        del moves[:-MOVES_MAX]
        if len(self.unnamed) < QUEUES_MAX:
            self.unnamed.append(key)
        return True

    def name(self, node: str, channel: str, now_ms: int) -> list[tuple[GroupQueue, OffsetMove]]:
        """Set the connection of the moves that a request to a broker caused just now, and return these moves.

        Older moves without a connection came from the broker itself.
        """
        keys, self.unnamed = self.unnamed, []
        named = []
        for key in keys:
            moves = self._moves.get(key)
            if moves and moves[-1].at_ms == now_ms and key[1][0] == node:
                moves[-1] = replace(moves[-1], channel=channel)
                named.append((key, moves[-1]))
        return named

    def began(self, group: str, queue: Queue, *, committed: int, at: int) -> None:
        """Set the offset at which a group began, if its first commit passed messages that it had read."""
        moves = self._moves.get((group, queue))
        if moves and moves[-1].kind is MoveKind.FIRST and moves[-1].after == committed:
            moves[-1] = replace(moves[-1], after=at)

    def of(self, group: str, queue: Queue) -> list[OffsetMove]:
        """Return the moves of a group in a queue, the oldest first."""
        return list(self._moves.get((group, queue), ()))


def _repeats(last: OffsetMove, move: OffsetMove) -> bool:
    return (last.at_ms, last.after) == (move.at_ms, move.after) and last.kind in (MoveKind.RESET, MoveKind.CLONE)
