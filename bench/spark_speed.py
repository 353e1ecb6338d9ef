"""Compare the Spark connector with its client alone, with the emulator and with the real Apache broker.

    python bench/spark_speed.py [--quick] [--only TEXT] [--write]

prints a table: messages per second with either server, the goal for the emulator, and the processor time of server and
reader (without Spark) for each message. `--write` puts it into bench/README.md. Messages have 100 B and are in four
queues. Each workload runs twice with either server, in the order emulator, real, real, emulator, and the quicker round
counts. Server, JVM and Python workers share the machine; the other server is stopped meanwhile.
"""

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyspark
from document import Table, options
from pyspark.sql import DataFrame, SparkSession
from pyspark_rocketmq.options.options import sink_options, source_options
from pyspark_rocketmq.options.schema import MESSAGE, Wanted
from pyspark_rocketmq.reading.batch_reader import RocketMQBatchReader
from pyspark_rocketmq.session import class_archive
from pyspark_rocketmq.testing import start_session
from pyspark_rocketmq.writing.writer import send_rows
from rocketmq_testkit.conformance.clients.remoting_sends import batch_request
from rocketmq_testkit.conformance.deployment.target import REFERENCE_VERSION
from rocketmq_testkit.remoting.client import RemotingClient
from servers import EmulatorCommand, RealBroker, Server, cpu_seconds, create_topic, frozen, send_one

MESSAGES = 400_000
QUEUES = 4
BODY = 100
"""Bytes of a body."""
BATCH = 500
"""Messages of a batch with which the topic is filled."""
TOPIC = "orders"
NINE: Wanted = tuple((column.name, column.types[0]) for column in MESSAGE)
TWO: Wanted = (("body", "binary"), ("queueOffset", "bigint"))
"""Columns of a read, as (name, Spark type): all nine, or two of them."""
TWO_COLUMNS = "body binary, queueOffset bigint"
LARGE_PULLS = {"maxTransferCountOnMessageInMemory": "1024", "maxTransferBytesOnMessageInMemory": str(4 << 20)}
"""Broker keys that allow pulls of 1,024 messages."""
ROOMY = ("storeMaxBytes", str(2 << 30))
"""Enough memory for all measured messages, so that the emulator deletes none."""
SECTION = """## Spark

`make bench-spark` reads and writes messages of 100 B in four queues through Spark, and through its client without Spark
and JVM (`no Spark`). Brokers serve pulls of 32 by default; pulls of 1,024 require a changed configuration.
While one server works, the other is suspended.
"""

_names = (f"copies-{number}" for number in count())


@dataclass(frozen=True)
class Figure:
    """Messages per second, and µs of processor time for each message of the server and of this process."""

    per_second: float
    server_micros: float
    own_micros: float


Work = Callable[[Server], None]


@dataclass(frozen=True)
class Workload:
    """A way to read or write `messages` messages.

    `goal`: messages per second that the emulator has to reach, if any.
    """

    name: str
    messages: int
    work: Work
    goal: int | None = None


def fill(server: Server, messages: int) -> None:
    """Send messages with keys and tags to all queues."""
    create_topic(server, TOPIC, QUEUES)
    with RemotingClient(server.broker, timeout=60) as client:
        for at in range(0, messages, BATCH):
            some = [
                (b"x" * BODY, {"UNIQ_KEY": f"{number:032X}", "TAGS": "a", "KEYS": f"k{number}"})
                for number in range(at, at + BATCH)
            ]
            response = client.request(*batch_request(TOPIC, some, born_ms=0, queue=at // BATCH % QUEUES))
            if response.code != 0:
                raise RuntimeError(f"{server.name} does not store messages: {response.remark}")


def alone(columns: Wanted, pull: str) -> Work:
    """Read without Spark, one range after another in one process. `pull`: messages of a pull, as an option's text."""

    def work(server: Server) -> None:
        given = source_options({"nameServer": server.namesrv, "topic": TOPIC, "pullBatchSize": pull})
        reader = RocketMQBatchReader(given, columns)
        for partition in reader.partitions():
            for _ in reader.read(partition):
                pass

    return work


def sent_alone(messages: int, size: str) -> Work:
    """Write without Spark. `size`: messages of a send, as the text of the option `sendBatchSize`."""
    rows = pa.RecordBatch.from_pydict({"body": [b"x" * BODY] * 10_000})

    def work(server: Server) -> None:
        topic = next(_names)
        create_topic(server, topic, QUEUES)
        sink = sink_options({"nameServer": server.namesrv, "topic": topic, "sendBatchSize": size})
        send_rows(sink, iter([rows] * (messages // rows.num_rows)))

    return work


def batch(spark: SparkSession, pull: str, schema: str | None = None, topic: str = TOPIC) -> Work:
    """Read with Spark and discard the rows."""

    def work(server: Server) -> None:
        reader = spark.read.format("rocketmq").options(nameServer=server.namesrv, topic=topic, pullBatchSize=pull)
        table = (reader if schema is None else reader.schema(schema)).load()
        table.write.format("noop").mode("overwrite").save()

    return work


def stream(spark: SparkSession, pull: str, topic: str = TOPIC) -> Work:
    """Read the stored messages as a stream and discard the rows."""

    def work(server: Server) -> None:
        given = {"nameServer": server.namesrv, "topic": topic, "pullBatchSize": pull, "startingOffsets": "earliest"}
        with tempfile.TemporaryDirectory() as folder:
            found = spark.readStream.format("rocketmq").options(**given).load()
            writer = found.writeStream.format("noop").option("checkpointLocation", folder)
            writer.trigger(availableNow=True).start().awaitTermination()

    return work


def sent(spark: SparkSession, messages: int, size: str) -> Work:
    """Write with Spark, from two tasks."""

    def work(server: Server) -> None:
        topic = next(_names)
        create_topic(server, topic, QUEUES)
        rows: DataFrame = spark.range(0, messages, numPartitions=2).selectExpr(f"repeat('x', {BODY}) as body")
        writer = rows.write.format("rocketmq").options(nameServer=server.namesrv, topic=topic, sendBatchSize=size)
        writer.mode("append").save()

    return work


def measure(workload: Workload, server: Server) -> Figure:
    """Measure one round."""
    began, theirs, own = time.perf_counter(), cpu_seconds(server), time.process_time()
    workload.work(server)
    seconds = time.perf_counter() - began
    each = 1e6 / workload.messages
    return Figure(
        workload.messages / seconds, (cpu_seconds(server) - theirs) * each, (time.process_time() - own) * each
    )


def row(workload: Workload, servers: Sequence[Server], of_spark: bool) -> str:
    """Return a row of the table: the quicker of two rounds with each server, by turns."""
    rounds = []
    for server in (*servers, *reversed(servers)):
        with frozen(other for other in servers if other is not server):
            rounds.append((server, measure(workload, server)))
    ours, theirs = (max((figure for at, figure in rounds if at is server), key=_rate) for server in servers)
    goal = f"{workload.goal:,}" if workload.goal else "-"
    own = "-" if of_spark else f"{ours.own_micros:.1f}"
    return (
        f"| {workload.name} | {goal} | {ours.per_second:,.0f} | {theirs.per_second:,.0f} "
        f"| {ours.server_micros:.1f} | {theirs.server_micros:.1f} | {own} |"
    )


def _rate(figure: Figure) -> float:
    return figure.per_second


def reading(spark: SparkSession | None, messages: int, pull: str) -> Iterator[Workload]:
    """Yield the ways to read all messages, without a session or with one."""
    what = f"pulls of {int(pull):,}"
    if spark is None:
        yield Workload(f"{what}, no Spark, 9 columns", messages, alone(NINE, pull))
        yield Workload(f"{what}, no Spark, 2 columns", messages, alone(TWO, pull))
        return
    yield Workload(f"{what}, batch, 9 columns", messages, batch(spark, pull), 200_000)
    yield Workload(f"{what}, batch, 2 columns", messages, batch(spark, pull, TWO_COLUMNS), 500_000)
    yield Workload(f"{what}, stream over stored messages", messages, stream(spark, pull), 150_000)


def writing(spark: SparkSession | None, messages: int) -> Iterator[Workload]:
    """Yield the ways to send several messages per request, without a session or with one."""
    for size in ("32", "256"):
        if spark is None:
            yield Workload(f"sends of {size}, no Spark", messages, sent_alone(messages, size))
        else:
            yield Workload(f"sends of {size}, batch", messages, sent(spark, messages, size), 150_000)


@contextmanager
def both(messages: int, settings: dict[str, str]) -> Iterator[tuple[Server, Server]]:
    """Start emulator and real broker with stored messages."""
    words = [word for key, value in (*settings.items(), ROOMY) for word in ("--set", f"{key}={value}")]
    with EmulatorCommand(*words) as emulator, RealBroker(settings=settings) as real:
        for server in (emulator, real):
            fill(server, messages)
        yield emulator, real


def rows(messages: int, only: str) -> Iterator[str]:
    """Yield all rows of the table of rates."""
    for settings, pull in (({}, "32"), (LARGE_PULLS, "1024")):
        with both(messages, settings) as servers:
            for spark in (None, start_session()):
                # Sends do not depend on the size of pulls.
                wanted = [*reading(spark, messages, pull), *([] if settings else writing(spark, messages // 2))]
                for workload in wanted:
                    if only in workload.name:
                        print(f"... {workload.name}", file=sys.stderr, flush=True)
                        yield row(workload, servers, spark is not None)
                if spark is not None:
                    spark.stop()


def fixed_seconds(server: Server) -> tuple[float, float]:
    """Return the seconds of a batch and of a stream that find one message, in a warmed-up session.

    Each is the quickest of five: the cost of a job with any number of messages, which distorts the rates of short runs.
    """
    spark = start_session()
    topic = next(_names)
    create_topic(server, topic, 1)
    send_one(server, topic)
    found = []
    for work in (batch(spark, "32", topic=topic), stream(spark, "32", topic)):
        rounds = []
        for _ in range(5):
            began = time.perf_counter()
            work(server)
            rounds.append(time.perf_counter() - began)
        found.append(min(rounds))
    spark.stop()
    return found[0], found[1]


FIRST_ROW = """
from pyspark_rocketmq.testing import start_session
import sys
spark = start_session()
rows = spark.read.format("rocketmq").options(nameServer=sys.argv[1], topic=sys.argv[2]).load().take(1)
print(len(rows), flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class FirstRow:
    """Seconds from the start of an interpreter until a row is available.

    `new`: in the first session of a machine, which lists its classes. `making`: in the second session, while an archive
    of the classes is made. `usual`: with the archive, the median of three.
    """

    new: float
    making: float
    usual: float


def first_row(server: Server) -> FirstRow:
    """Measure the first row with an empty cache, and then with the caches of earlier sessions."""
    with tempfile.TemporaryDirectory(prefix="spark-speed-") as cache:
        new, making = _first_row(server, cache), _first_row(server, cache)
        while "SharedArchiveFile" not in class_archive.switches(Path(cache) / "spark")[0]:
            time.sleep(0.1)
        return FirstRow(new, making, sorted(_first_row(server, cache) for _ in range(3))[1])


def _first_row(server: Server, cache: str) -> float:
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", FIRST_ROW, server.namesrv, TOPIC],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "ROCKETMQ_TESTKIT_CACHE": cache},
    )
    if process.stdout is None or process.stdout.readline() != "1\n":
        raise RuntimeError("no row came")
    seconds = time.perf_counter() - began
    process.communicate()
    return seconds


def workers_mib() -> float:
    """Return the peak memory of a Python worker of Spark in MiB."""
    peak = 0
    for folder in Path("/proc").iterdir():
        try:
            if b"pyspark.daemon" not in (folder / "cmdline").read_bytes():
                continue
            for line in (folder / "status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peak = max(peak, int(line.split()[1]))
        except OSError:
            continue  # no process, or one that has just ended
    return peak / 1024


def memory(messages: int) -> tuple[float, float]:
    """Return the peak MiB of a worker after a read of a tenth of the messages, and of all."""
    with EmulatorCommand("--set", "=".join(ROOMY)) as server:
        fill(server, messages)
        spark = start_session()
        end = messages // 10 // QUEUES
        tenth = {"endingOffsets": json.dumps({TOPIC: {"broker-a": {str(queue): end for queue in range(QUEUES)}}})}
        found = []
        for given in (tenth, dict[str, str]()):
            table = spark.read.format("rocketmq").options(nameServer=server.namesrv, topic=TOPIC, **given).load()
            table.write.format("noop").mode("overwrite").save()
            found.append(workers_mib())
        spark.stop()
        return found[0], found[1]


def document(messages: int, only: str) -> str:
    """Return all figures as Markdown. The load average shows other load of the machine."""
    load = os.getloadavg()[0]
    lines = [
        f"{datetime.date.today().isoformat()}, pyspark {pyspark.__version__}, Apache RocketMQ {REFERENCE_VERSION}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores that all share; {messages:,} messages; "
        f"load average before {load:.1f}.",
        "",
        "| messages/s | at least | emulator | real broker | emulator CPU µs | real CPU µs | client CPU µs |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *rows(messages, only),
        "",
    ]
    if not only:
        with EmulatorCommand() as server:
            fill(server, BATCH)
            first = first_row(server)
            of_batch, of_stream = fixed_seconds(server)
        large_count = messages * 4
        small, large = memory(large_count)
        lines += [
            f"The first row arrives {first.usual:.1f} s after the interpreter starts (at most 10 s are allowed). It "
            f"takes {first.new:.1f} s in the first session of a machine, and {first.making:.1f} s in the second, in "
            f"which the class archive is created. A Python worker held at most {small:.0f} MiB while it read "
            f"{large_count // 10:,} messages, and {large:.0f} MiB while it read {large_count:,}. A batch of one "
            f"message takes {of_batch:.2f} s and a stream of one message {of_stream:.2f} s; the rates of batches and "
            "streams in the table include this time.",
            "",
        ]
    return "\n".join(lines)


def main() -> int:
    """Measure, print, and write if requested."""
    quick = "do a tenth of the work, only to check that it runs"
    chosen = options("Compare the Spark connector with its client alone.", quick, "workloads")
    text = document(MESSAGES // 10 if chosen.quick else MESSAGES, chosen.only)
    print(text)
    if chosen.write:
        Table("spark", SECTION).write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
