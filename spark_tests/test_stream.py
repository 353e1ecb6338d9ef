"""Tests of streams through a real session: every message is read once, despite failures in between."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from gateway import TruncatingGateway
from many_messages import fill
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import LongType
from pyspark_rocketmq.cluster.cluster import Cluster
from pyspark_rocketmq.options.options import sink_options, source_options
from pyspark_rocketmq.reading.progress import RocketMQProgressListener
from pyspark_rocketmq.testing import SECONDS, SparkRocketMQ
from pyspark_rocketmq.writing.transactional_writer import TransactionalStreamWriter
from rocketmq_testkit.fixtures import Emulator


def numbered(low: int, high: int) -> list[bytes]:
    """Return numbers as bodies."""
    return [b"%d" % at for at in range(low, high)]


def numbers(rows: Iterable[Row]) -> list[int]:
    """Return the numbers of rows, sorted, including duplicates."""
    return sorted(int(row.body) for row in rows)


@pytest.mark.recovery
def test_every_message_is_read_once_over_restarts(spark_rocketmq: SparkRocketMQ) -> None:
    """Three runs from one checkpoint each read exactly the messages that arrived since the previous one."""
    spark_rocketmq.emulator.topic("orders", queues=2)
    stream = spark_rocketmq.stream("orders", maxOffsetsPerTrigger=40)
    found: list[list[int]] = []
    for run in range(3):
        fill(spark_rocketmq.emulator, "orders", numbered(run * 100, run * 100 + 60), 0)
        fill(spark_rocketmq.emulator, "orders", numbered(run * 100 + 60, run * 100 + 100), 1)
        batches = spark_rocketmq.run(stream)
        assert [len(rows) for rows in batches.values()] == [40, 40, 20]
        found.append(numbers(row for rows in batches.values() for row in rows))

    assert found == [list(range(run * 100, run * 100 + 100)) for run in range(3)]


@pytest.mark.recovery
def test_a_batch_that_failed_is_run_again_with_the_same_messages(spark_rocketmq: SparkRocketMQ) -> None:
    """A failed batch is run again with the same messages, although more have arrived."""
    spark_rocketmq.emulator.topic("orders", queues=2)
    fill(spark_rocketmq.emulator, "orders", numbered(0, 50), 0)
    seen: list[tuple[int, list[int]]] = []

    def keep(batch: DataFrame, number: int) -> None:
        seen.append((number, numbers(batch.collect())))
        if len(seen) == 1:
            raise RuntimeError("the first try fails")

    stream = spark_rocketmq.stream("orders")
    with pytest.raises(StreamingQueryException, match="the first try fails"):
        spark_rocketmq.finish(stream.writeStream.foreachBatch(keep))
    fill(spark_rocketmq.emulator, "orders", numbered(50, 80), 1)
    spark_rocketmq.finish(stream.writeStream.foreachBatch(keep))

    assert seen == [(0, list(range(50))), (0, list(range(50))), (1, list(range(50, 80)))]


@pytest.mark.recovery
def test_a_stream_that_starts_at_latest_loses_no_later_message(spark_rocketmq: SparkRocketMQ) -> None:
    """A stream that starts at latest and fails in its first batch reads all later messages after a restart."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=2)
    fill(emulator, "orders", numbered(0, 20))
    stream = spark_rocketmq.stream_reader(topic="orders").load()
    failures = []

    def fail(batch: DataFrame, number: int) -> None:
        if batch.count():
            failures.append(number)
            raise RuntimeError("it fails")

    started = stream.writeStream.foreachBatch(fail).option("checkpointLocation", spark_rocketmq.checkpoint()).start()
    started.processAllAvailable()
    fill(emulator, "orders", numbered(20, 70))
    with pytest.raises(StreamingQueryException, match="it fails"):
        started.awaitTermination(int(SECONDS))
    fill(emulator, "orders", numbered(70, 100), 1)

    batches = spark_rocketmq.run(stream)

    assert failures == [1]
    assert numbers(row for rows in batches.values() for row in rows) == list(range(20, 100))


@pytest.mark.recovery
def test_a_running_stream_continues_after_a_restart_and_reads_new_queues(spark_rocketmq: SparkRocketMQ) -> None:
    """A running query continues after a broker restart, and reads new queues."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1)
    rows: list[Row] = []
    # Real brokers take seconds to restart.
    patient = {"fetchOffset.retryIntervalMs": 50, "fetchOffset.numRetries": 1200}
    writer = spark_rocketmq.stream("orders", **patient).writeStream
    writer = writer.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    query = writer.option("checkpointLocation", spark_rocketmq.checkpoint()).start()

    fill(emulator, "orders", numbered(0, 10))
    query.processAllAvailable()
    emulator.restart()
    fill(emulator, "orders", numbered(10, 20))
    query.processAllAvailable()
    emulator.topic("orders", queues=2)
    fill(emulator, "orders", numbered(20, 30), 1)
    query.processAllAvailable()
    query.stop()

    assert numbers(rows) == list(range(30))


def test_a_checkpoint_past_the_end_of_a_queue_fails_the_query(spark_rocketmq: SparkRocketMQ) -> None:
    """A checkpoint past the broker's messages fails the query; with failOnDataLoss=false it continues."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1)
    fill(emulator, "orders", numbered(0, 10))
    start = '{"orders":{"broker-a":{"0":10}}}'
    spark_rocketmq.run(spark_rocketmq.stream("orders", startingOffsets=start))
    offsets = Path(spark_rocketmq.checkpoint()) / "offsets" / "0"
    offsets.write_text(offsets.read_text().replace('"0": 10', '"0": 50'))
    (offsets.parent / ".0.crc").unlink()

    with pytest.raises(
        StreamingQueryException, match="queue 0 of topic orders on broker-a ends at 10, but was read up"
    ):
        spark_rocketmq.run(spark_rocketmq.stream("orders", startingOffsets=start))
    assert spark_rocketmq.run(spark_rocketmq.stream("orders", startingOffsets=start, failOnDataLoss=False)) == {}


@pytest.mark.recovery
def test_a_killed_worker_fails_the_query_and_loses_no_message(spark_rocketmq: SparkRocketMQ) -> None:
    """A killed Python worker fails the query, and the next run reads all messages once."""
    spark_rocketmq.emulator.topic("orders", queues=1)
    fill(spark_rocketmq.emulator, "orders", numbered(0, 100))
    marker = str(spark_rocketmq.folder / "killed")

    @F.udf(LongType())
    def deadly(offset: int) -> int:
        if offset == 50 and not os.path.exists(marker):
            Path(marker).touch()
            os.kill(os.getpid(), 9)
        return offset

    stream = spark_rocketmq.stream("orders").withColumn("same", deadly("queueOffset"))
    with pytest.raises(StreamingQueryException):
        spark_rocketmq.run(stream)

    assert numbers(row for rows in spark_rocketmq.run(stream).values() for row in rows) == list(range(100))


def test_a_progress_listener_commits_the_last_batch(spark_rocketmq: SparkRocketMQ) -> None:
    """A listener commits the last batch as well, while Spark's own commit comes one batch late or never."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1)
    emulator.group("readers")
    fill(emulator, "orders", numbered(0, 25))
    options = spark_rocketmq.options(topic="orders", consumerGroup="readers")
    listener = RocketMQProgressListener(options)
    spark_rocketmq.spark.streams.addListener(listener)
    try:
        spark_rocketmq.run(spark_rocketmq.stream("orders", maxOffsetsPerTrigger=10))
        given = source_options(options)
        deadline = time.monotonic() + SECONDS
        with Cluster(given) as cluster:
            route = cluster.route("orders")
            assert route is not None
            while (shown := cluster.group_offsets("readers", route.readable)) != {route.readable[0]: 25}:
                assert time.monotonic() < deadline, shown
                time.sleep(0.1)  # Spark notifies its listeners with a delay
    finally:
        spark_rocketmq.spark.streams.removeListener(listener)


def minutes(*numbers: float) -> list[bytes]:
    """Return bodies that are times in seconds, given in minutes."""
    return [b"%d" % (60 * number) for number in numbers]


@pytest.mark.recovery
def test_messages_later_than_the_watermark_are_in_no_window(spark_rocketmq: SparkRocketMQ) -> None:
    """Messages later than the watermark allows are in no window, also after a restart."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1)
    by_minute = (
        spark_rocketmq.stream("orders", maxOffsetsPerTrigger=3)
        .select(F.timestamp_seconds(F.col("body").cast("string").cast("long")).alias("at"))
        .withWatermark("at", "2 minutes")
        .groupBy(F.window("at", "1 minute").alias("minute"))
        .count()
    )
    question = by_minute.select((F.unix_timestamp("minute.start") / 60).cast("int").alias("minute"), "count")
    # Two minutes behind the tenth, windows before the eighth are closed; Spark detects late data one batch later.
    fill(emulator, "orders", minutes(0, 1, 10, 9, 10, 10, 0.5, 9, 10))
    before = spark_rocketmq.run(question)
    fill(emulator, "orders", minutes(2, 8.5, 30))

    after = spark_rocketmq.run(question)

    found = {row.minute: row["count"] for each in (before, after) for rows in each.values() for row in rows}
    assert found == {0: 1, 1: 1, 8: 1, 9: 2, 10: 4}


@pytest.mark.recovery
def test_delayed_and_transactional_messages_are_read_when_they_are_due(
    spark_rocketmq: SparkRocketMQ, tmp_path: Path
) -> None:
    """In three runs from one checkpoint each message is read once, in the run after it has become visible."""
    emulator = spark_rocketmq.emulator
    topic = emulator.topic("orders", queues=1)
    given = {"nameServer": emulator.namesrv, "topic": "orders", "txnLogPath": str(tmp_path / "log")}
    transactions = TransactionalStreamWriter(sink_options({**given, "deliveryGuarantee": "transactional"}))
    halves = transactions.store("q", 0, iter([pa.RecordBatch.from_pydict({"body": [b"2"]})]))
    topic.send(b"3", properties={"DELAY": "3"})
    topic.send(b"1")
    stream = spark_rocketmq.stream("orders")

    runs = [spark_rocketmq.run(stream)]
    transactions.commit([halves], 0)
    runs.append(spark_rocketmq.run(stream))
    emulator.clock.advance("11s")
    runs.append(spark_rocketmq.run(stream))

    assert [numbers(row for rows in run.values() for row in rows) for run in runs] == [[1], [2], [3]]


@pytest.mark.recovery
@pytest.mark.parametrize("fail", [True, False])
def test_unreadable_records_fail_the_query_and_are_not_skipped(spark_rocketmq: SparkRocketMQ, fail: bool) -> None:
    """Unreadable records fail the query with their position; its next run reads them and all others once."""
    emulator = spark_rocketmq.emulator
    if not isinstance(emulator, Emulator):
        pytest.skip("not applicable to a real broker: the gateway needs an emulator")
    emulator.topic("orders", queues=1)
    fill(emulator, "orders", numbered(0, 100))
    with TruncatingGateway(emulator, 64) as spoiler:
        stream = spark_rocketmq.stream("orders", nameServer=spoiler.namesrv, failOnDataLoss=fail)
        with pytest.raises(
            StreamingQueryException,
            match="queue 0 of topic orders on broker-a, offsets 64 to 96: the broker returned bytes that are no "
            "messages",
        ):
            spark_rocketmq.run(stream)
        spoiler.on = False
        batches = spark_rocketmq.run(stream)

    assert numbers(row for rows in batches.values() for row in rows) == list(range(100))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic": "nowhere", "fetchOffset.numRetries": 0}, "topic nowhere has no route"),
        ({"topic": "orders", "endingOffsets": "latest"}, "endingOffsets: for batches alone"),
        ({"topic": "orders", "startingOffsets": "group"}, "startingOffsets=group: no group is named"),
        ({"topic": "orders", "pulWindow": 3}, "pulwindow=3: a read has no such option; did you mean pullWindow"),
        ({"topic": "orders", "topics": "orders"}, "topic, topics: more than one is given"),
        (
            {"topic": "orders", "nameServer": "127.0.0.1:1", "fetchOffset.numRetries": 0},
            "no name server of option nameServer answers GET_ROUTEINFO_BY_TOPIC: 127.0.0.1:1",
        ),
        (
            {"topic": "orders", "startingOffsets": '{"orders":{"broker-a":{"0":99}}}'},
            "startingOffsets: queue 0 of topic orders on broker-a has offsets 0 to 0, not 99",
        ),
    ],
)
def test_an_invalid_stream_fails_at_its_start(
    spark_rocketmq: SparkRocketMQ, options: dict[str, Any], said: str
) -> None:
    """An invalid stream fails at its start with an error that names the option or topic."""
    spark_rocketmq.emulator.topic("orders", queues=1)

    with pytest.raises(Exception, match=said):
        spark_rocketmq.run(spark_rocketmq.stream_reader(**options).load())
