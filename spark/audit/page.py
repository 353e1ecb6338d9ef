"""The sums of an audit as a self-contained HTML page, and as a table for a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from . import plots
from .rules import FAILURES, VERDICTS
from .summary import Finding, Line, Summary

_STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 } th, td { padding: .2em .7em; border-bottom: 1px solid #ddd }
th { text-align: left } th, td { white-space: nowrap }
td.number { text-align: right; font-variant-numeric: tabular-nums }
td.bad { color: #b3261e; font-weight: bold } code { font-size: 90% } .wide { overflow-x: auto }
svg text { font: 11px system-ui, sans-serif; fill: #444 } svg line { stroke: #999 }
rect.visible { fill: #9db8d9 } rect.delivered { fill: #2f6db5 } rect.failure { fill: #b3261e }
rect.other { fill: #8a8f98 }
span.visible, span.delivered, span.failure { border-left: 1em solid; padding-left: .4em; margin-right: 1em }
span.visible { border-color: #9db8d9 } span.delivered { border-color: #2f6db5 } span.failure { border-color: #b3261e }
"""
_QUANTILES = ("p50", "p99", "p99.9")


def page(found: Summary, journals: Sequence[str], failures: Sequence[str] = FAILURES) -> str:
    """Render the whole page."""
    title = f"Audit of {', '.join(journals)}"
    body = "\n".join([*_verdict(found, failures), *_tables(found), *_plots(found), *_findings(found.findings)])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style></head>\n'
        f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def sentence(found: Summary, failures: Sequence[str] = FAILURES) -> str:
    """Describe the result in one sentence."""
    said = ", ".join(f"{found.count(verdict):,} {verdict}" for verdict in failures if found.count(verdict))
    about = f"{found.events:,} events, {found.messages:,} messages for groups"
    if found.skipped:
        about += f", {found.skipped:,} lines skipped that are not events"
    return f"{about}: {said or 'no problems'}"


def table(found: Summary) -> str:
    """Render topics and groups for a terminal, with only the verdicts that occur."""
    shown = [verdict for verdict in VERDICTS if found.count(verdict)]
    rows = [["topic", "group", "messages", "deliveries", *shown, *_QUANTILES]]
    for line in found.lines:
        counts = [line.messages, line.deliveries, *(line.verdicts[verdict] for verdict in shown)]
        rows.append([line.topic, line.group, *(f"{count:,}" for count in counts), *_latencies(line)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _verdict(found: Summary, failures: Sequence[str]) -> Iterator[str]:
    yield f"<p><strong>{escape(sentence(found, failures))}</strong></p>"


def _latencies(line: Line) -> list[str]:
    if line.latencies_us is None:
        return ["-"] * len(_QUANTILES)
    return [plots.duration(each) for each in line.latencies_us]


def _tables(found: Summary) -> Iterator[str]:
    yield "<h2>Topics and groups</h2>"
    yield from _lines(found.lines, named=False)
    if found.keys:
        yield "<h2>Keys with the most failures</h2>"
        yield from _lines(found.keys, named=True)
    yield "<h2>Stored messages</h2>"
    kinds = sorted({kind for counts in found.topics.values() for kind in counts})
    yield from _html_table(
        ["topic", *kinds], ([topic, *(counts.get(kind, 0) for kind in kinds)] for topic, counts in found.topics.items())
    )


def _lines(lines: Sequence[Line], *, named: bool) -> Iterator[str]:
    shown = [verdict for verdict in VERDICTS if any(line.verdicts[verdict] for line in lines)]
    head = ["topic", "group", *(["key"] if named else []), "messages", "deliveries", *shown, *_QUANTILES]
    bad = frozenset(place for place, name in enumerate(head) if name in FAILURES)
    rows = (
        [
            line.topic,
            line.group,
            *([line.key] if named else []),
            line.messages,
            line.deliveries,
            *(line.verdicts[verdict] for verdict in shown),
            *_latencies(line),
        ]
        for line in lines
    )
    yield from _html_table(head, rows, bad)


def _plots(found: Summary) -> Iterator[str]:
    yield "<h2>Verdicts</h2>"
    yield plots.shares(found.lines)
    if found.moments:
        yield "<h2>Over time</h2>"
        yield plots.over_time(found.moments, found.width_us)
    if found.delays:
        yield "<h2>Latency</h2>"
        yield plots.latencies(found.delays)


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield "<h2>Messages</h2><p>Sorted by severity; a long list is truncated.</p>"
    head = ["topic", "group", "key", "message", "verdicts", "deliveries", "acks", "visible", "first delivered"]
    yield from _html_table(
        head,
        (
            [
                each.topic,
                each.group,
                each.key or "",
                each.message_id,
                ", ".join(each.verdicts),
                each.deliveries,
                each.acks,
                "never" if each.visible_us is None else plots.instant(each.visible_us),
                "never" if each.first_us is None else plots.instant(each.first_us),
            ]
            for each in findings
        ),
    )


def _html_table(head: Sequence[str], rows: Iterable[Sequence[Any]], bad: frozenset[int] = frozenset()) -> Iterator[str]:
    yield '<div class="wide"><table><thead><tr>' + "".join(f"<th>{escape(name)}</th>" for name in head)
    yield "</tr></thead><tbody>"
    for row in rows:
        yield "<tr>" + "".join(_cell(cell, place in bad) for place, cell in enumerate(row)) + "</tr>"
    yield "</tbody></table></div>"


def _cell(cell: Any, bad: bool) -> str:
    if isinstance(cell, int):
        return f'<td class="number{" bad" if bad and cell else ""}">{f"{cell:,}" if cell else ""}</td>'
    return f"<td>{escape(str(cell))}</td>"
