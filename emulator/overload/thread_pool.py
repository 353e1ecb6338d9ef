"""A pool of threads with a queue before it: what it serves, what waits, and what it has no room for.

A thread is kept for a time that the task is given, and for as long as the task itself keeps it after that.
Source: ThreadPoolExecutor as BrokerController and GrpcMessagingApplication make it (5.3.3).
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from ..kernel.scheduler import Scheduler


class Task(Protocol):
    """Something to do on a thread."""

    def run(self, done: Callable[[], None]) -> None:
        """Do it, and call `done`, at once or later, when the thread is free."""

    def give_up(self) -> bool:
        """Asked when a thread is free for what has waited: whether that has ended it, without needing the thread."""


T = TypeVar("T", bound=Task)


class ThreadPool(Generic[T]):
    """The threads of one pool, and what waits for them; `name` is shown by the scheduler."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self._scheduler = scheduler
        self._name = name
        self.threads = 1
        self.capacity = 1
        self.keeps_ms = 0
        """How long each task keeps its thread before it is done."""
        self.waiting: deque[tuple[int, T]] = deque()
        """Since when, and what, the oldest first."""
        self._begun: dict[int, int] = {}
        """When each task that keeps its thread for its time began, by a number, the oldest first."""
        self._number = 0
        self._busy = 0

    def take(self, task: T) -> bool:
        """Begin a task or let it wait; False: there is no room."""
        if self._busy < self.threads:
            self._begin(task)
        elif len(self.waiting) < self.capacity:
            self.waiting.append((self._scheduler.now_ms, task))
        else:
            return False
        return True

    @property
    def idle(self) -> bool:
        """Whether no thread is kept."""
        return not self._busy

    @property
    def longest_ms(self) -> int | None:
        """For how long the oldest task that takes its time has been at it, None when there is none."""
        first = next(iter(self._begun.values()), None)
        return None if first is None else self._scheduler.now_ms - first

    @property
    def head_wait_ms(self) -> int:
        """For how long the oldest of those that wait has waited, 0 when there is none."""
        return self._scheduler.now_ms - self.waiting[0][0] if self.waiting else 0

    def _begin(self, task: T) -> None:
        self._busy += 1
        if not self.keeps_ms:
            task.run(self._free)
            return
        self._number = number = self._number + 1
        self._begun[number] = self._scheduler.now_ms
        self._scheduler.call_later(self.keeps_ms, lambda: self._over(number, task), "request thread", self._name)

    def _over(self, number: int, task: T) -> None:
        del self._begun[number]
        task.run(self._free)

    def _free(self) -> None:
        self._busy -= 1
        while self.waiting and self._busy < self.threads:
            task = self.waiting.popleft()[1]
            if not task.give_up():
                self._begin(task)
