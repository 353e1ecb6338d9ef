"""The one scheduler of an engine: integer milliseconds, told the time from outside.

It owns `now_ms` and the timers. It must not know the wall clock: a driver of real time calls `advance_to` with it,
a test calls `advance_to` with whatever it likes, and the code that runs is the same.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush


class Timer:
    """One call that is due at an instant; `cancel()` takes it back.

    `kind` says what will happen (`"revive"`, `"long poll"`), `owner` for whom (a group, a queue, a message).
    """

    __slots__ = ("_scheduler", "action", "due_ms", "kind", "lifetime", "owner", "sequence")

    def __init__(
        self, scheduler: "Scheduler", due_ms: int, sequence: int, action: Callable[[], None], kind: str, owner: str
    ) -> None:
        self._scheduler = scheduler
        self.due_ms = due_ms
        self.sequence = sequence
        self.action: Callable[[], None] | None = action
        self.kind = kind
        self.owner = owner
        self.lifetime: Lifetime | None = None

    @property
    def active(self) -> bool:
        """True until the timer has run or was cancelled."""
        return self.action is not None

    def cancel(self) -> None:
        """Forget the action."""
        if self.action is not None:
            self.action = None
            self._scheduler.forget(self)


class Scheduler:
    """Runs timers in (due, sequence) order with `now_ms` set to each due time."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self._timers: dict[int, OrderedDict[int, Timer]] = {}
        """By instant and then by sequence. Ten thousand polls of one second share few instants, and setting or taking
        back a timer of an instant that is known touches nothing else."""
        self._instants: list[int] = []
        """A heap of the keys of `_timers`."""
        self._empty = 0
        """Instants whose timers were all taken back."""
        self._sequence = 0
        self._advancing = False
        self._lifetimes: list[Lifetime] = []
        self.on_earlier: Callable[[], None] | None = None
        """Called when a new timer is due before all others, so that a real-time driver can come back sooner."""
        self.on_timer: Callable[[Timer], None] | None = None
        """Called with each new timer: for a driver that ends what clients wait for while the time stands still."""

    def call_at(self, due_ms: int, action: Callable[[], None], kind: str, owner: str = "") -> Timer:
        """Run `action` when the time reaches `due_ms`; an instant in the past is due at the next advance."""
        self._sequence = sequence = self._sequence + 1
        timer = Timer(self, due_ms, sequence, action, kind, owner)
        timers = self._timers.get(due_ms)
        if timers is not None:
            if not timers:
                self._empty -= 1
            timers[sequence] = timer
            if self.on_timer is not None:
                self.on_timer(timer)
            return timer
        instants = self._instants
        earlier = not instants or due_ms < instants[0]
        self._timers[due_ms] = OrderedDict({sequence: timer})
        heappush(instants, due_ms)
        if self.on_timer is not None:
            self.on_timer(timer)
        if earlier and not self._advancing and self.on_earlier is not None:
            self.on_earlier()
        return timer

    def call_later(self, delay_ms: int, action: Callable[[], None], kind: str, owner: str = "") -> Timer:
        """Run `action` after `delay_ms` (>= 0)."""
        return self.call_at(self.now_ms + delay_ms, action, kind, owner)

    def next_deadline_ms(self) -> int | None:
        """When the earliest active timer is due, or None."""
        instants = self._instants
        while instants and not self._timers[instants[0]]:
            del self._timers[heappop(instants)]
            self._empty -= 1
        return instants[0] if instants else None

    def earliest(self) -> list[Timer]:
        """The active timers of the next instant at which any is due, in the order in which they will run."""
        due_ms = self.next_deadline_ms()
        return [] if due_ms is None else list(self._timers[due_ms].values())

    @property
    def advancing(self) -> bool:
        """True while timers run."""
        return self._advancing

    def advance_to(self, target_ms: int) -> None:
        """Run everything due up to and including `target_ms`, then be at `target_ms`.

        A target in the past runs what is due now and leaves the time as it is: time never goes back.
        """
        if self._advancing:
            raise AssertionError("advance_to was called from inside a timer")
        self._advancing = True
        try:
            target_ms = max(target_ms, self.now_ms)
            while (due_ms := self.next_deadline_ms()) is not None and due_ms <= target_ms:
                timers = self._timers[due_ms]
                _, timer = timers.popitem(last=False)
                if not timers:
                    del self._timers[heappop(self._instants)]
                action, timer.action = timer.action, None
                if due_ms > self.now_ms:
                    self._set_now(due_ms)
                if action is not None:
                    action()
            self._set_now(target_ms)
        finally:
            self._advancing = False

    def run_early(self, timer: Timer) -> None:
        """Run a timer at once, before its instant; one that is over stays over."""
        action = timer.action
        if action is not None:
            timer.cancel()
            action()

    def _set_now(self, now_ms: int) -> None:
        self.now_ms = now_ms
        for lifetime in self._lifetimes:
            lifetime.now_ms = now_ms

    def begin(self, *, idle: bool = False) -> "Lifetime":
        """A lifetime of timers, from now on; of an `idle` one no timer ever runs."""
        lifetime = Lifetime(self)
        lifetime.ended = idle
        self._lifetimes.append(lifetime)
        return lifetime

    def end(self, lifetime: "Lifetime") -> None:
        """Forget all timers that were set through a lifetime."""
        self._lifetimes.remove(lifetime)
        lifetime.ended = True
        for timer in list(self.scheduled()):
            if timer.lifetime is lifetime:
                timer.cancel()

    def forget(self, timer: Timer) -> None:
        """A timer was cancelled. Long polls cancel one a message: the heap is tidied when most of it means nothing."""
        timers = self._timers[timer.due_ms]
        del timers[timer.sequence]
        if timers:
            return
        self._empty += 1
        if self._empty > 256 and self._empty * 4 > len(self._instants) * 3:
            self._timers = {due_ms: timers for due_ms, timers in self._timers.items() if timers}
            self._instants = list(self._timers)
            heapify(self._instants)
            self._empty = 0

    def scheduled(self) -> Iterator[Timer]:
        """The active timers, earliest first."""
        return iter([timer for due_ms in sorted(self._timers) for timer in self._timers[due_ms].values()])

    def has(self, wanted: Callable[[Timer], bool]) -> bool:
        """Is there an active timer like this? Looks no further than the first one, in no order."""
        return any(wanted(timer) for timers in self._timers.values() for timer in timers.values())


class Lifetime(Scheduler):
    """The scheduler as one run of a broker sees it: the same time, and timers that end with the run."""

    def __init__(self, world: Scheduler) -> None:
        super().__init__(world.now_ms)
        self._world = world
        self.ended = False

    def call_at(self, due_ms: int, action: Callable[[], None], kind: str, owner: str = "") -> Timer:
        """A timer of the world that is forgotten with this lifetime, at once when that is over."""
        timer = self._world.call_at(due_ms, action, kind, owner)
        timer.lifetime = self
        if self.ended:
            timer.cancel()
        return timer

    def next_deadline_ms(self) -> int | None:
        """The world's."""
        return self._world.next_deadline_ms()

    @property
    def advancing(self) -> bool:
        """The world's."""
        return self._world.advancing

    def advance_to(self, target_ms: int) -> None:
        """The world's."""
        self._world.advance_to(target_ms)

    def scheduled(self) -> Iterator[Timer]:
        """The active timers of this lifetime, earliest first."""
        return (timer for timer in self._world.scheduled() if timer.lifetime is self)
