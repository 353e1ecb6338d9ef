"""Calls after a delay of the wall clock."""

from collections.abc import Callable
from typing import Protocol

from rocketmq_testkit.emulator.kernel.scheduler import Scheduler


class DelayedCall(Protocol):
    """A call that has not begun, as a reactor and the engine's scheduler return it."""

    def cancel(self) -> None:
        """Cancel the call."""


CallLater = Callable[[float, Callable[[], None]], DelayedCall]
"""(seconds of the wall clock, callback); a reactor's `callLater`."""


class DelayedCalls:
    """Schedules by the wall clock, or by the engine's time if the host passed no clock (`call_later`).

    `tick` advances the engine's time to now; it runs before each call.
    """

    def __init__(self, scheduler: Scheduler, call_later: CallLater | None, tick: Callable[[], None]) -> None:
        self._scheduler = scheduler
        self._call_later = call_later
        self._tick = tick
        self._pending: set[DelayedCall] = set()

    def after(self, delay_ms: int, action: Callable[[], None], kind: str, owner: str) -> None:
        """Run an action after a delay. `kind` and `owner` name a timer of the engine."""

        def run() -> None:
            self._pending.discard(delayed)
            action()

        def tick_and_run() -> None:
            self._tick()
            run()

        delayed: DelayedCall
        if self._call_later is None:
            delayed = self._scheduler.call_later(delay_ms, run, kind, owner)
        else:
            delayed = self._call_later(delay_ms / 1000, tick_and_run)
        self._pending.add(delayed)

    def cancel_all(self) -> None:
        """Cancel all calls."""
        while self._pending:
            self._pending.pop().cancel()
