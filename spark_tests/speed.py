"""How fast reads and writes are, with Spark and without: `python spark_tests/speed.py [MESSAGES]`.

The emulator is a process of its own, on the same processors. Each figure is the better of two rounds; beside it stands
the processor time of emulator and reader for a message, which is the steadier figure where a machine is shared.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark_rocketmq.batch_reader import RocketMQBatchReader
from pyspark_rocketmq.options import sink_options, source_options
from pyspark_rocketmq.schema import MESSAGE
from pyspark_rocketmq.testing import start_session
from pyspark_rocketmq.writer import send_rows

ROUNDS = 2
QUEUES = 4
BODY = 100
NINE = tuple((column.name, column.types[0]) for column in MESSAGE)
TWO = (("body", "binary"), ("queueOffset", "bigint"))
LARGE_PULLS = {"maxTransferCountOnMessageInMemory": 1024, "maxTransferBytesOnMessageInMemory": 4 << 20}

SERVER = f"""
import json, sys
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient, batch_body

messages, config = int(sys.argv[1]), json.loads(sys.argv[2])
with Emulator(config=config) as emulator:
    emulator.topic("orders", queues={QUEUES})
    emulator.topic("copies", queues={QUEUES})
    with RemotingClient(emulator.broker, timeout=60) as client:
        for at in range(0, messages, 500):
            fields = {{"a": "p", "b": "orders", "c": "TBW102", "d": 4, "f": 0, "g": 1, "h": 0, "i": "", "m": True}}
            body = batch_body([
                (b"x" * {BODY}, {{"UNIQ_KEY": f"{{at + each:032X}}", "TAGS": "a", "KEYS": f"k{{each}}"}})
                for each in range(500)
            ])
            assert client.request(320, {{**fields, "e": at // 500 % {QUEUES}}}, body).code == 0
    print(emulator.namesrv, flush=True)
    sys.stdin.read()
"""


class Server:
    """The emulator in a process of its own, filled with messages."""

    def __init__(self, messages: int, config: dict[str, int]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(messages), json.dumps(config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.namesrv = self._process.stdout.readline().strip()

    def cpu_seconds(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def measure(name: str, messages: int, server: Server, work: Callable[[], Any]) -> None:
    """Print a line of the table."""
    best, line = 0.0, ""
    for _ in range(ROUNDS):
        started, cpu, own = time.perf_counter(), server.cpu_seconds(), time.process_time()
        work()
        seconds = time.perf_counter() - started
        if messages / seconds > best:
            best = messages / seconds
            here = (time.process_time() - own) / messages * 1e6
            there = (server.cpu_seconds() - cpu) / messages * 1e6
            line = f"| {name} | {best:,.0f} | {there:.1f} | {here:.1f} |"
    print(line, flush=True)


def floor(server: Server, columns: Any, **options: str) -> Callable[[], None]:
    """Reading without Spark, one range after the other in one process."""

    def work() -> None:
        given = source_options({"nameServer": server.namesrv, "topic": "orders", **options})
        reader = RocketMQBatchReader(given, columns)
        for partition in reader.partitions():
            for _ in reader.read(partition):
                pass

    return work


def batch(table: DataFrame) -> Callable[[], None]:
    """Reading with Spark, into nothing."""
    return lambda: table.write.format("noop").mode("overwrite").save()


def stream(spark: SparkSession, options: dict[str, str]) -> Callable[[], None]:
    """A stream over what is there, into nothing."""

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = spark.readStream.format("rocketmq").options(**options).option("startingOffsets", "earliest").load()
            writer = source.writeStream.format("noop").option("checkpointLocation", folder)
            writer.trigger(availableNow=True).start().awaitTermination()

    return work


def reads(spark: SparkSession | None, name: str, messages: int, config: dict[str, int], size: str) -> None:
    """Figures of reading; without a session those that need none."""
    with closing(Server(messages, config)) as server:
        if spark is None:
            for columns in (NINE, TWO):
                work = floor(server, columns, pullBatchSize=size)
                measure(f"{name}, no Spark, {len(columns)} columns", messages, server, work)
            return
        options = {"nameServer": server.namesrv, "topic": "orders", "pullBatchSize": size}
        reader = spark.read.format("rocketmq").options(**options)
        measure(f"{name}, batch, 9 columns", messages, server, batch(reader.load()))
        two = reader.schema("body binary, queueOffset bigint").load()
        measure(f"{name}, batch, 2 columns", messages, server, batch(two))
        measure(f"{name}, stream over what is there", messages, server, stream(spark, options))


def writes(spark: SparkSession | None, messages: int) -> None:
    """Figures of writing."""
    with closing(Server(0, {})) as server:
        options = {"nameServer": server.namesrv, "topic": "copies", "sendBatchSize": "32"}
        if spark is None:
            rows = pa.RecordBatch.from_pydict({"body": [b"x" * BODY] * 10_000})
            sink = sink_options(options)
            count = messages // 10_000
            measure("sends of 32, no Spark", messages, server, lambda: send_rows(sink, iter([rows] * count)))
            return
        table = spark.range(0, messages, 1, 2).selectExpr(f"repeat('x', {BODY}) as body")
        writer = table.write.format("rocketmq").options(**options).mode("append")
        measure("sends of 32", messages, server, writer.save)


def main() -> None:
    """All figures."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
    print(f"{messages:,} messages of {BODY} B in {QUEUES} queues\n")
    print("| what | messages/s | emulator µs | this process µs |\n|---|---:|---:|---:|")
    for spark in (None, start_session()):
        reads(spark, "pulls of 32", messages, {}, "32")
        reads(spark, "pulls of 1024", messages, LARGE_PULLS, "1024")
        writes(spark, messages // 4)
        if spark is not None:
            spark.stop()


if __name__ == "__main__":
    main()
