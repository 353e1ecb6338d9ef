"""The Spark session of the command."""

import os
from pathlib import Path

from pyspark.sql import SparkSession

from ..command_session import command_session

PART_BYTES = 16 << 20
"""So much of a journal is one part of a shuffle, which then fits into little memory."""
PARTS_MAX = 1000
SMALL_BYTES = 64 << 20
"""A journal up to this size is audited before better code would pay for its making."""


def session(master: str | None, memory: str, folder: Path, size: int) -> SparkSession:
    """A session on `master`, by default on all cores of this machine with `memory` for the JVM; scratch in `folder`.

    `size` of the journals, in bytes, says how many parts there are.
    """
    parts = min(max(size // PART_BYTES, os.cpu_count() or 2), PARTS_MAX)
    return command_session(
        "rocketmq-audit",
        master,
        memory,
        folder,
        # Texts of keys cannot be counted by hash; what is sorted already by a window need not be sorted again.
        settings={"spark.sql.execution.useObjectHashAggregateExec": "false"},
        started_here={"spark.sql.shuffle.partitions": str(parts)},
        java=["-XX:TieredStopAtLevel=1"] if size <= SMALL_BYTES else [],
    )
