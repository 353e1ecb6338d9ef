"""A sample journal of any size with known faults, to try the auditor.

python -m pyspark_rocketmq.audit.sample EVENTS FOLDER.parquet
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from . import rules
from .events import EventKind

TOPICS = 4
KEYS = 1000
EVERY = 10_007
"""Interval in messages between two faults of a kind; a prime, so that faults fall on all topics and keys."""
START_US = 1_767_225_600_000_000
STEP_US = 100
LOST, DUPLICATED, RECOVERED, UNEXPECTED, LATE, OVERTAKEN = range(1, 7)


def journal(spark: SparkSession, messages: int, every: int = EVERY) -> DataFrame:
    """Create about three events per message: stored, delivered, acknowledged. The first topic has message groups."""
    number = F.col("id")
    fault = number % every
    in_line = number % TOPICS == 0
    stored = F.lit(START_US) + number * STEP_US
    delivered = (
        stored
        + 2_000
        + F.when(fault == LATE, 20_000_000).when((fault == OVERTAKEN) & in_line, 5_000_000).otherwise(number % 7 * 10)
    )
    events = F.array_compact(
        F.array(
            _event(EventKind.STORED, stored, fault != UNEXPECTED),
            _event(EventKind.DELIVERED, delivered, fault != LOST, 30_000),
            _event(EventKind.DELIVERED, delivered + 30_000_000, fault == RECOVERED, 30_000),
            _event(EventKind.ACKED, delivered + F.when(fault == RECOVERED, 30_001_000).otherwise(1_000), fault != LOST),
            _event(EventKind.DELIVERED, delivered + 2_000, fault == DUPLICATED, 30_000),
        )
    )
    return spark.range(messages).select(
        F.concat(F.lit("orders-"), number % TOPICS).alias("topic"),
        F.lpad(F.hex(number), 32, "0").alias("msgId"),
        F.concat(F.lit("table-"), F.floor(number / TOPICS) % KEYS).alias("keys"),
        F.when(in_line, F.concat(F.lit("line-"), F.floor(number / TOPICS) % KEYS)).alias("messageGroup"),
        F.lit("shop").alias("group"),
        F.inline(events),
    )


def _event(kind: EventKind, instant: Column, happens: Column, invisible_ms: int | None = None) -> Column:
    fields = (
        F.lit(kind.value).alias("event"),
        instant.cast("long").alias("ts_us"),
        F.lit(invisible_ms).cast("long").alias("invisibleMs"),
    )
    return F.when(happens, F.struct(*fields))


def expected(messages: int, every: int = EVERY) -> dict[str, int]:
    """Return the number of messages of that journal with each verdict."""

    def count(fault: int) -> int:
        return len(range(fault, messages, every))

    return {
        rules.LOST: count(LOST),
        rules.DUPLICATED: count(DUPLICATED),
        rules.RECOVERED: count(RECOVERED),
        rules.UNEXPECTED: count(UNEXPECTED),
        rules.LATE: count(LATE),
        # Late messages of the first topic are overtaken as well, unless no message follows them.
        rules.OUT_OF_ORDER: sum(
            1
            for fault in (LATE, OVERTAKEN)
            for number in range(fault, messages - TOPICS * KEYS, every)
            if number % TOPICS == 0
        ),
    }


def main(words: Sequence[str] | None = None) -> int:
    """Write a sample journal; returns the exit code."""
    from .session import session

    parser = argparse.ArgumentParser(prog="python -m pyspark_rocketmq.audit.sample")
    parser.add_argument("events", type=int)
    parser.add_argument("folder", type=Path, help="write to this path: .jsonl as JSON Lines, otherwise .parquet")
    options = parser.parse_args(words)
    with TemporaryDirectory() as scratch:
        spark = session(None, "1g", Path(scratch), options.events * 100)
        found = journal(spark, options.events // 3)
        (found.write.json if options.folder.suffix == ".jsonl" else found.write.parquet)(str(options.folder))
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
