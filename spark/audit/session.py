"""The Spark session of the command."""

import os
from pathlib import Path

from pyspark.sql import SparkSession

from ..session.command_session import command_session

PART_BYTES = 16 << 20
"""Bytes of a journal per shuffle partition, so that a partition fits into little memory."""
PARTS_MAX = 1000
SMALL_BYTES = 64 << 20
"""For journals up to this size, compiling optimized code takes longer than it saves."""


def session(master: str | None, memory: str, folder: Path, size: int) -> SparkSession:
    """Start a session on `master`, or by default on all cores of this machine with `memory` for the JVM.

    `size` of the journals, in bytes, determines the number of shuffle partitions.
    """
    parts = min(max(size // PART_BYTES, os.cpu_count() or 2), PARTS_MAX)
    return command_session(
        "rocketmq-audit",
        master,
        memory,
        folder,
        # String keys cannot be counted by hash; rows already sorted for a window need not be sorted again.
        settings={"spark.sql.execution.useObjectHashAggregateExec": "false"},
        started_here={"spark.sql.shuffle.partitions": str(parts)},
        java=["-XX:TieredStopAtLevel=1"] if size <= SMALL_BYTES else [],
    )
