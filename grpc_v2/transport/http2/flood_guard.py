"""Budgets that distinguish a busy peer from a flooding one: a burst, then a rate."""

from __future__ import annotations

from .errors import ConnectionProtocolError, ErrorCode
from .limits import Limits


class Budget:
    """A number of events at once (burst), refilled at a rate per second. The caller passes the time, in seconds."""

    __slots__ = ("_burst", "_left", "_per_second", "_stamp", "_what")

    def __init__(self, what: str, burst: int, per_second: int) -> None:
        self._what = what
        self._burst = float(burst)
        self._per_second = per_second
        self._left = float(burst)
        self._stamp = 0.0

    def spend(self, now: float, events: int = 1) -> None:
        """Count events. Raises ENHANCE_YOUR_CALM if the budget is exhausted."""
        left = self._left
        if left < events:
            refilled = (now - self._stamp) * self._per_second
            self._left = left = min(self._burst, left + max(refilled, 0.0))
            self._stamp = now
            if left < events:
                raise ConnectionProtocolError(ErrorCode.ENHANCE_YOUR_CALM, f"too many {self._what}")
        elif left >= self._burst:
            # The refill starts with the first event of a burst.
            self._stamp = now
        self._left = left - events


class FloodGuard:
    """The budgets of one connection, and the time at which it received its last bytes (`now`, in seconds)."""

    __slots__ = ("controls", "now", "resets")

    def __init__(self, limits: Limits) -> None:
        self.now = 0.0
        self.controls = Budget("control frames", limits.control_burst, limits.controls_per_second)
        self.resets = Budget("reset streams", limits.reset_burst, limits.resets_per_second)
