"""Brokers that want to know who asks, and certificates that nobody vouches for."""

from collections.abc import Iterator

import pytest
from guard import Guard
from many_messages import fill
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark_rocketmq.cluster import Cluster, said
from pyspark_rocketmq.errors import ClusterError
from pyspark_rocketmq.options import source_options
from pyspark_rocketmq.testing import SparkRocketMQ
from real_broker import RealBroker
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.wire.command import RemotingCommand

RIGHT = {"accessKey": "spark", "secretKey": "spark-secret"}
WRONG = {
    "another secret": ({**RIGHT, "secretKey": "guessed"}, r"check signature failed\."),
    "another user": ({**RIGHT, "accessKey": "stranger"}, r"User:stranger is not found\."),
    "no keys": ({}, r"username cannot be null\."),
}
SEE = r" \(the options accessKey and secretKey say who asks\)"


@pytest.fixture
def guard(rocketmq: Emulator | RealBroker) -> Iterator[Guard]:
    """A broker with one user; a real one would have to be made for it."""
    if not isinstance(rocketmq, Emulator):
        pytest.skip("not applicable to a real broker: it would have to have a user")
    with Guard(rocketmq, {RIGHT["accessKey"]: RIGHT["secretKey"]}) as found:
        yield found


def test_who_has_the_right_keys_is_served(spark_rocketmq: SparkRocketMQ, guard: Guard) -> None:
    """A batch, a stream and both kinds of writes; every request is signed, that of planners and tasks alike."""
    emulator = spark_rocketmq.emulator
    copies, transactions = emulator.topic("copies", queues=2), emulator.topic("transactions", queues=2)
    emulator.topic("orders", queues=2)
    for queue in (0, 1):
        fill(emulator, "orders", [b"%d" % at for at in range(queue * 100, queue * 100 + 100)], queue)
    keys = {**RIGHT, "nameServer": guard.namesrv}
    half = {"deliveryGuarantee": "transactional", "txnLogPath": spark_rocketmq.checkpoint("log")}

    batch = spark_rocketmq.spark.read.format("rocketmq").options(topic="orders", **keys).load()
    batch.select("body").write.format("rocketmq").options(topic="copies", **keys).mode("append").save()
    stream = spark_rocketmq.stream("copies", **keys).select("body")
    spark_rocketmq.finish(stream.writeStream.format("rocketmq").options(topic="transactions", **half, **keys))

    assert sorted(int(message.body) for message in copies.messages) == list(range(200))
    assert sorted(int(message.body) for message in transactions.messages) == list(range(200))
    assert guard.refused == []


@pytest.mark.parametrize("wrong", WRONG)
def test_who_has_others_reads_nothing(spark_rocketmq: SparkRocketMQ, guard: Guard, wrong: str) -> None:
    """The error says what the broker said, of which queue, and which options are meant; it is not asked again."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1)
    keys, why = WRONG[wrong]

    with pytest.raises(
        PySparkException, match=rf"queue 0 of topic orders on broker-a: NO_PERMISSION \(16\): {why}{SEE}"
    ):
        spark_rocketmq.spark.read.format("rocketmq").options(
            topic="orders", nameServer=guard.namesrv, **keys
        ).load().collect()
    assert len(guard.refused) == 1


@pytest.mark.parametrize("wrong", WRONG)
def test_who_has_others_writes_nothing(spark_rocketmq: SparkRocketMQ, guard: Guard, wrong: str) -> None:
    """The same of a write, which is not tried again either."""
    topic = spark_rocketmq.emulator.topic("orders", queues=1)
    keys, why = WRONG[wrong]
    rows = spark_rocketmq.spark.sql("select 'x' as body")
    options = spark_rocketmq.options(topic="orders", nameServer=guard.namesrv, **keys)

    with pytest.raises(
        PySparkException,
        match=rf"queue 0 of topic orders on broker-a refuses a message: NO_PERMISSION \(16\): {why}{SEE}",
    ):
        rows.write.format("rocketmq").options(**options).mode("append").save()
    assert len(guard.refused) == 1
    assert topic.messages == []


def test_a_stream_goes_on_when_its_keys_are_right_again(spark_rocketmq: SparkRocketMQ, guard: Guard) -> None:
    """A secret that was changed fails the query; from its checkpoint it reads what it has not read, once."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1)
    keys = {**RIGHT, "nameServer": guard.namesrv}
    fill(emulator, "orders", [b"%d" % at for at in range(10)])
    first = spark_rocketmq.run(spark_rocketmq.stream("orders", **keys))
    fill(emulator, "orders", [b"%d" % at for at in range(10, 20)])

    with pytest.raises(StreamingQueryException, match=rf"check signature failed\.{SEE}"):
        spark_rocketmq.run(spark_rocketmq.stream("orders", **keys | {"secretKey": "changed"}))
    second = spark_rocketmq.run(spark_rocketmq.stream("orders", **keys))

    assert [[int(row.body) for rows in each.values() for row in rows] for each in (first, second)] == [
        list(range(10)),
        list(range(10, 20)),
    ]


@pytest.mark.parametrize(
    ("code", "remark", "meant"),
    [
        (16, "check signature failed.", True),
        (16, "User:u is disabled.", True),
        (16, "User:u has no permission to access Topic:t from 10.0.0.1, no matched policies.", True),
        (1, "org.apache.rocketmq.acl.common.AclException: No acl config for u, PlainPermissionManager.java:668", True),
        (16, "the broker[10.0.0.1] sending message is forbidden", False),
        (16, "subscription group no permission, readers", False),
        (1, "the disk is on fire", False),
    ],
)
def test_refusals_of_keys_are_told_from_others(code: int, remark: str, meant: bool) -> None:
    """As 4.9 and 5.3 word them; nobody is sent to his keys when a topic is read-only."""
    text = said(RemotingCommand(code, remark=remark))

    assert remark in text
    assert ("accessKey and secretKey" in text) == meant
    assert text.startswith(f"{ResponseCode(code).name} ({code}): ")


# certificates


def ask(emulator: Emulator, **options: str) -> None:
    """Have the name server asked for a topic."""
    given = {"nameServer": emulator.namesrv, "topic": "orders", "fetchOffset.retryIntervalMs": "60000", **options}
    with Cluster(source_options(given)) as cluster:
        cluster.route("orders")


def test_a_certificate_that_is_not_trusted_is_an_error_at_once(rocketmq: Emulator) -> None:
    """Waiting for another one would not help."""
    with pytest.raises(
        ClusterError,
        match=r"the certificate of 127\.0\.0\.1:\d+ is not trusted: .*certificate.*; option tlsCaFile names "
        "certificates to trust, tlsVerify=false trusts all",
    ):
        ask(rocketmq, tls="true")


@pytest.mark.rocketmq(tls_mode="enforcing")
def test_a_server_that_wants_tls_is_recognised(rocketmq: Emulator) -> None:
    """It closes the connection without a word, which is a hint."""
    with pytest.raises(ClusterError, match=r"option nameServer.*the other end closed the connection; does it want tls"):
        ask(rocketmq, **{"fetchOffset.numRetries": "0"})


@pytest.mark.rocketmq(tls_mode="disabled")
def test_a_server_without_tls_is_recognised(rocketmq: Emulator) -> None:
    """It does not answer the handshake."""
    with pytest.raises(ClusterError, match=r"option nameServer.*; does it serve TLS, as option tls=true says\?"):
        ask(rocketmq, tls="true", **{"fetchOffset.numRetries": "0"})
