"""Plots of an audit: positions and sizes of bars over time, latencies, verdicts of each group.

The template of the page draws them as SVG.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime

from .rules import FAILURES, VERDICTS
from .summary import Moment, SummaryLine

WIDTH, HEIGHT, LEFT, BOTTOM = 720, 200, 60, 26
"""Pixels: the whole plot, and the margins for the scales."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle. `kind` chooses its color: visible, delivered, failure or other."""

    kind: str
    x: float
    y: float
    width: float
    _: KW_ONLY
    height: float


@dataclass(frozen=True, slots=True)
class Label:
    """A text whose start or end (`anchor`) is at a position."""

    x: float
    y: float
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class BarGroup:
    """Bars with a common tooltip, empty if they have none."""

    title: str
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot. `axis` is the height of the horizontal axis, which begins at `left`; None if there is none."""

    title: str
    height: int = HEIGHT
    axis: int | None = None
    groups: list[BarGroup] = field(default_factory=list)
    _: KW_ONLY
    labels: list[Label] = field(default_factory=list)
    width: int = WIDTH
    left: int = LEFT


def duration(microseconds: float) -> str:
    """Format a duration with a suitable unit."""
    for limit, unit, size in ((1e3, "µs", 1.0), (1e6, "ms", 1e3), (60e6, "s", 1e6), (3600e6, "min", 60e6)):
        if microseconds < limit:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds / 3600e6:.3g} h"


def instant(microseconds: int) -> str:
    """Format an instant in UTC, to the millisecond; as microseconds if it is outside the calendar."""
    try:
        found = datetime.fromtimestamp(microseconds / 1e6, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{microseconds} µs"
    return found.strftime("%Y-%m-%d %H:%M:%S.") + f"{found.microsecond // 1000:03d}"


def over_time(moments: Sequence[Moment], width_us: int) -> Plot:
    """Plot the messages that became visible, were first delivered, or have a failure, over time."""
    highest = max(max(each.visible, each.delivered) for each in moments)
    step = (WIDTH - LEFT) / len(moments)
    plot = _scaled("Messages over time", highest)
    for number, each in enumerate(moments):
        x = LEFT + number * step
        said = f"from {instant(each.start_us)}: {each.visible} visible, {each.delivered} first delivered"
        bars = [
            _bar(x + place * step * 0.45, step * 0.42, count / max(highest, 1), kind)
            for place, (count, kind) in enumerate(((each.visible, "visible"), (each.delivered, "delivered")))
        ]
        if each.failed:
            bars.append(_bar(x, step * 0.42, each.failed / max(highest, 1), "failure"))
        plot.groups.append(BarGroup(f"{said}, {each.failed} with a failure", bars))
    plot.labels.append(Label(LEFT, HEIGHT - 8, instant(moments[0].start_us), "start"))
    plot.labels.append(Label(WIDTH, HEIGHT - 8, f"a bar is {duration(width_us)}", "end"))
    return plot


def latencies(delays: Mapping[int, int]) -> Plot:
    """Plot the time from visible to first delivered; each bar covers twice the range of the previous one."""
    powers = range(min(delays), max(delays) + 1)
    highest = max(delays.values())
    step = (WIDTH - LEFT) / len(powers)
    every = max(1, len(powers) // 8)
    plot = _scaled("Time from visible to first delivered", highest)
    for number, power in enumerate(powers):
        x = LEFT + number * step
        count = delays.get(power, 0)
        said = f"{duration(2**power)} to {duration(2 ** (power + 1))}: {count}"
        plot.groups.append(BarGroup(said, [_bar(x, step * 0.9, count / max(highest, 1), "delivered")]))
        if number % every == 0:
            plot.labels.append(Label(x, HEIGHT - 8, duration(2**power), "start"))
    return plot


def shares(lines: Sequence[SummaryLine]) -> list[Plot]:
    """Plot the shares of verdicts among the messages of each topic and group."""
    return [_share(line) for line in lines]


def _share(line: SummaryLine) -> Plot:
    # A message may have several verdicts, so each has a bar of its own.
    named = [verdict for verdict in VERDICTS if line.verdicts[verdict]]
    plot = Plot(f"{line.topic} for {line.group}", height=18 * len(named) or 18)
    for row, verdict in enumerate(named):
        count = line.verdicts[verdict]
        length = max(2.0, (WIDTH - 300) * count / line.messages)
        kind = "failure" if verdict in FAILURES else "other"
        plot.groups.append(BarGroup("", [Bar(kind, 120, 18 * row + 3, length, height=12)]))
        plot.labels.append(Label(110, 18 * row + 13, verdict, "end"))
        said = f"{count} ({100 * count / line.messages:.3g} %)"
        plot.labels.append(Label(126 + length, 18 * row + 13, said, "start"))
    if not named:
        said = "no message has a verdict"
        plot.labels.append(Label(120, 13, said, "start"))
    return plot


def _scaled(title: str, highest: int) -> Plot:
    """Return a plot with a horizontal axis and a scale from 0 to `highest`."""
    bottom = HEIGHT - BOTTOM
    labels = [Label(LEFT - 6, 14, f"{highest:,}", "end"), Label(LEFT - 6, bottom, "0", "end")]
    return Plot(title, axis=bottom, labels=labels)


def _bar(x: float, width: float, share: float, kind: str) -> Bar:
    """Return a bar on the axis of a scaled plot, `share` of its height."""
    height = (HEIGHT - BOTTOM - 6) * share
    return Bar(kind, x, HEIGHT - BOTTOM - height, max(width, 1), height=height)
