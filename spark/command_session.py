"""The Spark session of a command: on this machine with what the command line says, or what `spark-submit` has begun."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from . import class_archive, worker_python

UNDER_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""The variable of a process that `spark-submit` has started: memory and scratch are decided already."""
HERE = "local[*]"
"""The master unless another one is named: all cores of this machine."""


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
    """A session that has no page of its own and tells errors only.

    `settings` hold for any session. `memory` for the JVM (such as `"2g"`), scratch in `folder`, the settings
    `started_here` and the switches `java` hold for one that the command starts itself.
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
