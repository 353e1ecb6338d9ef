"""Waiting pops, for the oracle's models of pops."""

from observations import PopParked
from stored_messages import Violation


class WaitingPops:
    """Base of models with waiting pops, by the numbers of their calls."""

    def __init__(self) -> None:
        self._waiting: dict[int, PopParked] = {}

    def parked(self, seen: PopParked) -> None:
        """Record a parked pop."""
        if seen.deadline <= seen.now:
            raise Violation(f"waits without time left: {seen}")
        self._waiting[seen.call] = seen

    def gone(self, client: str) -> None:
        """Remove the waiting pops of a disconnected client."""
        self._waiting = {call: parked for call, parked in self._waiting.items() if parked.client != client}

    def _forget(self, group: str, topic: str) -> None:
        """Stop checking a group's waiting pops after a reset, which does not wake them upstream."""
        for call, parked in list(self._waiting.items()):
            if (parked.group, parked.topic) == (group, topic):
                del self._waiting[call]
