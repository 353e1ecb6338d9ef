"""Calls after a delay of the wall clock."""

from collections.abc import Callable
from functools import partial

from rocketmq_testkit.emulator.kernel.scheduler import Scheduler

CallLater = Callable[[float, Callable[[], None]], object]
"""(seconds of the wall clock, callback); a reactor's `callLater`."""


class DelayedCalls:
    """Schedules by the wall clock, or by the engine's time if the host passed no clock (`call_later`).

    `tick` advances the engine's time to now; it runs before each call.
    """

    def __init__(self, scheduler: Scheduler, call_later: CallLater | None, tick: Callable[[], None]) -> None:
        self._scheduler = scheduler
        self._call_later = call_later
        self._tick = tick

    def after(self, delay_ms: int, action: Callable[[], None], kind: str, owner: str) -> None:
        """Run an action after a delay. `kind` and `owner` name a timer of the engine."""
        if self._call_later is None:
            self._scheduler.call_later(delay_ms, action, kind, owner)
        else:
            self._call_later(delay_ms / 1000, partial(self._run, action))

    def _run(self, action: Callable[[], None]) -> None:
        self._tick()
        action()
