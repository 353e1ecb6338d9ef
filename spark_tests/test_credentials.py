"""Tests against brokers that check credentials, and servers whose certificates are not trusted."""

from collections.abc import Iterator

import pytest
from guard import Guard
from many_messages import fill
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark_rocketmq.cluster.cluster import Cluster, describe_error
from pyspark_rocketmq.errors import ClusterError
from pyspark_rocketmq.options.options import source_options
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
SEE = r" \(check the options accessKey and secretKey\)"


@pytest.fixture
def guard(rocketmq: Emulator | RealBroker) -> Iterator[Guard]:
    """A broker with one user; real brokers are skipped, because they would need that user."""
    if not isinstance(rocketmq, Emulator):
        pytest.skip("not applicable to a real broker: it would have to have a user")
    with Guard(rocketmq, {RIGHT["accessKey"]: RIGHT["secretKey"]}) as found:
        yield found


def test_reads_and_writes_with_the_right_keys_succeed(spark_rocketmq: SparkRocketMQ, guard: Guard) -> None:
    """A batch, a stream and both kinds of writes succeed with valid credentials; every request is signed."""
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
def test_a_read_with_wrong_keys_fails_without_a_retry(spark_rocketmq: SparkRocketMQ, guard: Guard, wrong: str) -> None:
    """A read with invalid credentials fails without a retry; the error names reason, queue and options."""
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
def test_a_write_with_wrong_keys_stores_nothing(spark_rocketmq: SparkRocketMQ, guard: Guard, wrong: str) -> None:
    """A write with invalid credentials fails without a retry, and stores nothing."""
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


def test_a_stream_continues_from_its_checkpoint_with_the_right_keys(
    spark_rocketmq: SparkRocketMQ, guard: Guard
) -> None:
    """A changed secret fails the query; with the right one it continues from its checkpoint without duplicates."""
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
def test_only_errors_about_credentials_get_a_hint_about_the_options(code: int, remark: str, meant: bool) -> None:
    """Errors about credentials, in the words of 4.9 and 5.3, get a hint about the options; other errors do not."""
    text = describe_error(RemotingCommand(code, remark=remark))

    assert remark in text
    assert ("accessKey and secretKey" in text) == meant
    assert text.startswith(f"{ResponseCode(code).name} ({code}): ")


# --- certificates


def ask(emulator: Emulator, **options: str) -> None:
    """Request a topic's route from the name server."""
    given = {"nameServer": emulator.namesrv, "topic": "orders", "fetchOffset.retryIntervalMs": "60000", **options}
    with Cluster(source_options(given)) as cluster:
        cluster.route("orders")


def test_an_untrusted_certificate_fails_at_once(rocketmq: Emulator) -> None:
    """An untrusted certificate fails at once, because a retry would not help."""
    with pytest.raises(
        ClusterError,
        match=r"the certificate of 127\.0\.0\.1:\d+ is not trusted: .*certificate.*; option tlsCaFile names "
        "certificates to trust, tlsVerify=false trusts all",
    ):
        ask(rocketmq, tls="true")


@pytest.mark.rocketmq(tls_mode="enforcing")
def test_the_error_of_a_server_that_requires_tls_suggests_the_option(rocketmq: Emulator) -> None:
    """A server that requires TLS closes the connection silently, and the error suggests tls=true."""
    with pytest.raises(
        ClusterError, match=r"option nameServer.*the other end closed the connection; if it requires TLS"
    ):
        ask(rocketmq, **{"fetchOffset.numRetries": "0"})


@pytest.mark.rocketmq(tls_mode="disabled")
def test_the_error_of_a_server_without_tls_suggests_that_it_has_none(rocketmq: Emulator) -> None:
    """A server without TLS does not answer the handshake, and the error suggests that it serves no TLS."""
    with pytest.raises(ClusterError, match=r"option nameServer.*; does it serve TLS, as option tls=true says\?"):
        ask(rocketmq, tls="true", **{"fetchOffset.numRetries": "0"})
