"""Tests of pipelines: a Spark session that starts fast, an emulator, and streams that run until nothing is left.

`pyspark_rocketmq.pytest_plugin` makes fixtures of it.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Row, SparkSession

from . import class_archive, register, worker_python

if TYPE_CHECKING:  # a session alone shall not wait until an emulator is loaded
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter
    from rocketmq_testkit.fixtures import Emulator

SECONDS = 120.0
"""How long a stream may take until nothing is left."""

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
    # A session of a test is over before better code or a collector with threads of its own would pay; so much room for
    # classes is needed in any case, and growing into it collects garbage each time.
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m",
}
"""What makes a small session start and run fast."""


def start_session(configuration: Mapping[str, str] | None = None, *, master: str = "local[2]") -> SparkSession:
    """A session for tests, with the data source registered.

    Its JVM uses the archive of Spark's classes (see `class_archive`) unless the configuration has Java options; its
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
    """One answer for all sessions of a process, because they share a JVM."""
    return class_archive.switches()


class SparkRocketMQ:
    """A session, an emulator, and a folder for checkpoints that is this test's own."""

    def __init__(self, spark: SparkSession, emulator: "Emulator", folder: Path) -> None:
        self.spark = spark
        self.emulator = emulator
        self.folder = folder

    def options(self, **options: object) -> dict[str, str]:
        """Options of a read or write, with the emulator's address."""
        given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
        return {"nameServer": self.emulator.namesrv, **given}

    def read(self, topic: str, **options: object) -> DataFrame:
        """What a topic holds."""
        return self.spark.read.format("rocketmq").options(**self.options(topic=topic, **options)).load()

    def stream(self, topic: str, **options: object) -> DataFrame:
        """What a topic holds and will hold, from its first message unless options say otherwise."""
        return self.stream_reader(topic=topic, **{"startingOffsets": "earliest", **options}).load()

    def stream_reader(self, **options: object) -> "DataStreamReader":
        """A reader with the emulator's address."""
        return self.spark.readStream.format("rocketmq").options(**self.options(**options))

    def write(self, rows: DataFrame, **options: object) -> None:
        """Send rows."""
        rows.write.format("rocketmq").options(**self.options(**options)).mode("append").save()

    def checkpoint(self, name: str = "checkpoint") -> str:
        """A folder for the checkpoint of a query."""
        return str(self.folder / name)

    def run(
        self, stream: DataFrame, *, checkpoint: str = "checkpoint", seconds: float = SECONDS
    ) -> dict[int, list[Row]]:
        """Run a stream until nothing is left; its rows by number of batch.

        The same `checkpoint` goes on where the run before has ended. Errors: StreamingQueryException, TimeoutError.
        """
        rows: dict[int, list[Row]] = {}

        def keep(batch: DataFrame, number: int) -> None:
            rows[number] = batch.collect()

        self.finish(stream.writeStream.foreachBatch(keep), checkpoint=checkpoint, seconds=seconds)
        return {number: found for number, found in sorted(rows.items()) if found}

    def finish(
        self, writer: "DataStreamWriter", *, checkpoint: str = "checkpoint", seconds: float = SECONDS
    ) -> "StreamingQuery":
        """Run a query until nothing is left. Errors: StreamingQueryException, TimeoutError."""
        query = writer.option("checkpointLocation", self.checkpoint(checkpoint)).trigger(availableNow=True).start()
        try:
            if not query.awaitTermination(int(seconds)):
                raise TimeoutError(f"the stream did not come to its end within {seconds:g} s")
        finally:
            query.stop()
        return query
