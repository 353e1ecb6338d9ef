"""The summary of an audit as a self-contained HTML page, and as a table for a terminal.

`page.html.jinja` has the page's form. This module and `plots.py` compute the values that it shows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import pyspark
from rocketmq_testkit.fixtures.pages.html_file import duration, percent, rendered

from . import plots
from .rules import FAILURES, VERDICTS
from .summary import AuditFinding, Summary, SummaryLine

_QUANTILES = ("p50", "p99", "p99.9")


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of texts and numbers. `bad` are the columns in which a number other than 0 is a failure."""

    head: list[str]
    rows: list[list[str | int]]
    bad: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class AuditRun:
    """The command of an audit, and its duration in seconds."""

    command: str
    seconds: float


def page(
    found: Summary, journals: Sequence[str], failures: Sequence[str] = FAILURES, run: AuditRun | None = None
) -> str:
    """Render the whole page."""
    return rendered(
        __package__,
        "page.html.jinja",
        title=f"Audit of {', '.join(journals)}",
        facts=_facts(found, journals, failures, run),
        verdict=sentence(found, failures),
        verdicts=_verdicts(found),
        lines=_lines(found.lines, with_key=False),
        keys=_lines(found.keys, with_key=True) if found.keys else None,
        stored=_stored(found),
        shares=plots.shares(found.lines),
        over_time=plots.over_time(found.moments, found.width_us) if found.moments else None,
        latencies=plots.latencies(found.delays) if found.delays else None,
        findings=_findings(found.findings) if found.findings else None,
    )


def _facts(found: Summary, journals: Sequence[str], failures: Sequence[str], run: AuditRun | None) -> dict[str, str]:
    failed = max((found.count(verdict) for verdict in failures), default=0)
    return {
        "product": f"rocketmq-testkit {version('rocketmq-testkit')}, Spark {pyspark.__version__}",
        "target": ", ".join(journals),
        "command": "" if run is None else run.command,
        "duration": "" if run is None else duration(run.seconds),
        "messages for groups": f"{found.messages:,}",
        "most frequent failure": f"{percent(failed, found.messages)} of them" if failed else "",
    }


def _verdicts(found: Summary) -> _Table:
    """Return the messages with each verdict that occurs, and their share. A message may have several."""
    shown = [verdict for verdict in VERDICTS if found.count(verdict)]
    rows: list[list[str | int]] = [
        [verdict, found.count(verdict), percent(found.count(verdict), found.messages)] for verdict in shown
    ]
    return _Table(["verdict", "messages", "share"], rows)


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


def _latencies(line: SummaryLine) -> list[str]:
    if line.latencies_us is None:
        return ["-"] * len(_QUANTILES)
    return [plots.duration(each) for each in line.latencies_us]


def _stored(found: Summary) -> _Table:
    """Return the number of message events of each kind, by topic."""
    kinds = sorted({kind for counts in found.topics.values() for kind in counts})
    rows: list[list[str | int]] = [
        [topic, *(counts.get(kind, 0) for kind in kinds)] for topic, counts in found.topics.items()
    ]
    return _Table(["topic", *kinds], rows)


def _lines(lines: Sequence[SummaryLine], *, with_key: bool) -> _Table:
    shown = [verdict for verdict in VERDICTS if any(line.verdicts[verdict] for line in lines)]
    head = ["topic", "group", *(["key"] if with_key else []), "messages", "deliveries", *shown, *_QUANTILES]
    rows: list[list[str | int]] = [
        [
            line.topic,
            line.group,
            *([str(line.key)] if with_key else []),
            line.messages,
            line.deliveries,
            *(line.verdicts[verdict] for verdict in shown),
            *_latencies(line),
        ]
        for line in lines
    ]
    return _Table(head, rows, frozenset(place for place, name in enumerate(head) if name in FAILURES))


def _findings(findings: Iterable[AuditFinding]) -> _Table:
    head = ["topic", "group", "key", "message", "verdicts", "deliveries", "acks", "visible", "first delivered"]
    rows: list[list[str | int]] = [
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
    ]
    return _Table(head, rows)
