"""The audit as a Spark job: it reads journals, and returns accounts and their sums."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from . import facts, journals, kept_journals, order
from .events import OF_MESSAGES, JournalError
from .rules import AuditRules


@dataclass(frozen=True, slots=True)
class SparkAudit:
    """Result of a job. `accounts` is stored in files that exist until the `with` block of `audit_journals` ends.

    Its columns: `run` (the `run_id`), `topic, group, id, key`, those of `DeliveryFacts`, and `verdicts`. `topics`
    counts the message events of each topic. `skipped` is the number of lines that were not events.
    """

    accounts: DataFrame
    topics: DataFrame
    rules: AuditRules
    events: int
    _: KW_ONLY
    skipped: int


@contextmanager
def audit_journals(
    spark: SparkSession,
    paths: Iterable[str | Path],
    rules: AuditRules | None = None,
    *,
    skip_malformed: bool = False,
    scratch: str | Path | None = None,
) -> Iterator[SparkAudit]:
    """Judge journals of any size; temporary files go to a folder in `scratch`, which is removed at the end.

    A journal file of an emulator must fit into memory; each is a recording of its own.

    On a cluster `scratch` must be a folder that all workers share. Raises JournalError if there is no journal, if lines
    are not events, or if only some events of a recording have `seq`.
    """
    rules = rules or AuditRules()
    files = journals.find(paths)
    with TemporaryDirectory(prefix="rocketmq-audit-", dir=scratch) as folder:
        files = journals.find(kept_journals.as_events([*files.lines, *files.parquet], Path(folder)))
        events = journals.read(spark, files)
        if files.lines:
            # JSON is parsed once; later passes read only the columns that they need.
            events.write.parquet(f"{folder}/events")
            events = spark.read.parquet(f"{folder}/events")
        _count_runs(events).write.parquet(f"{folder}/runs")
        counted = spark.read.parquet(f"{folder}/runs")
        runs, skipped = _checked(counted.collect(), skip_malformed=skip_malformed)
        if skipped:
            events = events.filter(F.col("problem").isNull())
        end = F.col("end_us") if rules.end_us is None else F.lit(rules.end_us)
        ends = counted.filter("sound").select("run", end.alias("end_us"))
        lines = any(run.lines for run in runs)
        wants = facts.subscriptions(events)
        wants.write.parquet(f"{folder}/wants")
        wants = spark.read.parquet(f"{folder}/wants")
        found = facts.accounts(events, wants, ends, rules, lines=lines)
        if lines:
            found.write.parquet(f"{folder}/unordered")
            found = spark.read.parquet(f"{folder}/unordered")
            late = order.overtaken(found).withColumn("marked", F.lit(True))
            found = found.drop("moves").join(late, list(facts.ACCOUNT), "left")
            found = found.withColumn("overtaken", F.coalesce("marked", F.lit(False))).drop("marked")
        else:
            found = found.withColumn("overtaken", F.lit(False))
        facts.judged(found, rules).write.parquet(f"{folder}/accounts")
        yield SparkAudit(
            accounts=spark.read.parquet(f"{folder}/accounts"),
            topics=_topics(events),
            rules=rules,
            events=sum(run.events for run in runs),
            skipped=skipped,
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """Counts of one recording. `lines` is True if some of its events have a message group."""

    events: int
    lines: bool


def _count_runs(events: DataFrame) -> DataFrame:
    """Return a row for the events of each recording, and one for its lines that are not events, if there are any."""
    return events.groupBy("run", F.col("problem").isNull().alias("sound")).agg(
        F.count("*").alias("events"),
        F.count_if("numbered").alias("numbered"),
        F.max("ts_us").alias("end_us"),
        F.count("message_group").alias("lines"),
        F.min(F.struct("source", "problem", "text")).alias("example"),
    )


def _checked(rows: Sequence[Row], *, skip_malformed: bool) -> tuple[list[_Run], int]:
    """Return the recordings, and the number of lines that are not events. Raises JournalError."""
    broken = [row for row in rows if not row["sound"]]
    skipped = sum(row["events"] for row in broken)
    if broken and not skip_malformed:
        example = min((row["example"] for row in broken), key=lambda each: (each["source"], each["problem"]))
        raise JournalError(
            f"{skipped} lines are not events, such as one of {example['source']}: "
            f"{example['problem']}: {example['text']}"
        )
    runs = []
    for row in sorted((row for row in rows if row["sound"]), key=lambda each: str(each["run"])):
        if row["numbered"] not in (0, row["events"]):
            raise JournalError(
                f"run_id={row['run']!r}: {row['numbered']} of {row['events']} events have a seq; "
                "all must have one, or none"
            )
        runs.append(_Run(row["events"], bool(row["lines"])))
    if not runs:
        raise JournalError("there is no event in the journal")
    return runs, skipped


def _topics(events: DataFrame) -> DataFrame:
    """Count the message events by topic and kind: `topic, rank, events`."""
    return events.filter(facts.is_one_of(OF_MESSAGES)).groupBy("topic", "rank").agg(F.count("*").alias("events"))
