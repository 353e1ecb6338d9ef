"""Inspection and control of an emulator while an unmodified SDK, the official one for Python, is connected."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rocketmq.grpc_protocol import TransactionResolution
from rocketmq.v5.client import ClientConfiguration
from rocketmq.v5.client.client_configuration import Credentials
from rocketmq.v5.consumer import SimpleConsumer
from rocketmq.v5.model import Message
from rocketmq.v5.model.filter_expression import FilterExpression
from rocketmq.v5.producer import Producer
from rocketmq.v5.producer.producer import TransactionChecker
from rocketmq_testkit.fixtures import Emulator


class Undecided(TransactionChecker):  # type: ignore[misc]  # the SDK is published without types
    """An application that leaves every transaction unknown."""

    def check(self, message: Message) -> Any:
        return TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(topics=["orders:NORMAL:1", "payments:TRANSACTION:1"]) as emulator:
        yield emulator


@pytest.fixture
def configuration(emulator: Emulator) -> Any:
    return ClientConfiguration(emulator.endpoint, Credentials("", ""))


@pytest.fixture
def consumer(emulator: Emulator, configuration: Any) -> Iterator[Any]:
    emulator.group("warehouse", retry_max_times=1)
    made = SimpleConsumer(configuration, "warehouse", {"orders": FilterExpression("*")}, 2)
    made.startup()
    emulator.wait_for_consumer("warehouse")  # the SDK registers in the background
    yield made
    made.shutdown()


def test_a_consumer_is_listed_in_its_group_until_it_expires(emulator: Emulator, consumer: Any) -> None:
    """A consumer is listed with language, version and address until it expires, then in neither list."""
    [member] = emulator.groups["warehouse"].members
    assert member.id == consumer.client_id
    assert (member.protocol, member.language, member.consumer_groups) == ("grpc", "PYTHON", ("warehouse",))
    assert member.version == "5.1.2"
    assert member.address.startswith("127.0.0.1:")
    assert list(emulator.clients) == [consumer.client_id]

    member.expire()

    assert emulator.groups["warehouse"].members == []
    assert emulator.clients == {}


def test_offsets_and_lag_follow_acknowledgements(emulator: Emulator, consumer: Any) -> None:
    """Committed offset and lag follow acknowledgements, and a reset redelivers messages."""
    before = datetime.now(UTC) - timedelta(hours=1)
    orders = emulator.topic("orders")
    orders.send(b"two teas")
    orders.send(b"three teas")
    assert emulator.groups["warehouse"].lag == 2
    received = [*consumer.receive(1, 20), *consumer.receive(1, 20)]
    for message in received:
        consumer.ack(message)
    emulator.clock.advance("30s")
    group = emulator.groups["warehouse"]
    [queue] = group.offsets["orders"]
    assert (queue.broker, queue.queue_id, queue.committed, queue.first, queue.end) == ("broker-a", 0, 2, 0, 2)
    assert group.lag == 0

    for to, bodies in (("earliest", [b"two teas", b"three teas"]), (1, [b"three teas"]), (before, None)):
        emulator.reset_offset("warehouse", "orders", to=to)
        again = [message for _ in bodies or "12" for message in consumer.receive(1, 20)]
        assert [message.body for message in again] == (bodies or [b"two teas", b"three teas"])
        for message in again:
            consumer.ack(message)
    emulator.reset_offset("warehouse", "orders", to="earliest")
    emulator.reset_offset("warehouse", "orders", to="latest")
    assert consumer.receive(1, 20) == []


def test_failed_messages_are_listed_as_retries_and_as_dead_letters(emulator: Emulator, consumer: Any) -> None:
    """A message with one retry is listed in the retry topic first and then in the dead letter queue."""
    assert (emulator.retry_messages("warehouse"), emulator.dlq("warehouse")) == ([], [])
    emulator.topic("orders").send(b"two teas")
    assert [message.body for message in consumer.receive(1, 10)] == [b"two teas"]
    emulator.clock.advance("15s")
    assert [message.body for message in emulator.retry_messages("warehouse")] == [b"two teas"]
    assert [message.body for message in consumer.receive(1, 10)] == [b"two teas"]
    emulator.clock.advance("15s")
    assert consumer.receive(1, 10) == []  # the proxy moves an exhausted message at the next receive
    assert [message.body for message in emulator.dlq("warehouse")] == [b"two teas"]


def test_half_messages_are_committed_or_discarded_after_the_last_check(emulator: Emulator, configuration: Any) -> None:
    """A committed half message is delivered; one that stays unknown is discarded after the last check."""
    producer = Producer(configuration, ("payments",), checker=Undecided())
    producer.startup()
    try:
        transactions = {}
        for body in (b"paid", b"who knows"):
            message = Message()
            message.topic, message.body = "payments", body
            transactions[body] = producer.begin_transaction()
            producer.send(message, transactions[body])
        assert [each.body for each in emulator.half_messages("payments")] == [b"paid", b"who knows"]
        assert emulator.half_messages("orders") == []

        transactions[b"paid"].commit()
        assert [each.body for each in emulator.half_messages("payments")] == [b"who knows"]
        assert [each.body for each in emulator.messages("payments")] == [b"paid"]

        emulator.clock.advance_until(lambda: emulator.discarded_transactions(), wait="20s")
        assert [each.body for each in emulator.discarded_transactions("payments")] == [b"who knows"]
        assert emulator.half_messages() == []
        assert emulator.discarded_transactions("orders") == []
    finally:
        producer.shutdown()


def test_deleted_topic_and_group_are_not_listed_any_more(emulator: Emulator, consumer: Any) -> None:
    """A deleted topic disappears from brokers and name server; a deleted group loses its offsets.

    A group appears again with its consumer's next heartbeat.
    """
    orders = emulator.topic("orders")
    orders.send(b"two teas")
    consumer.ack(consumer.receive(1, 20)[0])

    emulator.delete_group("warehouse")
    emulator.delete_topic("orders")

    assert list(emulator.topics) == ["payments"]
    assert "warehouse" not in emulator.groups
    with pytest.raises(KeyError, match="topic='orders': there is no such topic"):
        _ = orders.messages
