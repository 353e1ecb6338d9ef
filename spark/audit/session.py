"""The Spark session of the command."""

import os
from pathlib import Path

from pyspark.sql import SparkSession

from .. import class_archive

UNDER_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""The variable of a process that `spark-submit` has started: master and memory are decided already."""


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
    code = ["-XX:TieredStopAtLevel=1"] if size <= SMALL_BYTES else []
    builder = (
        SparkSession.builder.appName("rocketmq-audit")
        # Texts of keys cannot be counted by hash; what is sorted already by a window need not be sorted again.
        .config("spark.sql.execution.useObjectHashAggregateExec", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
    )
    if UNDER_SPARK_SUBMIT not in os.environ:
        builder = (
            builder.master(master or "local[*]")
            .config("spark.driver.memory", memory)
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", " ".join((*code, "-XX:+UseSerialGC", *class_archive.switches())))
            .config("spark.local.dir", str(folder))
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .config("spark.sql.shuffle.partitions", str(parts))
        )
    elif master is not None:
        builder = builder.master(master)
    return builder.getOrCreate()
