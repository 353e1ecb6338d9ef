"""EndTransaction, checks of half messages, and RecallMessage."""

from typing import Any

import pytest
from grpc_harness import START_MS, Client, GrpcHarness, Stream, a_message, a_receive, a_send
from grpc_texts import PROXY_EXCEPTION, type_conflict
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

NOT_FOUND = (50001, PROXY_EXCEPTION + "cannot found transaction data")


@pytest.fixture
def harness() -> GrpcHarness:
    config = BrokerConfig(transaction_check_interval=10_000, transaction_time_out=1_000, recall_message_enable=True)
    harness = GrpcHarness(config)
    harness.topic("T", kind="TRANSACTION")
    harness.topic("D", kind="DELAY")
    harness.topic("N")
    return harness


def half(client: Client, transaction_id: str = "tx-1", body: bytes = b"half") -> None:
    """Send a half message."""
    message = a_message("T", body, message_id=transaction_id, message_type=pb.TRANSACTION)
    (entry,) = client.ask("SendMessage", a_send(message)).entries
    assert (entry.transaction_id, entry.message_id) == (transaction_id, transaction_id)


def end(client: Client, transaction_id: str = "tx-1", resolution: int = pb.COMMIT, **fields: Any) -> tuple[int, str]:
    """End a transaction."""
    topic = fields.pop("topic", "T")
    request = sv.EndTransactionRequest(
        topic=pb.Resource(name=topic), transaction_id=transaction_id, message_id=transaction_id, **fields
    )
    request.resolution = resolution  # type: ignore[assignment]  # open enum
    status = client.ask("EndTransaction", request).status
    return status.code, status.message


def visible(harness: GrpcHarness, topic: str = "T") -> list[bytes]:
    """Return the messages that a new group receives."""
    return harness.consumer("reader", "readers", topic).receive(a_receive(topic, "readers")).bodies


class TestEndTransaction:
    """A producer ends its transactions."""

    @pytest.mark.parametrize("source", [0, pb.SOURCE_CLIENT, pb.SOURCE_SERVER_CHECK])
    def test_a_commit_makes_the_message_visible(self, harness: GrpcHarness, source: int) -> None:
        """A committed message becomes visible for any source in the request. Before that it is invisible."""
        producer = harness.producer("p", "T")
        half(producer)
        assert visible(harness) == []
        assert end(producer, source=source) == (20000, "OK")
        (message,) = harness.consumer("late", "late").receive(a_receive(group="late")).messages
        assert (message.body, message.system_properties.message_type) == (b"half", pb.TRANSACTION)
        assert message.user_properties["__transactionId__"] == "tx-1"

    def test_a_rolled_back_message_is_neither_delivered_nor_checked(self, harness: GrpcHarness) -> None:
        producer = harness.client("p")
        stream = producer.send_settings(publishing("T"))
        half(producer)
        assert end(producer, resolution=pb.ROLLBACK) == (20000, "OK")
        harness.advance(60_000)
        assert visible(harness) == []
        assert checks(stream) == []

    def test_a_second_end_of_a_transaction_is_rejected(self, harness: GrpcHarness) -> None:
        """The first end, with any resolution and from any client, consumes the transaction id."""
        producer = harness.producer("p", "T")
        for number, resolution in enumerate((pb.COMMIT, pb.ROLLBACK, 0, 9)):
            half(producer, f"tx-{number}")
            assert end(harness.client("other"), f"tx-{number}", resolution) == (20000, "OK")
            assert end(producer, f"tx-{number}") == NOT_FOUND
        assert visible(harness) == [b"half"]

    def test_a_transaction_can_be_ended_for_thirty_seconds(self, harness: GrpcHarness) -> None:
        """A transaction can be ended for thirty seconds and not longer."""
        client = harness.client()
        half(client, "in-time")
        half(client, "late")
        harness.advance(30_000)
        assert end(client, "in-time") == (20000, "OK")
        harness.advance(1)
        assert end(client, "late") == NOT_FOUND

    @pytest.mark.parametrize(("transaction_id", "topic"), [("unknown", "T"), ("tx-1", "N"), ("tx-1", "nowhere")])
    def test_the_end_of_an_unknown_transaction_is_rejected(
        self, harness: GrpcHarness, transaction_id: str, topic: str
    ) -> None:
        """The end of an unknown transaction id, or with another topic than that of the message, is rejected."""
        half(harness.client())
        assert end(harness.client(), transaction_id, topic=topic) == NOT_FOUND

    @pytest.mark.parametrize("transaction_id", ["", "  "])
    def test_an_empty_transaction_id_returns_invalid_transaction_id(
        self, harness: GrpcHarness, transaction_id: str
    ) -> None:
        assert end(harness.client(), transaction_id) == (40008, "transaction id cannot be empty")


def checks(stream: Stream) -> list[sv.RecoverOrphanedTransactionCommand]:
    """Return the transaction checks sent on a stream."""
    return [
        command.recover_orphaned_transaction_command
        for command in stream.commands
        if command.HasField("recover_orphaned_transaction_command")
    ]


class TestChecks:
    """Transaction checks of the broker."""

    def test_a_pending_half_message_is_checked_on_its_producers_newest_stream(self, harness: GrpcHarness) -> None:
        """A check of a pending half message is sent on the newest stream of a producer of its topic.

        Its message has no receipt handle.
        """
        producer = harness.client("p")
        old, new = producer.send_settings(publishing("T")), producer.send_settings(publishing("T"))
        bystander = harness.client("b").send_settings(publishing("N"))
        half(producer)
        harness.advance(10_000)
        assert checks(old) == checks(bystander) == []
        check = checks(new)[0]
        assert check.transaction_id == "tx-1"
        assert (check.message.topic.name, check.message.body) == ("T", b"half")
        system = check.message.system_properties
        assert (system.message_id, system.message_type, system.delivery_attempt) == ("tx-1", pb.TRANSACTION, 1)
        assert not system.HasField("receipt_handle")
        assert dict(check.message.user_properties) == {"__transactionId__": "tx-1", "TRANSACTION_CHECK_TIMES": "1"}

    def test_a_late_check_allows_the_transaction_to_be_ended_for_thirty_seconds(self, harness: GrpcHarness) -> None:
        """After a check the transaction can be ended for 30 s, even if the check comes after the first 30 s."""
        harness.broker.config.transaction_time_out = 60_000
        producer = harness.client("p")
        stream = producer.send_settings(publishing("T"))
        half(producer)
        harness.advance(59_999)
        assert end(producer, source=pb.SOURCE_CLIENT) == NOT_FOUND
        producer.ask("Heartbeat", sv.HeartbeatRequest())
        harness.advance(15_000)
        assert checks(stream)
        assert end(producer, source=pb.SOURCE_SERVER_CHECK) == (20000, "OK")
        assert visible(harness) == [b"half"]

    def test_a_producer_without_a_stream_gets_no_check(self, harness: GrpcHarness) -> None:
        """A producer without a stream gets no check, and gets one after it opens a stream."""
        producer = harness.client("p")
        first = producer.send_settings(publishing("T"))
        half(producer)
        first.call.cancel()
        harness.advance(10_000)
        assert checks(first) == []
        second = producer.send_settings(publishing("T"))
        harness.advance(10_000)
        assert checks(second)


class TestRecall:
    """Recalls of timed messages."""

    def send(self, harness: GrpcHarness, delay_ms: int = 5_000) -> str:
        message = a_message("D", b"later", message_id="m-1", deliver_ms=START_MS + delay_ms)
        (entry,) = harness.client().ask("SendMessage", a_send(message)).entries
        handle: str = entry.recall_handle
        return handle

    def recall(self, harness: GrpcHarness, handle: str, topic: str = "D") -> tuple[int, str, str]:
        request = sv.RecallMessageRequest(topic=pb.Resource(name=topic), recall_handle=handle)
        response = harness.client().ask("RecallMessage", request)
        return response.status.code, response.status.message, response.message_id

    def test_a_timed_message_arrives_at_its_time(self, harness: GrpcHarness) -> None:
        """A timed message arrives at its time and shows its delivery timestamp."""
        self.send(harness)
        harness.advance(4_000)
        assert visible(harness, "D") == []
        harness.advance(3_000)
        (message,) = harness.consumer("c", "G", "D").receive(a_receive("D")).messages
        assert message.system_properties.delivery_timestamp.ToMilliseconds() == START_MS + 5_000
        assert message.system_properties.message_type == pb.DELAY
        assert dict(message.user_properties) == {}

    def test_a_message_in_the_past_arrives_at_once(self, harness: GrpcHarness) -> None:
        """A message with a time in the past is delivered at once and has no recall handle."""
        assert self.send(harness, -5_000) == ""
        assert visible(harness, "D") == [b"later"]

    def test_a_recalled_message_never_arrives(self, harness: GrpcHarness) -> None:
        """A recalled message is never delivered. A second recall succeeds, and the response has the message id."""
        handle = self.send(harness)
        for text in (handle, handle, handle.rstrip("=")):
            assert self.recall(harness, text) == (20000, "OK", "m-1")
        harness.advance(20_000)
        assert visible(harness, "D") == []

    @pytest.mark.parametrize("handle", ["", "garbage", "djEgRA==", "é", "_____", "djIgRCBicm9rZXItYSAxIG0tMQ=="])
    def test_an_invalid_recall_handle_is_rejected(self, harness: GrpcHarness, handle: str) -> None:
        """An invalid handle is rejected: no base64, too few fields, another version."""
        assert self.recall(harness, handle) == (50001, PROXY_EXCEPTION + "recall handle is invalid", "")

    @pytest.mark.parametrize(("topic", "expected"), [("N", "NORMAL"), ("T", "TRANSACTION"), ("nowhere", "UNSPECIFIED")])
    def test_a_recall_for_a_topic_of_another_type_is_rejected(
        self, harness: GrpcHarness, topic: str, expected: str
    ) -> None:
        """A recall for a topic of another type returns MESSAGE_PROPERTY_CONFLICT_WITH_TYPE."""
        assert self.recall(harness, "x", topic) == (40014, type_conflict(expected, "DELAY"), "")

    def test_a_recall_handle_of_another_topic_is_rejected(self, harness: GrpcHarness) -> None:
        """A handle of another topic is rejected with the broker's remark."""
        handle = self.send(harness)
        harness.topic("D2", kind="DELAY")
        expected = (50001, PROXY_EXCEPTION + "recall failed, topic not match", "")
        assert self.recall(harness, handle, "D2") == expected

    def test_a_delivered_message_cannot_be_recalled(self, harness: GrpcHarness) -> None:
        handle = self.send(harness)
        harness.advance(20_000)
        assert self.recall(harness, handle) == (50001, PROXY_EXCEPTION + "recall failed, timestamp invalid", "")

    def test_a_recall_on_a_broker_that_forbids_it_is_rejected(self) -> None:
        """A recall on a broker that forbids it is rejected, although the send returned a handle."""
        harness = GrpcHarness(BrokerConfig(recall_message_enable=False))
        harness.topic("D", kind="DELAY")
        handle = self.send(harness)
        assert handle
        expected = (50001, PROXY_EXCEPTION + "recall failed, operation is forbidden", "")
        assert self.recall(harness, handle) == expected
