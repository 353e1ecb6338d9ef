"""AckMessage, ChangeInvisibleDuration and ForwardMessageToDeadLetterQueue with valid, invalid and old handles."""

import pytest
from grpc_harness import START_MS, Client, GrpcHarness, a_change, a_forward, a_message, a_receive, a_send, an_ack
from grpc_texts import EXPIRED, PROXY_EXCEPTION, short_handle
from rocketmq_testkit.grpc_v2.convert.receipt_handle import ReceiptHandle

NOT_A_NUMBER = (
    'For input string: "{}". NumberFormatException.'
    " java.base/java.lang.NumberFormatException.forInputString(NumberFormatException.java:67)"
)
GARBAGE = {
    "garbage": short_handle(1),
    "": short_handle(1),
    "0 1 2 3 0 broker-a 0": short_handle(7),
    "0 1 2 3 0 broker-a 0   ": short_handle(7),
    "x 1 2 3 0 broker-a 0 0": NOT_A_NUMBER.format("x"),
    "0 1 2 3 0 broker-a 0 ": short_handle(7),
    "0 1 2 3 0 broker-a 0 0 y": NOT_A_NUMBER.format("y"),
    "0 1  3 0 broker-a 0 0": NOT_A_NUMBER.format(""),
    "0 1 2 3 0 broker-a 0 9223372036854775808": NOT_A_NUMBER.format("9223372036854775808"),
    "0 1 2 2147483648 0 broker-a 0 0": NOT_A_NUMBER.format("2147483648"),
    "0 1 2 3 0 broker-a 0 1_0": NOT_A_NUMBER.format("1_0"),
    "0 1 2 3 0 broker-a 0 \u0665": NOT_A_NUMBER.format("\u0665"),
}


@pytest.fixture
def client(harness: GrpcHarness) -> Client:
    """Return a consumer of topic T, which has ten messages in one queue."""
    harness.topic()
    for number in range(10):
        body = str(number).encode()
        assert harness.client().ask("SendMessage", a_send(a_message(body=body, message_id=f"m{number}"))).entries
    return harness.consumer()


def taken(client: Client, count: int = 1, **options: object) -> list[str]:
    """Return the handles of messages received with an invisible duration of 10 s."""
    return client.receive(a_receive(batch=count, **options)).handles  # type: ignore[arg-type]


def changed(handle: str, **fields: object) -> str:
    """Return a handle with changed fields."""
    return ReceiptHandle.parse(handle)._replace(**fields).encode()  # type: ignore[arg-type]


def acked(client: Client, *handles: str, **names: str) -> list[tuple[int, str]]:
    """Return the overall status, then the status of each entry."""
    response = client.ask("AckMessage", an_ack(*handles, **names))
    assert [entry.receipt_handle for entry in response.entries] == list(handles)
    assert [entry.message_id for entry in response.entries] == [f"id-{handle}" for handle in handles]
    return [(s.code, s.message) for s in (response.status, *(entry.status for entry in response.entries))]


OK = (20000, "OK")


class TestAck:
    """AckMessage."""

    def test_acknowledged_messages_are_not_redelivered(self, harness: GrpcHarness, client: Client) -> None:
        """Acknowledged messages are not redelivered; unacknowledged ones of the same batch are."""
        handles = taken(client, 10)
        assert acked(client, *handles[:8]) == [OK] * 9
        harness.advance(14_000)
        assert sorted(client.receive(a_receive()).bodies) == [b"8", b"9"]

    def test_a_repeated_or_forged_acknowledgement_returns_ok(self, harness: GrpcHarness, client: Client) -> None:
        """A repeated acknowledgement or one with a forged handle returns OK, for any client and any broker name."""
        (handle,) = taken(client)
        forged = [
            changed(handle, start_offset=7),
            changed(handle, revive_queue_id=50),
            changed(handle, pop_time=START_MS + 1),
            changed(handle, broker_name="nobody"),
            changed(handle, topic_type="9"),
            handle.rpartition(" ")[0],
            f"{handle} 0",
        ]
        for text in (handle, handle, *forged):
            assert acked(client, text) == [OK, OK], text
        assert acked(client, handle, handle) == [OK] * 3
        assert acked(harness.client("nobody"), handle) == [OK, OK]
        assert acked(client, handle, group="unknown") == [OK, OK]

    @pytest.mark.parametrize("text", GARBAGE)
    def test_an_ack_with_an_invalid_handle_returns_upstreams_exception_text(self, client: Client, text: str) -> None:
        """Its entry has upstream's exception text, and the overall status text is the name of the code."""
        assert acked(client, text) == [(50001, "INTERNAL_SERVER_ERROR"), (50001, GARBAGE[text])]

    @pytest.mark.parametrize(
        "fields", [{"queue_id": 99}, {"offset": 10}, {"offset": -1}, {"topic_type": "1"}, {"topic_type": "2"}]
    )
    def test_an_ack_of_an_unknown_queue_offset_or_retry_topic_is_rejected(
        self, client: Client, fields: dict[str, object]
    ) -> None:
        (handle,) = taken(client)
        expected = [(50001, "INTERNAL_SERVER_ERROR"), (50001, "ack failed: status is abnormal")]
        fields = {"offset": 11} if fields == {"offset": 10} else fields
        assert acked(client, changed(handle, **fields)) == expected

    def test_an_ack_for_another_or_unknown_topic_is_rejected(self, harness: GrpcHarness, client: Client) -> None:
        (handle,) = taken(client)
        harness.topic("U")
        for topic in ("U", "nowhere"):
            code, text = acked(client, changed(handle, offset=5), topic=topic)[1]
            assert (code, text) == (50001, "ack failed: status is abnormal")

    def test_an_ack_with_an_expired_handle_is_rejected(self, harness: GrpcHarness, client: Client) -> None:
        """A handle is rejected from the millisecond at which its invisible duration ends."""
        (handle,) = taken(client)
        harness.advance(9_999)
        assert acked(client, handle) == [OK, OK]
        harness.advance(1)
        assert acked(client, handle) == [(40013, "INVALID_RECEIPT_HANDLE"), (40013, EXPIRED)]
        assert acked(client, changed(handle, invisible_ms=0))[1] == (40013, EXPIRED)

    def test_an_ack_with_different_outcomes_returns_multiple_results(self, client: Client) -> None:
        """Entries with different outcomes return MULTIPLE_RESULTS, and each entry has its own status."""
        (handle,) = taken(client)
        assert [code for code, _ in acked(client, handle, "garbage")] == [30000, 20000, 50001]
        assert acked(client, handle, "garbage")[0] == (30000, "MULTIPLE_RESULTS")

    def test_an_ack_without_entries_is_rejected(self, client: Client) -> None:
        assert acked(client) == [(50001, "ack message result is empty")]

    def test_in_an_ordered_group_a_stale_handle_acknowledges_nothing(
        self, harness: GrpcHarness, client: Client
    ) -> None:
        """In an ordered group a stale handle does nothing, and an offset outside the batch is rejected."""
        harness.group("GF", consume_message_orderly=True)
        fifo = harness.consumer("fifo", "GF")
        (handle,) = taken(fifo, group="GF")
        assert acked(fifo, changed(handle, offset=5), group="GF")[1] == (50001, "ack failed: status is abnormal")
        assert acked(fifo, handle, group="GF") == [OK, OK]
        assert acked(fifo, handle, group="GF") == [OK, OK]
        assert taken(fifo, group="GF")[0].split(" ")[7] == "1"


@pytest.mark.parametrize("queue_id", [0, 1, 2])
def test_a_handle_without_the_commit_log_offset_acknowledges_its_message(harness: GrpcHarness, queue_id: int) -> None:
    """A handle of eight fields acknowledges its message in any queue. The other messages are redelivered."""
    harness.topic(queues=3)
    for queue in range(3):
        harness.store(str(queue).encode(), queue=queue)
    consumer = harness.consumer()
    handles = consumer.receive(a_receive()).handles
    (handle,) = (each for each in handles if each.split(" ")[6] == str(queue_id))
    short = handle.rpartition(" ")[0]
    assert ReceiptHandle.parse(short) == ReceiptHandle.parse(handle)._replace(commit_log_offset=-1)
    assert acked(consumer, short) == [OK, OK]
    harness.advance(14_000)
    left = {str(queue).encode() for queue in range(3)} - {str(queue_id).encode()}
    assert set(consumer.receive(a_receive()).bodies) == left


class TestChange:
    """ChangeInvisibleDuration."""

    @pytest.mark.parametrize(
        ("asked_ms", "field"), [(1, "1"), (5_000, "5000"), (43_200_000, "43200000"), (0, "0"), (None, "0")]
    )
    def test_a_changed_handle_starts_at_its_own_offset_and_the_time_of_the_change(
        self, harness: GrpcHarness, client: Client, asked_ms: int | None, field: str
    ) -> None:
        """The new handle has nine fields.

        Its start offset is the message's own offset, its pop time that of the change. Queue and broker stay the same.
        """
        *_, handle = taken(client, 3)
        harness.advance(1_000)
        response = client.ask("ChangeInvisibleDuration", a_change(handle, asked_ms))
        assert (response.status.code, response.status.message) == OK
        old, new = handle.split(" "), response.receipt_handle.split(" ")
        assert new == [old[7], str(START_MS + 1_000), field, *old[3:]]

    def test_only_the_changed_handle_is_valid_for_the_new_duration(self, harness: GrpcHarness, client: Client) -> None:
        """The old handle is rejected; an acknowledgement with the new one prevents the redelivery."""
        client.ask("AckMessage", an_ack(*taken(client, 9)))
        (handle,) = taken(client)
        harness.advance(9_000)
        new = client.ask("ChangeInvisibleDuration", a_change(handle, 20_000)).receipt_handle
        harness.advance(19_999)
        assert acked(client, handle)[1] == (40013, EXPIRED)
        assert acked(client, new) == [OK, OK]
        received = client.receive(a_receive())
        harness.advance(20_000)
        assert received.status.code == 40401

    def test_a_message_is_redelivered_when_its_changed_duration_ends(
        self, harness: GrpcHarness, client: Client
    ) -> None:
        """A message is redelivered when the new duration ends, earlier than with the old one."""
        client.ask("AckMessage", an_ack(*taken(client, 9)))
        (handle,) = taken(client)
        client.ask("ChangeInvisibleDuration", a_change(handle, 1_000))
        harness.advance(5_000)
        assert client.receive(a_receive()).bodies == [b"9"]

    @pytest.mark.parametrize(
        ("asked_ms", "text"),
        [(-1_000, "the invisibleTime is too small. min is 0"),
         (43_200_001, "the invisibleTime is too large. max is 43200000")],
    )  # fmt: skip
    def test_a_change_to_a_duration_out_of_range_is_rejected(self, client: Client, asked_ms: int, text: str) -> None:
        """A duration below 0 or above 12 h is rejected without a new handle."""
        (handle,) = taken(client)
        response = client.ask("ChangeInvisibleDuration", a_change(handle, asked_ms))
        assert (response.status.code, response.status.message, response.receipt_handle) == (40011, text, "")

    @pytest.mark.parametrize("text", GARBAGE)
    def test_a_change_with_an_invalid_handle_returns_upstreams_exception_text(self, client: Client, text: str) -> None:
        """An invalid handle returns upstream's exception text and no new handle."""
        response = client.ask("ChangeInvisibleDuration", a_change(text, 1_000))
        assert (response.status.code, response.status.message, response.receipt_handle) == (50001, GARBAGE[text], "")

    def test_a_change_with_an_expired_handle_is_rejected(self, harness: GrpcHarness, client: Client) -> None:
        """An expired handle is rejected. A handle with a duration of 0 expires at once."""
        (handle,) = taken(client)
        none = client.ask("ChangeInvisibleDuration", a_change(handle, 0)).receipt_handle
        harness.advance(10_000)
        for text in (handle, none):
            response = client.ask("ChangeInvisibleDuration", a_change(text, 1_000))
            assert (response.status.code, response.status.message, response.receipt_handle) == (40013, EXPIRED, "")

    @pytest.mark.parametrize("fields", [{"queue_id": 99}, {"offset": 10}, {"topic_type": "1"}])
    def test_a_change_for_an_unknown_queue_offset_or_retry_topic_is_rejected(
        self, client: Client, fields: dict[str, object]
    ) -> None:
        (handle,) = taken(client)
        response = client.ask("ChangeInvisibleDuration", a_change(changed(handle, **fields), 1_000))
        assert (response.status.code, response.status.message, response.receipt_handle) == (
            50001, "changeInvisibleDuration failed: status is abnormal", "",
        )  # fmt: skip

    def test_a_client_without_a_stream_can_change_a_duration(self, harness: GrpcHarness, client: Client) -> None:
        """A client without a telemetry stream can change a duration. Upstream returns an error here."""
        (handle,) = taken(client)
        assert harness.client("early").ask("ChangeInvisibleDuration", a_change(handle, 1_000)).status.code == 20000

    def test_in_an_ordered_group_a_changed_handle_keeps_the_time_of_the_pop(
        self, harness: GrpcHarness, client: Client
    ) -> None:
        """In an ordered group the new handle keeps the time of the pop, and the duration counts from it."""
        harness.group("GF", consume_message_orderly=True)
        fifo = harness.consumer("fifo", "GF")
        (handle,) = taken(fifo, group="GF")
        harness.advance(5_000)
        response = fifo.ask("ChangeInvisibleDuration", a_change(handle, 1_000, group="GF"))
        assert response.receipt_handle.split(" ")[1:4] == [str(START_MS), "6000", "999"]


class TestForward:
    """ForwardMessageToDeadLetterQueue."""

    def forward(self, client: Client, handle: str) -> tuple[int, str]:
        status = client.ask("ForwardMessageToDeadLetterQueue", a_forward(handle)).status
        return status.code, status.message

    def dead(self, client: Client) -> list[bytes]:
        """Return the messages in the dead letter queue."""
        return client.receive(a_receive("%DLQ%G", "reader")).bodies

    def test_a_forwarded_message_is_moved_to_the_dlq_and_acknowledged(
        self, harness: GrpcHarness, client: Client
    ) -> None:
        """A forwarded message is moved to the dead letter queue and acknowledged.

        The status text is the name of the broker's response code.
        """
        client.ask("AckMessage", an_ack(*taken(client, 9)))
        (handle,) = taken(client)
        assert self.forward(client, handle) == (20000, "0")
        assert self.dead(client) == [b"9"]
        received = client.receive(a_receive())
        harness.advance(20_000)
        assert received.status.code == 40401

    def test_a_changed_handle_forwards_its_own_message(self, harness: GrpcHarness, client: Client) -> None:
        """A changed handle forwards its own message. Upstream forwards the first message of the commit log here."""
        *_, handle = taken(client, 5)
        changed_handle = client.ask("ChangeInvisibleDuration", a_change(handle, 5_000)).receipt_handle
        assert self.forward(client, changed_handle) == (20000, "0")
        assert self.dead(client) == [b"4"]

    def test_a_forward_with_an_expired_handle_or_unknown_broker_succeeds(
        self, harness: GrpcHarness, client: Client
    ) -> None:
        """An expired handle and an unknown broker are accepted: only the physical offset matters."""
        (handle,) = taken(client)
        harness.advance(10_001)
        assert self.forward(client, changed(handle, broker_name="nobody")) == (20000, "0")

    def test_a_forward_without_a_physical_offset_is_rejected(self, client: Client) -> None:
        """A handle of eight fields, without a physical offset, is rejected."""
        (handle,) = taken(client)
        expected = (40013, PROXY_EXCEPTION + "commit log offset is empty")
        assert self.forward(client, handle.rpartition(" ")[0]) == expected

    @pytest.mark.parametrize("text", GARBAGE)
    def test_a_forward_with_an_invalid_handle_returns_upstreams_exception_text(self, client: Client, text: str) -> None:
        assert self.forward(client, text) == (50001, GARBAGE[text])

    def test_a_forward_of_an_offset_without_a_message_is_rejected(self, client: Client) -> None:
        """A physical offset without a message is rejected with the broker's remark, without a prefix."""
        (handle,) = taken(client)
        code, text = self.forward(client, changed(handle, commit_log_offset=1 << 40))
        assert (code, text) == (50001, f"look message by offset failed, {1 << 40}")

    def test_a_forward_of_an_offset_inside_a_message_is_a_broker_exception(self, client: Client) -> None:
        """A physical offset inside a message returns an exception of the broker.

        The broker takes the four bytes there for the size of a record. Here they are the magic code, which is negative.
        """
        (handle,) = taken(client)
        code, text = self.forward(client, changed(handle, commit_log_offset=4))
        assert code == 50001
        assert text.startswith("newLimit < 0: (-626843481 < 0). IllegalArgumentException. java.base/java.nio.Buffer.")


def test_a_parsed_receipt_handle_is_encoded_unchanged() -> None:
    text = "5 1700000000000 10000 3 2 broker-a 1 6 1241088515"
    handle = ReceiptHandle.parse(text)
    assert handle == (5, 1_700_000_000_000, 10_000, 3, "2", "broker-a", 1, 6, 1_241_088_515)
    assert handle.encode() == text
    assert handle.real_topic("T", "G") == "%RETRY%G+T"
    assert handle._replace(topic_type="1").real_topic("T", "G") == "%RETRY%G_T"
    assert handle._replace(topic_type="0").real_topic("T", "G") == "T"
    assert ReceiptHandle.parse(text.rpartition(" ")[0]).commit_log_offset == -1
    assert ReceiptHandle.parse("+5 1 2 3 0 b 0 9223372036854775807 7 8 9 ").offset == 2**63 - 1
