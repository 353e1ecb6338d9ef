"""The scheduler as of one instant, for readers on another thread than the engine's."""

from collections.abc import Callable, Iterator
from operator import attrgetter

from .scheduler import Scheduler, Timer

_ORDER = attrgetter("due_ms", "sequence")


class SchedulerAtInstant(Scheduler):
    """The time of an instant and the timers that were active then. It runs none of them."""

    def __init__(self, now_ms: int, timers: list[Timer]) -> None:
        super().__init__(now_ms)
        self._then = timers

    @classmethod
    def of(cls, scheduler: Scheduler) -> "SchedulerAtInstant":
        """Return the copy of a scheduler as of now."""
        return cls(scheduler.now_ms, scheduler.unordered())

    def scheduled(self) -> Iterator[Timer]:
        """Iterate over the timers of the instant, earliest first."""
        return iter(sorted(self._then, key=_ORDER))

    def has(self, wanted: Callable[[Timer], bool]) -> bool:
        """True if any timer of the instant satisfies `wanted`."""
        return any(map(wanted, self._then))

    def unordered(self) -> list[Timer]:
        """Return the timers of the instant in any order."""
        return list(self._then)
