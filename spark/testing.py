"""Support for tests of pipelines: a Spark session that starts fast, an emulator, and streams that run to their end.

`pyspark_rocketmq.pytest_plugin` provides it as fixtures.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Row, SparkSession

from . import register
from .session import class_archive, worker_python

if TYPE_CHECKING:  # a session alone must not wait until an emulator is loaded
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter
    from rocketmq_testkit.fixtures import Emulator

SECONDS = 120.0
"""Default timeout of a stream that runs to its end."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"

CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
    # A test session ends before optimized code or a collector with threads of its own would pay. This much metaspace is
    # needed in any case, and growing to it would collect garbage each time.
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m",
}
"""Configuration with which a small session starts and runs fast."""


def start_session(configuration: Mapping[str, str] | None = None, *, master: str = "local[2]") -> SparkSession:
    """Start a session for tests, with the data source registered.

    Its JVM uses the class data archive of Spark (see `class_archive`) unless the configuration has Java options. Its
    Python workers are those of `worker_python` unless ``$PYSPARK_PYTHON`` names others.
    """
    worker_python.choose(master)
    builder = SparkSession.builder.master(master).appName("rocketmq-testkit")
    quick = {JAVA_OPTIONS: " ".join((CONFIGURATION[JAVA_OPTIONS], *_archive_switches()))}
    for name, value in {**CONFIGURATION, **quick, **(configuration or {})}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


@cache
def _archive_switches() -> list[str]:
    """Return the options once for all sessions of a process, because they share a JVM."""
    return class_archive.switches()


class SparkRocketMQ:
    """A session, an emulator, and a checkpoint folder of this test."""

    def __init__(self, spark: SparkSession, emulator: "Emulator", folder: Path) -> None:
        self.spark = spark
        self.emulator = emulator
        self.folder = folder

    def options(self, **options: object) -> dict[str, str]:
        """Return the options of a read or write, with the emulator's address."""
        given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
        return {"nameServer": self.emulator.namesrv, **given}

    def read(self, topic: str, **options: object) -> DataFrame:
        """Read the messages of a topic as a batch."""
        return self.spark.read.format("rocketmq").options(**self.options(topic=topic, **options)).load()

    def stream(self, topic: str, **options: object) -> DataFrame:
        """Read the current and future messages of a topic, from the first one unless options say otherwise."""
        return self.stream_reader(topic=topic, **{"startingOffsets": "earliest", **options}).load()

    def stream_reader(self, **options: object) -> "DataStreamReader":
        """Return a reader with the emulator's address."""
        return self.spark.readStream.format("rocketmq").options(**self.options(**options))

    def write(self, rows: DataFrame, **options: object) -> None:
        """Send rows."""
        rows.write.format("rocketmq").options(**self.options(**options)).mode("append").save()

    def checkpoint(self, name: str = "checkpoint") -> str:
        """Return a folder for the checkpoint of a query."""
        return str(self.folder / name)

    def run(
        self, stream: DataFrame, *, checkpoint: str = "checkpoint", seconds: float = SECONDS
    ) -> dict[int, list[Row]]:
        """Run a stream until no messages are left; returns its rows by batch number.

        With the same `checkpoint` it continues where the previous run ended. Raises StreamingQueryException,
        TimeoutError.
        """
        rows: dict[int, list[Row]] = {}

        def keep(batch: DataFrame, number: int) -> None:
            rows[number] = batch.collect()

        self.finish(stream.writeStream.foreachBatch(keep), checkpoint=checkpoint, seconds=seconds)
        return {number: found for number, found in sorted(rows.items()) if found}

    def finish(
        self, writer: "DataStreamWriter", *, checkpoint: str = "checkpoint", seconds: float = SECONDS
    ) -> "StreamingQuery":
        """Run a query until no messages are left. Raises StreamingQueryException, TimeoutError."""
        query = writer.option("checkpointLocation", self.checkpoint(checkpoint)).trigger(availableNow=True).start()
        try:
            if not query.awaitTermination(int(seconds)):
                raise TimeoutError(f"the stream did not come to its end within {seconds:g} s")
        finally:
            query.stop()
        return query
