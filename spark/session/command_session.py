"""Spark session of a command: started on this machine with its options, or by `spark-submit`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from . import class_archive, worker_python

UNDER_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""Environment variable of a process that `spark-submit` has started: memory and scratch are already configured."""
HERE = "local[*]"
"""The default master: all cores of this machine."""


def command_session(
    name: str,
    master: str | None,
    memory: str,
    folder: Path,
    *,
    settings: Mapping[str, str],
    started_here: Mapping[str, str] | None = None,
    java: Sequence[str] = (),
) -> SparkSession:
    """Start a session without a web UI that logs only errors.

    `settings` apply to any session. `memory` for the JVM (such as `"2g"`), scratch in `folder`, the settings
    `started_here` and the JVM options `java` apply only to a session that the command starts itself.
    """
    builder = SparkSession.builder.appName(name)
    given = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", **settings}
    if UNDER_SPARK_SUBMIT not in os.environ:
        master = master or HERE
        worker_python.choose(master)
        given |= {
            "spark.driver.memory": memory,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": " ".join((*java, "-XX:+UseSerialGC", *class_archive.switches())),
            "spark.local.dir": str(folder),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            **(started_here or {}),
        }
    if master is not None:
        builder = builder.master(master)
    for key, value in given.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
