"""Plots of an audit as inline SVG: bars over time, latencies, verdicts of each group."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from .rules import FAILURES, VERDICTS
from .summary import Line, Moment

WIDTH, HEIGHT, LEFT, BOTTOM = 720, 200, 60, 26
"""Pixels: the whole plot, and the margins for the scales."""


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


def over_time(moments: Sequence[Moment], width_us: int) -> str:
    """Plot the messages that became visible, were first delivered, or have a failure, over time."""
    highest = max(max(each.visible, each.delivered) for each in moments)
    step = (WIDTH - LEFT) / len(moments)
    body = list(_scale(highest))
    for number, each in enumerate(moments):
        x = LEFT + number * step
        said = f"from {instant(each.start_us)}: {each.visible} visible, {each.delivered} first delivered"
        said += f", {each.failed} with a failure"
        body.append(f"<g><title>{escape(said)}</title>")
        for place, (count, name) in enumerate(((each.visible, "visible"), (each.delivered, "delivered"))):
            body.append(_bar(x + place * step * 0.45, step * 0.42, count, highest, name))
        if each.failed:
            body.append(_bar(x, step * 0.42, each.failed, highest, "failure"))
        body.append("</g>")
    body.append(_text(LEFT, HEIGHT - 8, instant(moments[0].start_us), "start"))
    body.append(_text(WIDTH, HEIGHT - 8, f"a bar is {duration(width_us)}", "end"))
    legend = '<span class="visible">visible</span> <span class="delivered">first delivered</span> '
    return _svg("Messages over time", body) + f'<p>{legend}<span class="failure">with a failure</span></p>'


def latencies(delays: Mapping[int, int]) -> str:
    """Plot the time from visible to first delivered; each bar covers twice the range of the previous one."""
    powers = range(min(delays), max(delays) + 1)
    highest = max(delays.values())
    step = (WIDTH - LEFT) / len(powers)
    every = max(1, len(powers) // 8)
    body = list(_scale(highest))
    for number, power in enumerate(powers):
        x = LEFT + number * step
        count = delays.get(power, 0)
        said = f"{duration(2**power)} to {duration(2 ** (power + 1))}: {count}"
        body.append(f"<g><title>{escape(said)}</title>{_bar(x, step * 0.9, count, highest, 'delivered')}</g>")
        if number % every == 0:
            body.append(_text(x, HEIGHT - 8, duration(2**power), "start"))
    return _svg("Time from visible to first delivered", body)


def shares(lines: Sequence[Line]) -> str:
    """Plot the shares of verdicts among the messages of each topic and group."""
    return "".join(_share(line) for line in lines)


def _share(line: Line) -> str:
    # A message may have several verdicts, so each has a bar of its own.
    named = [verdict for verdict in VERDICTS if line.verdicts[verdict]]
    height = 18 * len(named) or 18
    body = []
    for row, verdict in enumerate(named):
        count = line.verdicts[verdict]
        length = max(2.0, (WIDTH - 300) * count / line.messages)
        kind = "failure" if verdict in FAILURES else "other"
        body.append(_text(110, 18 * row + 13, verdict, "end"))
        body.append(f'<rect class="{kind}" x="120" y="{18 * row + 3}" width="{length:.1f}" height="12"/>')
        body.append(_text(126 + length, 18 * row + 13, f"{count} ({100 * count / line.messages:.3g} %)", "start"))
    if not named:
        body.append(_text(120, 13, "each message was delivered once, in time, and acknowledged", "start"))
    title = f"{line.topic} for {line.group}"
    return f"<h3>{escape(title)}</h3>" + _svg(title, body, height)


def _svg(title: str, body: Sequence[str], height: int = HEIGHT) -> str:
    inside = "\n".join(body)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(title)}">\n{inside}\n</svg>'
    )


def _scale(highest: int) -> Iterator[str]:
    bottom = HEIGHT - BOTTOM
    yield f'<line x1="{LEFT}" y1="{bottom}" x2="{WIDTH}" y2="{bottom}"/>'
    yield _text(LEFT - 6, 14, f"{highest:,}", "end")
    yield _text(LEFT - 6, bottom, "0", "end")


def _bar(x: float, width: float, count: int, highest: int, name: str) -> str:
    room = HEIGHT - BOTTOM - 6
    height = room * count / max(highest, 1)
    y = HEIGHT - BOTTOM - height
    return f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
