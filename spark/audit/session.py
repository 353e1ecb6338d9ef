"""The Spark session of the command."""

import os
from pathlib import Path

from pyspark.sql import SparkSession

UNDER_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""The variable of a process that `spark-submit` has started: master and memory are decided already."""


def session(master: str | None, memory: str, folder: Path) -> SparkSession:
    """A session on `master`, by default on all cores of this machine with `memory` for the JVM; scratch in `folder`."""
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
            .config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC")
            .config("spark.local.dir", str(folder))
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            # Many small parts: one that does not fit into memory goes to disk by itself.
            .config("spark.sql.shuffle.partitions", "64")
        )
    elif master is not None:
        builder = builder.master(master)
    return builder.getOrCreate()
