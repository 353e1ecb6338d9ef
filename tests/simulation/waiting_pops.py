"""Pops that wait, as the books of the oracle keep them."""

from observations import PopParked
from stored_messages import Violation


class WaitingPops:
    """A book that knows which pops wait, by the numbers of their calls."""

    def __init__(self) -> None:
        self._waiting: dict[int, PopParked] = {}

    def parked(self, seen: PopParked) -> None:
        """A pop waits."""
        if seen.deadline <= seen.now:
            raise Violation(f"waits without time left: {seen}")
        self._waiting[seen.call] = seen

    def gone(self, client: str) -> None:
        """A client is gone, and its waiting pops with it."""
        self._waiting = {call: parked for call, parked in self._waiting.items() if parked.client != client}

    def _forget(self, group: str, topic: str) -> None:
        """Of a group's waiting pops nothing is known any more: a reset does not wake them upstream."""
        for call, parked in list(self._waiting.items()):
            if (parked.group, parked.topic) == (group, topic):
                del self._waiting[call]
