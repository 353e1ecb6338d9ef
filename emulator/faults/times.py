"""Delays of faults in ms of the emulator's time, fixed or drawn."""

from ..kernel.durations import milliseconds
from ..kernel.random_streams import RandomStream

_UNIFORMS = 12
"""The sum of twelve uniform numbers from 0 to 1 has the variance 1 (Irwin-Hall), and is close to a normal number."""
_STEPS = 1 << 20


def ms_of(duration: str) -> int:
    """Return a checked duration in ms."""
    return milliseconds(duration, "duration")


def drawn_ms(chance: RandomStream, duration: str, jitter: str | None, distribution: str) -> int:
    """Return a delay in ms, at least 0.

    `uniform`: from duration - jitter to duration + jitter. `normal`: with the mean duration and the standard deviation
    jitter. Without jitter the delay is the duration.
    """
    mean = ms_of(duration)
    if jitter is None:
        return mean
    spread = ms_of(jitter)
    if distribution == "normal":
        deviation = sum(_unit(chance) for _ in range(_UNIFORMS)) - _UNIFORMS / 2
    else:
        deviation = 2 * _unit(chance) - 1
    return max(0, round(mean + deviation * spread))


def _unit(chance: RandomStream) -> float:
    return chance.below(_STEPS) / _STEPS
