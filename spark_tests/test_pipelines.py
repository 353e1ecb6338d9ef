"""Tests of whole pipelines: with other consumers running, and with an audit of every message."""

import json
import time
from collections import Counter
from collections.abc import Callable

import pytest
from group_member import Member
from many_messages import fill
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark_rocketmq.audit import Event, EventKind, audit_events, audit_journals, events_of, write_lines
from pyspark_rocketmq.audit.rules import FAILURES
from pyspark_rocketmq.cluster.cluster import Cluster
from pyspark_rocketmq.options.options import source_options
from pyspark_rocketmq.reading.progress import RocketMQProgressListener
from pyspark_rocketmq.testing import SECONDS, SparkRocketMQ

QUEUES = 4


def numbered(low: int, high: int) -> list[bytes]:
    """Return numbers as bodies."""
    return [b"%d" % at for at in range(low, high)]


@pytest.mark.recovery
def test_consumers_that_join_and_leave_do_not_disturb_a_stream(spark_rocketmq: SparkRocketMQ) -> None:
    """Consumers that join and leave the stream's group, and rebalance between batches, do not disturb the stream."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=QUEUES)
    rows: list[Row] = []
    consumed: list[bytes] = []
    stream = spark_rocketmq.stream("orders", consumerGroup="shop")
    writer = stream.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    query = writer.option("checkpointLocation", spark_rocketmq.checkpoint()).start()

    def step(number: int, *members: Member) -> None:
        for queue in range(QUEUES):
            fill(emulator, "orders", numbered(number * 100 + queue * 25, number * 100 + queue * 25 + 25), queue)
        query.processAllAvailable()
        for member in members:
            consumed.extend(member.take())

    with Member(emulator, "shop", "orders", QUEUES, name="first") as first:
        first.rebalance(1)
        step(0, first)
        with Member(emulator, "shop", "orders", QUEUES, name="second") as second:
            first.rebalance(2)
            second.rebalance(2)
            step(1, first, second)
        first.rebalance(1)
        step(2, first)
    query.stop()

    assert sorted(int(row.body) for row in rows) == list(range(300))
    assert sorted(map(int, consumed)) == list(range(300))


def totals(orders: DataFrame) -> DataFrame:
    """Return the number of orders of each customer so far."""
    counts = orders.groupBy(F.col("body").cast("string").alias("customer")).count()
    return counts.select(F.to_json(F.struct("customer", "count")).alias("body"), F.col("customer").alias("shardingKey"))


def wait_for_progress(spark_rocketmq: SparkRocketMQ, group: str, topic: str) -> None:
    """Wait until the group is at the end of the topic: Spark notifies its listeners with a delay."""
    given = source_options(spark_rocketmq.options(topic=topic))
    deadline = time.monotonic() + SECONDS
    with Cluster(given) as cluster:
        route = cluster.route(topic)
        assert route is not None
        while cluster.group_offsets(group, route.readable) != cluster.max_offsets(route.readable):
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.recovery
def test_an_aggregation_between_topics_loses_nothing(spark_rocketmq: SparkRocketMQ) -> None:
    """An aggregation between topics loses nothing, as the auditor confirms both in process and as a job.

    Brokers restart and crash between two runs. If the events of one message are removed, the auditor finds it lost.
    """
    emulator = spark_rocketmq.emulator
    assert emulator.journal.dropped == 0
    emulator.topic("orders", queues=2)
    emulator.topic("totals", queues=2)
    customers = [b"ada", b"bob", b"eve"]
    listener = RocketMQProgressListener(spark_rocketmq.options(topic="orders", consumerGroup="totals-job"))
    spark_rocketmq.spark.streams.addListener(listener)
    stream = totals(spark_rocketmq.stream("orders", consumerGroup="totals-job", maxOffsetsPerTrigger=70))

    between: tuple[Callable[[], None], ...] = (
        emulator.restart,
        lambda: emulator.crash(power_loss=False),
        lambda: None,
    )

    def send(counts: DataFrame, number: int) -> None:
        spark_rocketmq.write(counts, topic="totals")

    try:
        for happens in between:
            for queue in (0, 1):
                fill(emulator, "orders", [customers[at % 3] for at in range(60)], queue)
            spark_rocketmq.finish(stream.writeStream.outputMode("update").foreachBatch(send))
            wait_for_progress(spark_rocketmq, "totals-job", "orders")
            happens()
    finally:
        spark_rocketmq.spark.streams.removeListener(listener)
    with Member(emulator, "billing", "totals", 2, name="biller") as biller:
        biller.rebalance(1)
        counts = [json.loads(body) for body in biller.take()]

    last = {each["customer"]: each["count"] for each in counts}
    assert last == {"ada": 120, "bob": 120, "eve": 120}
    events = events_of(emulator)
    audit = audit_events(events)
    audit.assert_none()
    assert Counter((each.topic, each.group) for each in audit.accounts) == {
        ("orders", "totals-job"): 360,
        ("totals", "billing"): len(counts),
    }
    assert by_spark(spark_rocketmq, events) == {}
    missing = next(each.message_id for each in events if each.kind is EventKind.ACKED and each.topic == "orders")
    without = [each for each in events if each.message_id != missing or each.kind is EventKind.STORED]
    assert by_spark(spark_rocketmq, without) == {"lost": 1}
    assert len(audit_events(without).of("lost")) == 1


def by_spark(spark_rocketmq: SparkRocketMQ, events: list[Event]) -> dict[str, int]:
    """Return how many accounts have each failure verdict according to the job."""
    journal = spark_rocketmq.folder / f"journal-{len(events)}.jsonl"
    with journal.open("w") as file:
        write_lines(events, file)
    with audit_journals(spark_rocketmq.spark, [str(journal)]) as audit:
        found = audit.accounts.select(F.explode("verdicts").alias("verdict")).groupBy("verdict").count().collect()
    return {row["verdict"]: row["count"] for row in found if row["verdict"] in FAILURES}
