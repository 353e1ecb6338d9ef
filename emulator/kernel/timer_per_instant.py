"""Group items that are due at the same instant: one timer per instant."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .scheduler import Scheduler, Timer

Item = TypeVar("Item", bound=Hashable)


class TimerPerInstant(Generic[Item]):
    """Items by due time. `act` gets all items of one instant at once, in the order in which they were added."""

    def __init__(self, scheduler: Scheduler, kind: str, act: Callable[[list[Item]], None]) -> None:
        self._scheduler = scheduler
        self._kind = kind
        self._act = act
        self._due_ms: dict[Item, int] = {}
        self._instants: dict[int, tuple[Timer, dict[Item, None]]] = {}
        """By due time (ms): the timer, and its items in the order of their addition."""

    def add(self, item: Item, due_ms: int) -> None:
        """Schedule an item for an instant; an item that is already scheduled is moved."""
        self.discard(item)
        self._due_ms[item] = due_ms
        found = self._instants.get(due_ms)
        if found is None:
            timer = self._scheduler.call_at(due_ms, lambda: self._run(due_ms), self._kind)
            found = self._instants[due_ms] = (timer, {})
        found[1][item] = None

    def discard(self, item: Item) -> None:
        """Remove an item. A no-op if it is not scheduled."""
        due_ms = self._due_ms.pop(item, None)
        if due_ms is None:
            return
        timer, items = self._instants[due_ms]
        del items[item]
        if not items:
            timer.cancel()
            del self._instants[due_ms]

    def _run(self, due_ms: int) -> None:
        _, items = self._instants.pop(due_ms)
        for item in items:
            del self._due_ms[item]
        self._act(list(items))
