"""The scheduler of simulated time: timers run one by one at their due times, and random streams follow the seed.

A lifetime is the scheduler as one run of a broker sees it: the end of the run cancels its timers. A skew is the
difference (ms) of a broker's clock from the engine's.
"""

import pytest
from rocketmq_testkit.emulator.kernel.random_streams import RandomStreams
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler, Skew, Timer


def test_ending_a_lifetime_cancels_its_remaining_timers() -> None:
    """Timers of a lifetime run in order among all timers, and the end of the lifetime cancels the remaining ones."""
    scheduler = Scheduler(100)
    lifetime, other = scheduler.begin(), scheduler.begin()
    ran: list[str] = []
    lifetime.call_later(10, lambda: ran.append(f"first {lifetime.now_ms}"), "x")
    other.call_later(10, lambda: ran.append("second"), "x")
    lifetime.call_later(20, lambda: ran.append("never"), "x")
    other.call_later(20, lambda: ran.append("last"), "x")
    scheduler.advance_to(115)
    assert (lifetime.now_ms, other.now_ms) == (115, 115)
    assert [len(list(each.scheduled())) for each in (scheduler, lifetime, other)] == [2, 1, 1]
    assert lifetime.next_deadline_ms() == 120
    scheduler.end(lifetime)
    scheduler.advance_to(200)
    assert ran == ["first 110", "second", "last"]
    assert (lifetime.now_ms, other.now_ms) == (115, 200)
    assert not lifetime.call_later(10, lambda: ran.append("too late"), "x").active


def test_timers_see_their_own_due_time() -> None:
    """In each timer the current time is its due time, so a chain of timers does not drift."""
    scheduler = Scheduler(100)
    seen: list[int] = []

    def step() -> None:
        seen.append(scheduler.now_ms)
        if len(seen) < 3:
            scheduler.call_later(10, step, "step")

    scheduler.call_later(10, step, "step")
    scheduler.advance_to(1000)
    assert seen == [110, 120, 130]
    assert scheduler.now_ms == 1000


def test_timers_due_at_the_same_time_run_in_creation_order() -> None:
    scheduler = Scheduler()
    seen: list[str] = []
    for name in "abc":
        scheduler.call_at(5, lambda name=name: seen.append(name), "t")  # type: ignore[misc]  # bound early
    scheduler.advance_to(5)
    assert seen == ["a", "b", "c"]


def test_cancelled_timers_do_not_run_and_do_not_pile_up() -> None:
    """Many cancelled timers, due at one time or at many times, do not make the heap grow."""
    scheduler = Scheduler()
    ran: list[int] = []
    kept = scheduler.call_at(1_000_000, lambda: ran.append(1), "kept")
    for number in range(10_000):
        scheduler.call_at(500_000, lambda: ran.append(2), "cancelled").cancel()
        scheduler.call_at(500_000 + number, lambda: ran.append(3), "cancelled").cancel()
    assert len(list(scheduler.scheduled())) == 1
    # Canceled timers are removed, not merely skipped: once 256 instants are empty, most of them are deleted.
    assert len(scheduler._instants) == len(scheduler._timers) < 600
    assert scheduler.next_deadline_ms() == 1_000_000
    scheduler.advance_to(1_000_000)
    assert ran == [1]
    assert not kept.active


def test_a_timer_can_cancel_and_add_timers_of_its_own_time() -> None:
    """A timer can cancel and add timers that are due at the same time, and add a timer for a time that has passed."""
    scheduler = Scheduler()
    ran: list[str] = []

    def first() -> None:
        ran.append("first")
        second.cancel()
        scheduler.call_later(0, lambda: ran.append("added"), "t")
        scheduler.call_at(5, lambda: ran.append(f"past at {scheduler.now_ms}"), "t")

    scheduler.call_at(10, first, "t")
    second = scheduler.call_at(10, lambda: ran.append("second"), "t")
    scheduler.call_at(10, lambda: ran.append("third"), "t")
    scheduler.advance_to(10)
    assert ran == ["first", "past at 10", "third", "added"]
    assert scheduler.next_deadline_ms() is None


def test_timers_after_a_failing_timer_run_with_the_next_advance() -> None:
    """An error in a timer propagates to the caller; timers due after it run with the next advance."""
    scheduler = Scheduler()
    ran: list[int] = []

    def fail() -> None:
        raise OSError("broken")

    scheduler.call_at(10, fail, "t")
    scheduler.call_at(10, lambda: ran.append(scheduler.now_ms), "t")
    with pytest.raises(OSError, match="broken"):
        scheduler.advance_to(20)
    scheduler.advance_to(20)
    assert ran == [10]


def test_advancing_to_a_past_time_leaves_the_time_unchanged() -> None:
    """Advancing to a past time leaves the time unchanged, but runs due timers."""
    scheduler = Scheduler(50)
    ran: list[int] = []
    scheduler.call_at(10, lambda: ran.append(scheduler.now_ms), "late")
    scheduler.advance_to(20)
    assert (scheduler.now_ms, ran) == (50, [50])


def test_the_host_is_notified_of_a_new_timer_due_before_all_others() -> None:
    """The host is notified of a new timer that is due before all others, and of no other timer."""
    scheduler = Scheduler()
    calls: list[int | None] = []
    scheduler.report_earlier(lambda: calls.append(scheduler.next_deadline_ms()))
    scheduler.call_at(100, lambda: None, "t")
    scheduler.call_at(200, lambda: None, "t")
    scheduler.call_at(50, lambda: None, "t")
    assert calls == [100, 50]


def test_a_timer_that_advances_the_time_raises_assertion_error() -> None:
    scheduler = Scheduler()

    def advance() -> None:
        scheduler.advance_to(2)

    scheduler.call_at(1, advance, "bad")
    with pytest.raises(AssertionError, match="inside a timer"):
        scheduler.advance_to(1)


def test_random_streams_are_independent_and_determined_by_the_seed() -> None:
    """A draw from one random stream does not affect another, and the seed determines all."""
    one, other = RandomStreams(7), RandomStreams(7)
    one.stream("a").bits()
    assert [one.stream("b").bits() for _ in range(5)] == [other.stream("b").bits() for _ in range(5)]
    assert RandomStreams(8).stream("b").bits() != RandomStreams(7).stream("b").bits()
    assert all(0 <= RandomStreams(3).stream(str(n)).below(10) < 10 for n in range(100))


def test_a_matching_timer_is_found_among_others_until_it_has_run() -> None:
    """A timer that matches a predicate is found among timers of the same and other times, until it has run."""
    scheduler = Scheduler(0)

    def present() -> str:
        found = ""
        for kind in "abcd":

            def wanted(timer: Timer, kind: str = kind) -> bool:
                return timer.kind == kind

            found += kind if scheduler.has(wanted) else ""
        return found

    for kind, after_ms in (("a", 10), ("b", 10), ("c", 20)):
        scheduler.call_later(after_ms, lambda: None, kind)
    assert present() == "abc"
    scheduler.advance_to(10)
    assert present() == "c"


def test_an_advance_returns_true_if_a_timer_was_due() -> None:
    """A canceled timer does not count. The time also changes without a due timer."""
    scheduler = Scheduler(100)
    scheduler.call_later(10, lambda: None, "x")
    scheduler.call_later(5, lambda: None, "x").cancel()
    assert [scheduler.advance_to(ms) for ms in (109, 50, 110, 110, 120)] == [False, False, True, False, False]
    assert scheduler.now_ms == 120


def test_the_time_of_a_lifetime_is_the_engines_time_plus_its_skew() -> None:
    """A skew may exist before the lifetime begins, begin later, and end."""
    scheduler = Scheduler(100)
    early, late = Skew(), Skew()
    early.ms = 1000
    clocks = [scheduler.begin(skew=early), scheduler.begin(skew=late), scheduler.begin()]
    shown = []
    for changed, ms in ((early, 1000), (late, -50), (early, 0), (late, 0)):
        changed.ms = ms
        scheduler.apply_skews()
        scheduler.advance_to(scheduler.now_ms + 1)
        shown.append([each.now_ms - scheduler.now_ms for each in clocks])
    assert shown == [[1000, 0, 0], [1000, -50, 0], [0, -50, 0], [0, 0, 0]]


def test_the_skew_of_a_new_lifetime_holds_from_its_first_advance() -> None:
    scheduler, skew = Scheduler(100), Skew()
    skew.ms = 7
    clock = scheduler.begin(skew=skew)
    scheduler.advance_to(200)
    assert clock.now_ms == 207
