"""The audit as a Spark job: journals in, accounts and their sums out."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from . import facts, journals, order
from .events import OF_MESSAGES, JournalError
from .rules import Rules


@dataclass(frozen=True, slots=True)
class SparkAudit:
    """What a job has found. `accounts` lies in files that live as long as the `with` of `audit_journals`.

    Its columns: `run, topic, group, id, key`, those of `Facts`, and `verdicts`. `topics` counts the events of each
    topic that say something of messages. `skipped` lines were no events.
    """

    accounts: DataFrame
    topics: DataFrame
    rules: Rules
    events: int
    skipped: int


@contextmanager
def audit_journals(
    spark: SparkSession,
    paths: Iterable[str | Path],
    rules: Rules | None = None,
    *,
    skip_malformed: bool = False,
    scratch: str | Path | None = None,
) -> Iterator[SparkAudit]:
    """Judge journals of any size; what is written meanwhile goes to a folder in `scratch` and is removed at the end.

    On a cluster `scratch` is a folder that all workers share. Errors: JournalError (no journal, lines that are no
    events, events of one run with `seq` and without).
    """
    rules = rules or Rules()
    files = journals.find(paths)
    with TemporaryDirectory(prefix="rocketmq-audit-", dir=scratch) as folder:
        events = journals.read(spark, files)
        if files.lines:
            # Texts are read once; every later pass takes the columns that it wants.
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
    """One run of a journal."""

    events: int
    lines: bool


def _count_runs(events: DataFrame) -> DataFrame:
    """Two rows for each run: its events and, if there are any, its lines that are none."""
    return events.groupBy("run", F.col("problem").isNull().alias("sound")).agg(
        F.count("*").alias("events"),
        F.count_if("numbered").alias("numbered"),
        F.max("ts_us").alias("end_us"),
        F.count("message_group").alias("lines"),
        F.min(F.struct("source", "problem", "text")).alias("example"),
    )


def _checked(rows: Sequence[Row], *, skip_malformed: bool) -> tuple[list[_Run], int]:
    """The runs, and how many lines are no events. Errors: JournalError."""
    broken = [row for row in rows if not row["sound"]]
    skipped = sum(row["events"] for row in broken)
    if broken and not skip_malformed:
        example = min((row["example"] for row in broken), key=lambda each: (each["source"], each["problem"]))
        raise JournalError(
            f"{skipped} lines are no events, such as one of {example['source']}: "
            f"{example['problem']}: {example['text']}"
        )
    runs = []
    for row in sorted((row for row in rows if row["sound"]), key=lambda each: str(each["run"])):
        if row["numbered"] not in (0, row["events"]):
            raise JournalError(
                f"run {row['run']!r}: {row['numbered']} of {row['events']} events have a seq; "
                "all must have one, or none"
            )
        runs.append(_Run(row["events"], bool(row["lines"])))
    if not runs:
        raise JournalError("there is no event in the journal")
    return runs, skipped


def _topics(events: DataFrame) -> DataFrame:
    """How many events of each kind that concerns messages there are of each topic: `topic, rank, events`."""
    return events.filter(facts.is_one_of(OF_MESSAGES)).groupBy("topic", "rank").agg(F.count("*").alias("events"))
