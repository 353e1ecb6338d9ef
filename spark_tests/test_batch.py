"""Tests of batch reads through a real session."""

from datetime import UTC, datetime

import pytest
from many_messages import fill
from pyspark.errors import PySparkException
from pyspark.sql.types import IntegerType, StringType, StructField, StructType
from pyspark_rocketmq.testing import SparkRocketMQ


def test_a_read_of_a_topic_returns_every_message_once_in_nine_columns(spark_rocketmq: SparkRocketMQ) -> None:
    topic = spark_rocketmq.emulator.topic("orders", queues=3)
    for number in range(30):
        topic.send(b"%d" % number, tag="new", keys=[f"k{number}"], message_group=f"g{number % 5}")

    table = spark_rocketmq.read("orders")
    rows = table.collect()

    assert table.columns == [
        "topic",
        "flag",
        "body",
        "properties",
        "brokerName",
        "queueId",
        "queueOffset",
        "bornTimestamp",
        "storeTimestamp",
    ]
    stored = {(message.queue_id, message.queue_offset): message for message in topic.messages}
    assert {(row.queueId, row.queueOffset): bytes(row.body) for row in rows} == {
        place: message.body for place, message in stored.items()
    }
    assert len(rows) == 30
    assert {(row.topic, row.brokerName, row.flag) for row in rows} == {("orders", "broker-a", 0)}
    first = next(row for row in rows if bytes(row.body) == b"0")
    at = next(message for message in stored.values() if message.body == b"0").stored_at_ms
    assert first.storeTimestamp.replace(tzinfo=UTC) == datetime.fromtimestamp(at / 1000, UTC)


def test_a_read_returns_metadata_on_request_and_columns_of_a_schema(spark_rocketmq: SparkRocketMQ) -> None:
    """A read returns metadata on request; a schema selects and orders columns, and may request strings and maps."""
    topic = spark_rocketmq.emulator.topic("orders", queues=1)
    sent = topic.send(b"hello", tag="new", keys=["a", "b"], message_group="g", properties={"colour": "blue"})

    [row] = spark_rocketmq.read("orders", includeMetadata=True).collect()
    [chosen] = (
        spark_rocketmq.spark.read.format("rocketmq")
        .schema("properties map<string,string>, body string, queueOffset bigint")
        .options(**spark_rocketmq.options(topic="orders"))
        .load()
        .collect()
    )

    assert (row.msgId, row.tags, row.keys, row.messageGroup) == (sent.message_id, "new", "a b", "g")
    assert row.storeHost == spark_rocketmq.emulator.broker
    assert chosen.properties["colour"] == "blue"
    assert (chosen.body, chosen.queueOffset) == ("hello", 0)


def test_arrow_types_equal_those_of_the_conversion_by_spark() -> None:
    """The Arrow types of all columns equal those of Spark's own conversion, because Spark compares the two."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import _parse_datatype_string
    from pyspark_rocketmq.options.offsets import MessageQueue
    from pyspark_rocketmq.options.schema import COLUMNS
    from pyspark_rocketmq.reading.arrow_columns import ColumnMaker

    for column in COLUMNS.values():
        for kind in column.types:
            made = ColumnMaker(MessageQueue("t", "b", 0), ((column.name, kind),)).schema
            spark_type = _parse_datatype_string(f"{column.name} {kind}")
            assert isinstance(spark_type, StructType)
            assert made == to_arrow_schema(spark_type, timezone="UTC"), column


def test_a_large_topic_is_read_by_several_tasks(spark_rocketmq: SparkRocketMQ) -> None:
    """A large topic is split into several tasks, which return every message once."""
    spark_rocketmq.emulator.topic("orders", queues=2)
    for queue in (0, 1):
        fill(spark_rocketmq.emulator, "orders", [b"x" * 20] * 15000, queue)

    table = spark_rocketmq.read("orders", minPartitions=5, maxPartitions=5)

    assert table.rdd.getNumPartitions() == 5
    assert table.select("queueId", "queueOffset").distinct().count() == table.count() == 30000


def test_a_batch_with_numeric_offsets_returns_exactly_that_range(spark_rocketmq: SparkRocketMQ) -> None:
    """A batch with numeric offsets returns exactly that range, and an empty range returns nothing."""
    spark_rocketmq.emulator.topic("orders", queues=1)
    fill(spark_rocketmq.emulator, "orders", [b"%d" % at for at in range(100)])
    start, end = '{"orders":{"broker-a":{"0":10}}}', '{"orders":{"broker-a":{"0":20}}}'

    some = spark_rocketmq.read("orders", startingOffsets=start, endingOffsets=end)
    none = spark_rocketmq.read("orders", startingOffsets=end, endingOffsets=end)

    assert sorted(row.queueOffset for row in some.collect()) == list(range(10, 20))
    assert none.collect() == []


def test_a_tag_expression_in_the_options_filters_the_messages(spark_rocketmq: SparkRocketMQ) -> None:
    spark_rocketmq.emulator.topic("orders", queues=1)
    fill(spark_rocketmq.emulator, "orders", [b"%d" % at for at in range(1000)], tags=["a", "b", "c", "d"])

    found = spark_rocketmq.read("orders", subExpression="b||d").collect()

    assert sorted(int(row.body) for row in found) == list(range(1, 1000, 2))


def test_pushed_filters_do_not_change_the_result(spark_rocketmq: SparkRocketMQ) -> None:
    """Pushed filters on queues, offsets, times and tags reduce the read without changing its result."""
    spark = spark_rocketmq.spark
    spark_rocketmq.emulator.topic("orders", queues=2)
    fill(spark_rocketmq.emulator, "orders", [b"x"] * 500, 0, tags=["a", "b"])
    fill(spark_rocketmq.emulator, "orders", [b"x"] * 500, 1, tags=["a", "b"])
    question = "queueId = 1 and queueOffset >= 100 and queueOffset < 110 and tags in ('b', 'z')"
    plain = spark_rocketmq.read("orders", includeMetadata=True).where(question).collect()

    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        pushed = spark_rocketmq.read("orders", includeMetadata=True, filterPushdown=True).where(question).collect()
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")

    assert sorted(pushed) == sorted(plain)
    assert sorted(row.queueOffset for row in pushed) == [101, 103, 105, 107, 109]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic": "nowhere"}, "topic nowhere has no route"),
        ({"topic": "orders", "pulWindow": "1"}, "pulwindow=1: a read has no such option"),
        ({"topic": "orders", "startingOffsets": "latest"}, "startingOffsets=latest: leaves a batch with nothing"),
        (
            {"topic": "orders", "startingOffsets": '{"orders":{"broker-a":{"0":99}}}'},
            "queue 0 of topic orders on broker-a has offsets 0 to 0, not 99",
        ),
        (
            {"topic": "orders", "endingOffsets": '{"orders":{"broker-a":{"0":99}}}'},
            "endingOffsets: queue 0 of topic orders on broker-a has offsets 0 to 0, not 99",
        ),
        ({}, "topic: missing; a read has one of topic, topics, topicsPattern and assign"),
        ({"topic": "orders", "minPartitions": "4", "maxPartitions": "2"}, "minPartitions=4: more than maxPartitions"),
        (
            {"topic": "orders", "nameServer": "127.0.0.1:1", "fetchOffset.numRetries": "0"},
            "no name server of option nameServer answers GET_ROUTEINFO_BY_TOPIC: 127.0.0.1:1",
        ),
    ],
)
def test_an_invalid_read_fails_with_option_topic_and_queue(
    spark_rocketmq: SparkRocketMQ, options: dict[str, str], said: str
) -> None:
    spark_rocketmq.emulator.topic("orders", queues=1)

    with pytest.raises(PySparkException, match=said):
        spark_rocketmq.spark.read.format("rocketmq").options(**spark_rocketmq.options(**options)).load().collect()


def test_an_unsupported_schema_is_refused_with_the_column(spark_rocketmq: SparkRocketMQ) -> None:
    spark_rocketmq.emulator.topic("orders", queues=1)
    reader = spark_rocketmq.spark.read.format("rocketmq").options(**spark_rocketmq.options(topic="orders"))

    with pytest.raises(PySparkException, match="column flag string: of the wrong type; it can be int"):
        reader.schema(StructType([StructField("flag", StringType())])).load().collect()
    with pytest.raises(PySparkException, match="column offset: a read has no such column; did you mean offsetMsgId"):
        reader.schema(StructType([StructField("offset", IntegerType())])).load().collect()
