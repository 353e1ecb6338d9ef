"""Assertions about messages that an unmodified SDK, the official one for Python, sends and receives."""

from collections.abc import Iterator
from typing import Any

import pytest
from rocketmq import ConsumeResult, MessageListener
from rocketmq.grpc_protocol import TransactionResolution
from rocketmq.v5.client import ClientConfiguration
from rocketmq.v5.client.client_configuration import Credentials
from rocketmq.v5.consumer import PushConsumer, SimpleConsumer
from rocketmq.v5.model import Message
from rocketmq.v5.model.filter_expression import FilterExpression
from rocketmq.v5.producer import Producer
from rocketmq.v5.producer.producer import TransactionChecker
from rocketmq_testkit import Emulator, json


class Undecided(TransactionChecker):  # type: ignore[misc]  # the SDK is published without types
    """An application that leaves every transaction unknown."""

    def check(self, message: Message) -> Any:
        return TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED


class Booking(MessageListener):  # type: ignore[misc]  # as above
    """A listener that fails for messages with the tag `bad`."""

    def consume(self, message: Any) -> Any:
        return ConsumeResult.FAILURE if message.tag == "bad" else ConsumeResult.SUCCESS


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(topics=["orders:NORMAL:1", "steps:FIFO:1", "payments:TRANSACTION:1", "later:DELAY:1"]) as emulator:
        yield emulator


@pytest.fixture
def configuration(emulator: Emulator) -> Any:
    return ClientConfiguration(emulator.endpoint, Credentials("", ""))


@pytest.fixture
def producer(configuration: Any) -> Iterator[Any]:
    made = Producer(configuration, ("orders", "steps", "payments", "later"), checker=Undecided())
    made.startup()
    yield made
    made.shutdown()


def message(topic: str, body: bytes, **fields: Any) -> Any:
    """Build a message of the SDK; `fields` are its attributes."""
    made = Message()
    made.topic, made.body = topic, body
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_sent_messages_are_named_by_receipt_key_tag_body_and_message_group(emulator: Emulator, producer: Any) -> None:
    """An assertion finds the stored message by the receipt of its send, and by the message object of the SDK."""
    sent = message("orders", b'{"id": 1001}', tag="tea", keys="1001")
    receipt = producer.send(sent)
    producer.send(message("steps", b"boil", message_group="table-7"))

    [by_receipt] = emulator.assert_sent(receipt)
    assert [by_receipt] == emulator.assert_sent(sent) == emulator.assert_sent("1001")
    assert [by_receipt] == emulator.assert_sent(topic="orders", tag="tea", body=json({"id": 1001}), times=1)
    emulator.assert_sent(message_group="table-7", times=1)
    with pytest.raises(AssertionError, match=r'^no message with topic="orders", tag="coffee" was sent; 1 message of '):
        emulator.assert_sent(topic="orders", tag="coffee")


def test_push_consumer_acknowledges_or_fails_messages(emulator: Emulator, configuration: Any, producer: Any) -> None:
    """Good messages are acknowledged, bad ones retried and then dead, and nothing is lost."""
    emulator.group("booking", retry_max_times=2)
    consumer = PushConsumer(configuration, "booking", Booking(), {"orders": FilterExpression("*")})
    consumer.startup()
    try:
        emulator.assert_consumers("booking", 1, within="10s")
        producer.send(message("orders", b"two teas", tag="good", keys="1"))
        producer.send(message("orders", b"nothing", tag="bad", keys="2"))

        emulator.assert_acknowledged("1", group="booking", within="10s")
        emulator.assert_retried("2", group="booking", times=2, within="1h")
        emulator.assert_in_dlq("2", group="booking", within="1h")
        emulator.assert_delivered("1", group="booking", client=consumer.client_id, times=1)
        emulator.assert_delivered("2", group="booking", times=3)
        emulator.assert_no_loss("orders", group="booking")
        emulator.assert_no_duplicates("orders", group="booking", tag="good")
        emulator.assert_subscriptions_agree("booking")
        emulator.assert_idle("booking", within="1h")
        emulator.assert_lag("booking", 0, within="1h")
        emulator.assert_no_errors()
        with pytest.raises(AssertionError, match=r"^group booking has not acknowledged 1 of 1 message of orders\n"):
            emulator.assert_acknowledged("2", group="booking")
    finally:
        consumer.shutdown()


def test_simple_consumer_receives_by_tag_and_in_order(emulator: Emulator, configuration: Any, producer: Any) -> None:
    """A message that the proxy filters out is not delivered, and its verdict names the filter."""
    emulator.group("kitchen", orderly=True)
    consumer = SimpleConsumer(configuration, "kitchen", {"steps": FilterExpression("hot")}, 2)
    consumer.startup()
    try:
        for body, tag in ((b"boil", "hot"), (b"cool", "cold"), (b"pour", "hot")):
            producer.send(message("steps", body, tag=tag, message_group="table-7"))
        while received := consumer.receive(1, 20):
            consumer.ack(received[0])
            if received[0].body == b"pour":
                break
        emulator.assert_ordered("steps", group="kitchen")
        emulator.assert_acknowledged(topic="steps", tag="hot", group="kitchen")
        emulator.assert_not_delivered(topic="steps", tag="cold")
        with pytest.raises(AssertionError, match=r"did not match tag `cold`"):
            emulator.assert_delivered(topic="steps", tag="cold", group="kitchen")
    finally:
        consumer.shutdown()


def test_transactions_are_committed_checked_and_rolled_back(emulator: Emulator, producer: Any) -> None:
    """Assertions find each transaction by the receipt of its send."""
    ended = {}
    for name in ("commit", "rollback", "neither"):
        transaction = producer.begin_transaction()
        ended[name] = producer.send(message("payments", name.encode()), transaction)
        if name != "neither":
            getattr(transaction, name)()

    emulator.assert_committed(ended["commit"])
    emulator.assert_rolled_back(ended["rollback"])
    emulator.assert_checked(ended["neither"], times=2, within="10m")
    with pytest.raises(AssertionError, match=r"^1 half message of payments is not committed\n"):
        emulator.assert_committed(ended["neither"])


def test_delayed_message_is_due_at_its_time(emulator: Emulator, producer: Any) -> None:
    due_s = emulator.clock.now_ms // 1000 + 3600
    receipt = producer.send(message("later", b"pay the baker", delivery_timestamp=due_s))
    emulator.assert_delayed_until(receipt, instant=due_s * 1000, tolerance="1s")
    emulator.assert_bodies("later", [])
    emulator.assert_bodies("later", ["pay the baker"], within="2h")
    emulator.assert_delayed_until(receipt, instant=due_s * 1000, tolerance="1s")


def test_group_with_a_member_exists_before_its_configuration(emulator: Emulator, configuration: Any) -> None:
    """Brokers create the configuration of a gRPC consumer's group with its first receive, after its registration."""
    consumer = SimpleConsumer(configuration, "fresh", {"orders": FilterExpression("*")}, 1)
    consumer.startup()
    try:
        emulator.assert_consumers("fresh", 1, within="10s")
        assert emulator.groups["fresh"].brokers == ()
        emulator.assert_subscriptions_agree("fresh")
        emulator.assert_idle("fresh")
        with pytest.raises(AssertionError, match="group fresh has a lag of 0, expected 1"):
            emulator.assert_lag("fresh", 1)
    finally:
        consumer.shutdown()
