"""Lost acknowledgements: the broker holds requests until their clients have given up.

The key `requestTimes` sets the duration on the broker's clock, which stands still until a test moves it.
"""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from many_messages import fill
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark_rocketmq.errors import ClusterError
from pyspark_rocketmq.options.options import sink_options
from pyspark_rocketmq.testing import SparkRocketMQ
from pyspark_rocketmq.writing.messages import BATCH_ID, PARTITION_ID, QUERY_ID, SEQ
from pyspark_rocketmq.writing.transactional_writer import TaskHalves, TransactionalStreamWriter
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.inspect.messages import Message
from rocketmq_testkit.fixtures.views.topic import Topic
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

MESSAGES = 60
WINDOW = 16
IMPATIENT = {"sendTimeoutMs": 200, "requestTimeoutMs": 30_000, "fetchOffset.retryIntervalMs": 1}
PATIENT = {"sendTimeoutMs": 60_000, "requestTimeoutMs": 30_000}
"""Timeouts: short if no response will come, long enough for a busy machine otherwise."""
NOT_REFUSED = {"brokerFastFailureEnable": False}
"""Requests that wait for a thread are executed eventually, however late."""
FROZEN = pytest.mark.rocketmq(time="frozen", config=NOT_REFUSED)


def hold_requests(emulator: Emulator, pools: str) -> None:
    """Make the broker hold requests for these times (`send=500`); an empty string holds none."""
    with RemotingClient(emulator.broker) as client:
        response = client.request(RequestCode.UPDATE_BROKER_CONFIG, {}, f"requestTimes={pools}\n".encode())
    assert response.code == 0, response.remark


def execute_held_requests(emulator: Emulator) -> None:
    """Execute the held requests, whose clients have gone, and hold no later ones."""
    emulator.clock.advance("5m")
    hold_requests(emulator, "")


def copying(spark_rocketmq: SparkRocketMQ) -> tuple[list[bytes], DataFrame, Topic]:
    """Return the bodies in a topic, its stream, and the empty topic to copy them to."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1)
    target = emulator.topic("copies", queues=2)
    bodies = [b"%d" % at for at in range(MESSAGES)]
    fill(emulator, "orders", bodies)
    return bodies, spark_rocketmq.stream("orders").select("body"), target


def place(message: Message) -> tuple[str, ...]:
    """Return the properties that identify a message of a query, which are the same for its copies."""
    return tuple(message.properties[name] for name in (QUERY_ID, BATCH_ID, PARTITION_ID, SEQ))


@FROZEN
@pytest.mark.recovery
@pytest.mark.parametrize("size", [1, 8])
def test_after_lost_acknowledgements_the_next_run_resends_the_batch(spark_rocketmq: SparkRocketMQ, size: int) -> None:
    """After lost acknowledgements the query fails, and its next run resends the batch; properties mark the copies."""
    emulator = spark_rocketmq.emulator
    bodies, stream, target = copying(spark_rocketmq)
    writer = stream.writeStream.format("rocketmq").options(
        **spark_rocketmq.options(topic="copies", sendBatchSize=size, sendWindow=WINDOW)
    )
    hold_requests(emulator, "send=500")

    with pytest.raises(StreamingQueryException, match=r"of topic copies on broker-a did not acknowledge .*, 3 times"):
        spark_rocketmq.finish(writer.options(**IMPATIENT))
    execute_held_requests(emulator)
    before = len(target.messages)
    spark_rocketmq.finish(writer.options(**PATIENT))

    copies = target.messages
    assert before >= WINDOW
    assert len(copies) == before + MESSAGES
    assert set(Counter(message.body for message in copies)) == set(bodies)
    first = {place(message): message.body for message in copies}
    assert sorted(first.values()) == sorted(bodies)
    assert all(first[place(message)] == message.body for message in copies)
    assert len({message.message_id for message in copies if message.body == b"0"}) == 2


@FROZEN
@pytest.mark.recovery
def test_half_messages_with_lost_acknowledgements_are_never_committed(spark_rocketmq: SparkRocketMQ) -> None:
    """After lost acknowledgements the query fails; its next run stores other half messages and commits only those."""
    emulator = spark_rocketmq.emulator
    bodies, stream, target = copying(spark_rocketmq)
    log = spark_rocketmq.checkpoint("transactions")
    options = spark_rocketmq.options(
        topic="copies", deliveryGuarantee="transactional", txnLogPath=log, sendWindow=WINDOW
    )
    writer = stream.writeStream.format("rocketmq").options(**options)
    hold_requests(emulator, "send=500")

    with pytest.raises(StreamingQueryException, match=r"of topic copies on broker-a did not acknowledge a message"):
        spark_rocketmq.finish(writer.options(**IMPATIENT))
    execute_held_requests(emulator)
    halves = len(emulator.messages("RMQ_SYS_TRANS_HALF_TOPIC"))
    before = target.messages
    spark_rocketmq.finish(writer.options(**PATIENT))

    assert halves >= WINDOW
    assert before == []
    assert Counter(message.body for message in target.messages) == Counter(bodies)


@FROZEN
@pytest.mark.recovery
def test_commits_with_lost_acknowledgements_are_repeated_without_loss(rocketmq: Emulator, tmp_path: Path) -> None:
    """After lost acknowledgements of commits the next run commits again: no message is lost, and some arrive twice.

    This is the duplicate that a transactional write can leave behind.
    """
    target = rocketmq.topic("orders", queues=2)

    def writer(milliseconds: int) -> TransactionalStreamWriter:
        given = {"nameServer": rocketmq.namesrv, "topic": "orders", "txnLogPath": str(tmp_path)}
        given |= {"deliveryGuarantee": "transactional", "fetchOffset.numRetries": "0"}
        return TransactionalStreamWriter(sink_options({**given, "requestTimeoutMs": str(milliseconds)}))

    bodies = [b"%d" % at for at in range(10)]
    task = writer(30_000).store("q", 0, iter([pa.RecordBatch.from_pydict({"body": bodies})]))
    hold_requests(rocketmq, "transaction=500")

    with pytest.raises(ClusterError, match="broker broker-a did not end transactions: no response in time"):
        writer(200).commit([task], 0)
    writer(30_000).abort([task], 0)
    execute_held_requests(rocketmq)
    after_a_while = Counter(message.body for message in target.messages)
    writer(30_000).commit([TaskHalves("q")], 0)

    assert after_a_while == Counter(bodies)
    assert set(Counter(message.body for message in target.messages).values()) <= {1, 2}
    assert {message.body for message in target.messages} == set(bodies)


@pytest.mark.rocketmq(config={"flushDiskType": "SYNC_FLUSH", "syncFlushTimeout": 0})
def test_a_flush_disk_timeout_counts_as_an_acknowledgement(spark_rocketmq: SparkRocketMQ) -> None:
    """A FLUSH_DISK_TIMEOUT response means that the message is stored, so it is not sent again."""
    target = spark_rocketmq.emulator.topic("orders", queues=2)
    rows = spark_rocketmq.spark.range(0, 100, numPartitions=2).selectExpr("cast(id as string) as body")

    spark_rocketmq.write(rows, topic="orders")

    assert Counter(message.body for message in target.messages) == Counter(b"%d" % at for at in range(100))
