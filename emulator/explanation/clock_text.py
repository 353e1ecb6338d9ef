"""Instants and durations in sentences: `12:00:31`, `4m 59.2 s`. Instants are in UTC."""

from ..kernel.human_time import human_time

DAY_MS = 86_400_000


def clock_text(at_ms: int, now_ms: int, *, with_date: bool = False) -> str:
    """Format an instant (ms since the epoch): `12:00:31`, or `12:00:31.250` if it is no whole second.

    The date precedes it, as in `2026-11-26 12:00:31`, with `with_date`, or if it is on another day (UTC) than `now_ms`.
    """
    date, _, clock = human_time(at_ms).partition(" ")
    clock = clock.replace(",", ".").removesuffix(".000")
    return f"{date} {clock}" if with_date or at_ms // DAY_MS != now_ms // DAY_MS else clock


def exact_clock_text(at_ms: int, *, with_date: bool = False) -> str:
    """Format an instant (ms since the epoch) with milliseconds: `12:00:31.000`."""
    date, _, clock = human_time(at_ms).partition(" ")
    clock = clock.replace(",", ".")
    return f"{date} {clock}" if with_date else clock


def span_text(ms: int) -> str:
    """Format a duration: `9.2 s`, `4m 59.2 s`, `2h`, `3d 1h`."""
    seconds, rest = divmod(ms, 1000)
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number}{unit}")
    if seconds or rest or not parts:
        fraction = f".{rest:03}".rstrip("0") if rest else ""
        parts.append(f"{seconds}{fraction} s")
    return " ".join(parts)
