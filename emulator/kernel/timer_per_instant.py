"""Things that fall due together: one timer for each instant at which something does."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .scheduler import Scheduler, Timer

Item = TypeVar("Item", bound=Hashable)


class Agenda(Generic[Item]):
    """Items by the instant at which `act` gets them, all of one instant at once, in the order in which they came."""

    def __init__(self, scheduler: Scheduler, kind: str, act: Callable[[list[Item]], None]) -> None:
        self._scheduler = scheduler
        self._kind = kind
        self._act = act
        self._due_ms: dict[Item, int] = {}
        self._instants: dict[int, tuple[Timer, dict[Item, None]]] = {}

    def add(self, item: Item, due_ms: int) -> None:
        """Put an item down for an instant; one that is down for another is moved."""
        self.discard(item)
        self._due_ms[item] = due_ms
        found = self._instants.get(due_ms)
        if found is None:
            timer = self._scheduler.call_at(due_ms, lambda: self._run(due_ms), self._kind)
            found = self._instants[due_ms] = (timer, {})
        found[1][item] = None

    def discard(self, item: Item) -> None:
        """Strike an item out, if it is there."""
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
