"""Tests of writes through a real session."""

from collections import Counter

import pytest
from many_messages import fill
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark_rocketmq.testing import SparkRocketMQ
from rocketmq_testkit.fixtures.inspect.messages import Message


def test_a_table_becomes_messages(spark_rocketmq: SparkRocketMQ) -> None:
    """A table with all columns becomes messages, whose properties name their task."""
    topic = spark_rocketmq.emulator.topic("orders", queues=2)
    rows = spark_rocketmq.spark.createDataFrame(
        [("hello", "new", "a b", {"colour": "blue"}, None, 1), ("world", None, None, None, "group", None)],
        "body string, tags string, keys string, properties map<string,string>, shardingKey string, queueId int",
    )

    spark_rocketmq.write(rows, topic="orders")

    hello, world = sorted(topic.messages, key=lambda message: message.body)
    assert (hello.body, hello.tag, hello.keys, hello.queue_id) == (b"hello", "new", ["a", "b"], 1)
    assert hello.properties["colour"] == "blue"
    assert (world.body, world.message_group) == (b"world", "group")
    assert hello.properties["SPARK_SEQ"].isdigit()
    assert len({hello.message_id, world.message_id}) == 2


@pytest.mark.parametrize("metadata", [False, True])
def test_a_frame_that_was_read_is_written_back_unchanged(spark_rocketmq: SparkRocketMQ, metadata: bool) -> None:
    """A frame that was read is written back unchanged with all columns, with and without the option `topic`."""
    emulator = spark_rocketmq.emulator
    topics = [emulator.topic(name, queues=2) for name in ("orders", "copies")]
    spark_rocketmq.write(everything(spark_rocketmq), topic="orders")
    read = spark_rocketmq.read("orders", includeMetadata=metadata)

    spark_rocketmq.write(read, topic="copies")
    spark_rocketmq.write(read)

    orders, copies = ([kept(message) for message in topic.messages] for topic in topics)
    assert len(copies) == 2
    assert Counter(orders) == Counter([*copies, *copies])
    assert Counter(row.flag for row in spark_rocketmq.read("copies").collect()) == Counter([7, 0])


def test_a_stream_that_was_read_is_written_unchanged(spark_rocketmq: SparkRocketMQ) -> None:
    """A stream with all metadata columns is written unchanged with half messages, including flags."""
    topics = [spark_rocketmq.emulator.topic(name, queues=2) for name in ("orders", "copies")]
    spark_rocketmq.write(everything(spark_rocketmq), topic="orders")
    stream = spark_rocketmq.stream("orders", includeMetadata=True)
    options = spark_rocketmq.options(
        topic="copies", deliveryGuarantee="transactional", txnLogPath=spark_rocketmq.checkpoint("transactions")
    )

    spark_rocketmq.finish(stream.writeStream.format("rocketmq").options(**options))

    orders, copies = (Counter(kept(message) for message in topic.messages) for topic in topics)
    assert orders == copies
    assert Counter(row.flag for row in spark_rocketmq.read("copies").collect()) == Counter([7, 0])


def everything(spark_rocketmq: SparkRocketMQ) -> DataFrame:
    """Create a row with all values that a sender can set, and one with only a body."""
    return spark_rocketmq.spark.sql(
        "select 'hello' as body, 'new' as tags, 'a b' as keys, map('colour', 'blue') as properties, 'g' as shardingKey,"
        " 1 as queueId, 7 as flag union all select 'world', null, null, null, null, null, null"
    )


def kept(message: Message) -> tuple[object, ...]:
    """Return the parts of a message that its copy shares."""
    own = tuple(sorted((name, text) for name, text in message.properties.items() if name == "colour"))
    place = message.queue_id if message.body == b"hello" else None
    return message.body, message.tag, tuple(message.keys), message.message_group, place, own


def test_many_rows_arrive_once(spark_rocketmq: SparkRocketMQ) -> None:
    """Many rows from several tasks arrive once, in batches."""
    topic = spark_rocketmq.emulator.topic("orders", queues=4)
    rows = spark_rocketmq.spark.range(0, 20_000, numPartitions=4).selectExpr("cast(id as string) as body")

    spark_rocketmq.write(rows, topic="orders", sendBatchSize=32)

    assert Counter(message.body for message in topic.messages) == Counter(b"%d" % at for at in range(20_000))


def test_a_stream_adds_query_and_batch_id_and_sends_nothing_again(spark_rocketmq: SparkRocketMQ) -> None:
    """A stream from topic to topic adds query and batch id to messages, and a second run sends nothing again."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=2)
    target = emulator.topic("copies", queues=2)
    for queue in (0, 1):
        fill(emulator, "orders", [b"%d-%d" % (queue, at) for at in range(100)], queue)
    stream = spark_rocketmq.stream("orders", maxOffsetsPerTrigger=120).select("body")
    writer = stream.writeStream.format("rocketmq").options(**spark_rocketmq.options(topic="copies", sendBatchSize=10))

    query = spark_rocketmq.finish(writer)
    spark_rocketmq.finish(writer)

    assert Counter(message.body for message in target.messages) == Counter(
        b"%d-%d" % (queue, at) for queue in (0, 1) for at in range(100)
    )
    assert {message.properties["SPARK_BATCH_ID"] for message in target.messages} == {"0", "1"}
    assert {message.properties["SPARK_QUERY_ID"] for message in target.messages} == {str(query.id)}


@pytest.mark.recovery
def test_a_batch_whose_messages_are_refused_is_sent_by_the_next_run(spark_rocketmq: SparkRocketMQ) -> None:
    """A query whose target topic is missing fails, and its next run sends the whole batch."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1)
    fill(emulator, "orders", [b"%d" % at for at in range(100)])
    stream = spark_rocketmq.stream("orders").select("body")
    writer = stream.writeStream.format("rocketmq").options(**spark_rocketmq.options(topic="copies"))

    with pytest.raises(StreamingQueryException, match="topic copies has no route for a write"):
        spark_rocketmq.finish(writer)
    target = emulator.topic("copies", queues=1)
    spark_rocketmq.finish(writer)

    assert {message.body for message in target.messages} == {b"%d" % at for at in range(100)}


@pytest.mark.recovery
def test_a_transactional_stream_shows_whole_batches(spark_rocketmq: SparkRocketMQ) -> None:
    """A transactional stream shows each message once; a batch that fails in one task leaves no messages behind."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=2)
    target = emulator.topic("copies", queues=2)
    for queue in (0, 1):
        fill(emulator, "orders", [b"%d-%d" % (queue, at) for at in range(50)], queue)
    stream = spark_rocketmq.stream("orders", maxOffsetsPerTrigger=60, minPartitions=2)
    options = spark_rocketmq.options(
        topic="copies", deliveryGuarantee="transactional", txnLogPath=spark_rocketmq.checkpoint("transactions")
    )
    bad = stream.selectExpr("if(queueId = 1 and queueOffset = 20, null, body) as body")
    good = stream.select("body")

    with pytest.raises(StreamingQueryException, match="body is null"):
        spark_rocketmq.finish(bad.writeStream.format("rocketmq").options(**options))
    nothing = target.messages
    spark_rocketmq.finish(good.writeStream.format("rocketmq").options(**options))

    assert nothing == []
    assert Counter(message.body for message in target.messages) == Counter(
        b"%d-%d" % (queue, at) for queue in (0, 1) for at in range(50)
    )


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ("'x' as bdy", {"topic": "orders"}, "column bdy: a write has no such column; did you mean body"),
        (
            "1 as body",
            {"topic": "orders"},
            "column body int: a write cannot have this type; it can be binary or string",
        ),
        ("'x' as body", {}, "topic: missing; a write has the option topic or a column topic"),
        ("'x' as body", {"topic": "orders", "pullWindow": "3"}, "pullwindow=3: a write has no such option"),
        ("'x' as body", {"topic": "orders", "nameServer": " "}, "nameServer= : expected host:port"),
        (
            "'x' as body",
            {"topic": "orders", "nameServer": "127.0.0.1:1", "fetchOffset.numRetries": "0"},
            "no name server of option nameServer answers GET_ROUTEINFO_BY_TOPIC: 127.0.0.1:1",
        ),
        (
            "'x' as body",
            {"topic": "orders", "txnLogPath": "/x"},
            "txnLogPath=/x: no effect with deliveryGuarantee=at-least-once",
        ),
        ("'x' as body", {"topic": "nowhere"}, "topic nowhere has no route for a write"),
        ("cast(null as string) as body", {"topic": "orders"}, "row 0 of a task: body is null"),
        ("'x' as body, cast(null as string) as topic", {}, "row 0 of a task: topic is null"),
        ("'x' as body, 7 as queueId", {"topic": "orders"}, "queueId is 7; topic orders has 2 queues .*drop..queueId"),
        (
            "'x' as body, 'g' as shardingKey, 'g' as messageGroup",
            {"topic": "orders"},
            "names of the same value; a write has one of them",
        ),
        (
            "'x' as body, 'n' as brokername",
            {"topic": "orders"},
            "column brokername: a write has no such column; did you mean brokerName",
        ),
    ],
)
def test_an_invalid_write_is_refused_before_anything_is_sent(
    spark_rocketmq: SparkRocketMQ, columns: str, options: dict[str, str], said: str
) -> None:
    """An invalid write is rejected before anything is sent, and nothing is stored."""
    topic = spark_rocketmq.emulator.topic("orders", queues=2)

    with pytest.raises(PySparkException, match=said):
        spark_rocketmq.write(spark_rocketmq.spark.sql(f"select {columns}"), **options)

    assert topic.messages == []


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ("1 as body", {}, "column body int: a write cannot have this type; it can be binary or string"),
        (
            "body",
            {"topic": "copies", "deliveryGuarantee": "transactional"},
            "deliveryGuarantee=transactional: no txnLogPath is given",
        ),
        (
            "body",
            {"topic": "copies", "sendWindw": 3},
            "sendwindw=3: a write has no such option; did you mean sendWindow",
        ),
    ],
)
def test_an_invalid_write_of_a_stream_is_refused_at_its_start(
    spark_rocketmq: SparkRocketMQ, columns: str, options: dict[str, object], said: str
) -> None:
    """An invalid write of a stream is rejected at its start, and nothing is stored."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1)
    target = emulator.topic("copies", queues=1)
    fill(emulator, "orders", [b"x"])
    stream = spark_rocketmq.stream("orders").selectExpr(columns)

    with pytest.raises(PySparkException, match=said):
        spark_rocketmq.finish(stream.writeStream.format("rocketmq").options(**spark_rocketmq.options(**options)))

    assert target.messages == []


def test_overwrites_and_transactional_batches_are_refused(spark_rocketmq: SparkRocketMQ) -> None:
    """A topic cannot be overwritten, and a batch cannot be transactional, because it has no number."""
    spark_rocketmq.emulator.topic("orders", queues=1)
    rows = spark_rocketmq.spark.sql("select 'x' as body")
    writer = rows.write.format("rocketmq").options(**spark_rocketmq.options(topic="orders"))

    with pytest.raises(PySparkException, match="a topic cannot be overwritten"):
        writer.mode("overwrite").save()
    with pytest.raises(PySparkException, match="deliveryGuarantee=transactional: for streams alone"):
        writer.options(deliveryGuarantee="transactional", txnLogPath="/tmp/x").mode("append").save()
