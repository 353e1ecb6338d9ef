"""The single scheduler of an engine, in integer milliseconds. Time is injected.

It owns `now_ms` and the timers. It must not know the wall clock. The host passes the wall clock to `advance_to`, and a
test passes any time.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import chain


class Timer:
    """An action scheduled for an instant; `cancel()` removes it.

    `kind` names the action by a text of `TimerKind` (`"revive"`, `"pull"`), `owner` its subject (a group, a queue, a
    message).
    """

    __slots__ = ("_scheduler", "action", "due_ms", "kind", "lifetime", "owner", "sequence")

    def __init__(  # noqa: PLR0917 - one for each timer; keywords would cost time
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
        """True until the timer has run or has been canceled."""
        return self.action is not None

    def cancel(self) -> None:
        """Cancel the timer. A no-op if it has run or has been canceled."""
        if self.action is not None:
            self.action = None
            self._scheduler.forget(self)


class Skew:
    """The difference (ms) of a broker's clock from the engine's: positive if the broker's is fast. 0 without faults."""

    __slots__ = ("ms",)

    def __init__(self) -> None:
        self.ms = 0


class Instant:
    """An instant of the engine's clock that is read by a broker's clock. A later change of the skew changes `ms`.

    Without a skew it is read by the engine's own clock.
    """

    __slots__ = ("_shared_ms", "_skew")

    def __init__(self, shared_ms: int, skew: Skew | None = None) -> None:
        self._shared_ms = shared_ms
        self._skew = skew or Skew()

    @property
    def ms(self) -> int:
        """The time (ms since the epoch) that the clock shows at the instant."""
        return self._shared_ms + self._skew.ms


class Scheduler:
    """Runs timers in order of due time and sequence, with `now_ms` set to each due time."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self._timers: dict[int, OrderedDict[int, Timer]] = {}
        """Timers by instant and sequence. Timers often share an instant: ten thousand long polls that end in the same
        second have at most a thousand. A timer that is added to an existing instant does not change the heap."""
        self._instants: list[int] = []
        """A heap of the keys of `_timers`."""
        self._empty = 0
        """The number of instants whose timers were all canceled."""
        self._sequence = 0
        self._advancing = False
        self._lifetimes: list[Lifetime] = []
        self._is_skewed = False
        """True if the clock of a lifetime differs from the engine's."""
        self._on_earlier: Callable[[], None] | None = None
        self._on_timer: Callable[[Timer], None] | None = None

    def report_earlier(self, on_earlier: Callable[[], None] | None) -> None:
        """Call a function when a new timer is due before all others, so that the host can wake up earlier."""
        self._on_earlier = on_earlier

    def report_timers(self, on_timer: Callable[[Timer], None]) -> None:
        """Call a function with each new timer, for a host that ends long polls early while the clock is paused."""
        self._on_timer = on_timer

    def call_at(self, due_ms: int, action: Callable[[], None], kind: str, owner: str = "") -> Timer:
        """Run `action` when the time reaches `due_ms`; an instant in the past is due at the next advance."""
        self._sequence = sequence = self._sequence + 1
        timer = Timer(self, due_ms, sequence, action, kind, owner)
        timers = self._timers.get(due_ms)
        if timers is not None:
            if not timers:
                self._empty -= 1
            timers[sequence] = timer
            if self._on_timer is not None:
                self._on_timer(timer)
            return timer
        instants = self._instants
        earlier = not instants or due_ms < instants[0]
        self._timers[due_ms] = OrderedDict({sequence: timer})
        heappush(instants, due_ms)
        if self._on_timer is not None:
            self._on_timer(timer)
        if earlier and not self._advancing and self._on_earlier is not None:
            self._on_earlier()
        return timer

    def call_later(self, delay_ms: int, action: Callable[[], None], kind: str, owner: str = "") -> Timer:
        """Run `action` after `delay_ms` (>= 0)."""
        return self.call_at(self.now_ms + delay_ms, action, kind, owner)

    def due_ms(self, timer: Timer) -> int:
        """Return the due time of a timer by this clock."""
        return timer.due_ms

    def instant_after(self, ms: int) -> "Instant":
        """Return the instant `ms` milliseconds after now."""
        return Instant(self.now_ms + ms)

    def next_deadline_ms(self) -> int | None:
        """Return the due time of the earliest active timer, or None."""
        instants = self._instants
        while instants and not self._timers[instants[0]]:
            del self._timers[heappop(instants)]
            self._empty -= 1
        return instants[0] if instants else None

    def earliest(self) -> list[Timer]:
        """Return the active timers of the earliest due instant, in the order in which they will run."""
        due_ms = self.next_deadline_ms()
        return [] if due_ms is None else list(self._timers[due_ms].values())

    @property
    def advancing(self) -> bool:
        """True while timers run."""
        return self._advancing

    def advance_to(self, target_ms: int) -> bool:
        """Run every timer due up to and including `target_ms`, then set the time to `target_ms`.

        A target in the past runs the timers that are due now and leaves the time unchanged: time never goes backward.
        Returns True if a timer was due.
        """
        if self._advancing:
            raise AssertionError("advance_to was called from inside a timer")
        if target_ms < self.now_ms:
            target_ms = self.now_ms
        due_ms = self.next_deadline_ms()
        if due_ms is None or due_ms > target_ms:
            self._set_now(target_ms)
            return False
        self._run_timers(target_ms)
        return True

    def _run_timers(self, target_ms: int) -> None:
        self._advancing = True
        try:
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
        """Run a timer at once, before its due time. A no-op if it has run or has been canceled."""
        action = timer.action
        if action is not None:
            timer.cancel()
            action()

    def _set_now(self, now_ms: int) -> None:
        self.now_ms = now_ms
        if self._is_skewed:
            for lifetime in self._lifetimes:
                lifetime.now_ms = now_ms + lifetime.skew.ms
        else:  # without the reading of skews, because it happens in each millisecond
            for lifetime in self._lifetimes:
                lifetime.now_ms = now_ms

    def apply_skews(self) -> None:
        """Set the clocks of all lifetimes again, because a skew has changed. Timers that are set stay."""
        self._is_skewed = True
        self._set_now(self.now_ms)
        self._is_skewed = any(lifetime.skew.ms for lifetime in self._lifetimes)

    def begin(self, *, idle: bool = False, skew: Skew | None = None) -> "Lifetime":
        """Start a lifetime of timers. No timer of an `idle` lifetime ever runs. `skew`: the skew of its clock."""
        lifetime = Lifetime(self, skew or Skew())
        lifetime.ended = idle
        self._lifetimes.append(lifetime)
        self._is_skewed = self._is_skewed or lifetime.skew.ms != 0
        return lifetime

    def end(self, lifetime: "Lifetime") -> None:
        """End a lifetime and cancel all its timers."""
        self._lifetimes.remove(lifetime)
        lifetime.ended = True
        for timer in list(self.scheduled()):
            if timer.lifetime is lifetime:
                timer.cancel()

    def forget(self, timer: Timer) -> None:
        """Remove a canceled timer.

        Long polls cancel one timer per message, so the heap is rebuilt when most of its instants are empty.
        """
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
        """Iterate over the active timers, earliest first."""
        return iter([timer for due_ms in sorted(self._timers) for timer in self._timers[due_ms].values()])

    def unordered(self) -> list[Timer]:
        """Return the active timers in any order, in a few calls of C however many there are."""
        return list(chain.from_iterable(map(OrderedDict.values, self._timers.values())))

    def has(self, wanted: Callable[[Timer], bool]) -> bool:
        """True if any active timer satisfies `wanted`. Stops at the first match; the order is undefined."""
        return any(wanted(timer) for timers in self._timers.values() for timer in timers.values())


class Lifetime(Scheduler):
    """The scheduler as seen by one run of a broker: the same time, and timers that end with the run.

    With a skew its clock is fast or slow. Its timers still run after the durations for which they were set. It has no
    timers of its own: `earliest`, `has` and `unordered` are for the engine's scheduler only.
    """

    def __init__(self, engine_scheduler: Scheduler, skew: Skew) -> None:
        super().__init__(engine_scheduler.now_ms + skew.ms)
        self._engine_scheduler = engine_scheduler
        self.skew = skew
        self.ended = False

    def call_at(self, due_ms: int, action: Callable[[], None], kind: str, owner: str = "") -> Timer:
        """Set a timer that is canceled when this lifetime ends, or at once if it has ended."""
        timer = self._engine_scheduler.call_at(due_ms - self.skew.ms, action, kind, owner)
        timer.lifetime = self
        if self.ended:
            timer.cancel()
        return timer

    def due_ms(self, timer: Timer) -> int:
        """Return the due time of a timer by this clock."""
        return timer.due_ms + self.skew.ms

    def instant_after(self, ms: int) -> Instant:
        """Return the instant `ms` milliseconds after now."""
        return Instant(self.now_ms - self.skew.ms + ms, self.skew)

    def next_deadline_ms(self) -> int | None:
        """Return the due time of the earliest timer of the engine's scheduler, or None."""
        return self._engine_scheduler.next_deadline_ms()

    @property
    def advancing(self) -> bool:
        """True while timers of the engine's scheduler run."""
        return self._engine_scheduler.advancing

    def advance_to(self, target_ms: int) -> bool:
        """Advance the engine's scheduler."""
        return self._engine_scheduler.advance_to(target_ms)

    def scheduled(self) -> Iterator[Timer]:
        """Iterate over the active timers of this lifetime, earliest first."""
        return (timer for timer in self._engine_scheduler.scheduled() if timer.lifetime is self)
