"""The summary of an audit: small enough for a page, regardless of the size of the journal."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .events import RANK, EventKind
from .facts import FLAGS
from .job import SparkAudit
from .rules import VERDICTS

QUANTILES = (0.5, 0.99, 0.999)
BUCKETS = 60
"""Number of bars in a plot over time."""
ACCURACY = 1000
"""Latency quantiles have a rank error of at most 1/ACCURACY."""


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One topic and group, or one key of them: number of messages, messages per verdict, latencies.

    `latencies_us` are p50, p99 and p99.9 of the time from visible to first delivered; None if nothing was delivered.
    """

    topic: str
    group: str
    key: str | None
    messages: int
    _: KW_ONLY
    deliveries: int
    verdicts: dict[str, int]
    latencies_us: Sequence[int] | None


@dataclass(frozen=True, slots=True)
class Moment:
    """One interval of the journal, starting at `start_us`: messages visible, first delivered, and with a failure."""

    start_us: int
    visible: int
    delivered: int
    failed: int


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One message with a verdict."""

    run_id: str
    topic: str
    group: str
    key: str | None
    _: KW_ONLY
    message_id: str
    verdicts: Sequence[str]
    deliveries: int
    acks: int
    visible_us: int | None
    first_us: int | None


@dataclass(frozen=True, slots=True)
class Summary:
    """All data of a page."""

    events: int
    skipped: int
    topics: dict[str, dict[str, int]]
    """Message events, by topic and kind."""
    lines: Sequence[SummaryLine]
    _: KW_ONLY
    keys: Sequence[SummaryLine]
    """The keys with the most failures."""
    moments: Sequence[Moment]
    width_us: int
    """Length of an interval in microseconds."""
    delays: dict[int, int]
    """First deliveries by latency: 2**n to 2**(n+1) microseconds; n = 0 includes shorter ones."""
    findings: Sequence[AuditFinding]
    """The first messages with a verdict, the worst first."""

    @property
    def messages(self) -> int:
        """The number of accounts: each message counts once for each group."""
        return sum(line.messages for line in self.lines)

    def count(self, verdict: str) -> int:
        """Return the number of messages with a verdict."""
        return sum(line.verdicts[verdict] for line in self.lines)


def summarize(audit: SparkAudit, failures: Sequence[str], *, keys: int = 20, findings: int = 200) -> Summary:
    """Sum up an audit. `failures` are the verdicts that count as failures; `keys` and `findings` limit the lists."""
    accounts = audit.accounts
    failed = F.arrays_overlap(FLAGS, F.array(*map(F.lit, failures))) if failures else F.lit(False)
    moments, width_us = _moments(accounts, failed)
    return Summary(
        events=audit.events,
        skipped=audit.skipped,
        topics=_topics(audit.topics),
        lines=[_line(row, None) for row in _sums(accounts, "topic", "group").orderBy("topic", "group").collect()],
        keys=[_line(row, row["key"]) for row in _worst_keys(accounts.filter(failed), keys)] if keys else [],
        moments=moments,
        width_us=width_us,
        delays=_delays(accounts),
        findings=_findings(accounts, findings),
    )


def _topics(counted: DataFrame) -> dict[str, dict[str, int]]:
    names = {rank: kind.value for kind, rank in RANK.items()}
    found: dict[str, dict[str, int]] = {}
    for row in counted.orderBy("topic", "rank").collect():
        found.setdefault(row["topic"], {})[names[row["rank"]]] = row["events"]
    return found


def _visible() -> Column:
    return F.col("visible_moment") >= 0


def _delivered() -> Column:
    return F.col("deliveries") > 0


def _latency() -> Column:
    """Return the time from visible to first delivered: null if one of them is missing, 0 if clocks disagree."""
    return F.when(_visible() & _delivered(), F.greatest(F.col("first_us") - F.col("visible_us"), F.lit(0)))


def _sums(accounts: DataFrame, *by: str) -> DataFrame:
    return accounts.groupBy(*by).agg(
        F.count("*").alias("messages"),
        F.sum("deliveries").alias("deliveries"),
        *(F.count_if(F.array_contains(FLAGS, verdict)).alias(verdict) for verdict in VERDICTS),
        F.percentile_approx(_latency(), list(QUANTILES), ACCURACY).alias("latencies_us"),
    )


def _worst_keys(failed: DataFrame, limit: int) -> list[Any]:
    return (
        _sums(failed.filter(F.col("key").isNotNull()), "topic", "group", "key")
        .orderBy(F.desc("messages"), "topic", "group", "key")
        .limit(limit)
        .collect()
    )


def _line(row: Any, key: str | None) -> SummaryLine:
    return SummaryLine(
        topic=row["topic"],
        group=row["group"],
        key=key,
        messages=row["messages"],
        deliveries=row["deliveries"],
        verdicts={verdict: row[verdict] for verdict in VERDICTS},
        latencies_us=row["latencies_us"],
    )


def _moments(accounts: DataFrame, failed: Column) -> tuple[list[Moment], int]:
    """Divide the time from the first message to the last into at most BUCKETS equal intervals."""
    instants = (F.when(_visible(), F.col("visible_us")), F.when(_delivered(), F.col("first_us")))
    bounds = accounts.agg(*(edge(instant) for edge in (F.min, F.max) for instant in instants)).first()
    known = [value for value in bounds or () if value is not None]
    if not known:
        return [], 1
    start, end = min(known), max(known)
    width = (end - start) // BUCKETS + 1
    parts: dict[int, list[int]] = {}
    # Two aggregations with few rows are cheaper than duplicating every account.
    for place, instant in enumerate(instants):
        rows = (
            accounts.filter(instant.isNotNull())
            .groupBy(F.floor((instant - start) / width).alias("part"))
            .agg(F.count("*").alias("there"), F.count_if(failed).alias("failed"))
            .collect()
        )
        for row in rows:
            part = parts.setdefault(row["part"], [0, 0, 0])
            part[place] += row["there"]
            part[2] += row["failed"] if place == 0 else 0
    return [Moment(start + number * width, *parts.get(number, (0, 0, 0))) for number in range(max(parts) + 1)], width


def _delays(accounts: DataFrame) -> dict[int, int]:
    rows = (
        accounts.select(_latency().alias("latency"))
        .filter(F.col("latency").isNotNull())
        .groupBy(F.floor(F.log2(F.greatest("latency", F.lit(1)))).alias("power"))
        .count()
        .collect()
    )
    return {row["power"]: row["count"] for row in sorted(rows, key=lambda each: int(each["power"]))}


def _findings(accounts: DataFrame, limit: int) -> list[AuditFinding]:
    worst = F.array_position(F.array(*map(F.lit, VERDICTS)), F.element_at(FLAGS, 1))
    rows = (
        accounts.filter(F.size(FLAGS) > 0)
        .orderBy(worst, "visible_us", "topic", "group", "id", "run")
        .limit(limit)
        .collect()
    )
    return [
        AuditFinding(
            row["run"],
            row["topic"],
            row["group"],
            row["key"],
            message_id=row["id"],
            verdicts=row[FLAGS],
            deliveries=row["deliveries"],
            acks=row["acks"],
            visible_us=row["visible_us"] if row["visible_moment"] >= 0 else None,
            first_us=row["first_us"] if row["deliveries"] else None,
        )
        for row in rows
    ]


assert len(RANK) == len(EventKind)
