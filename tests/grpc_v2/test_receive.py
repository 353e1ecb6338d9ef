"""ReceiveMessage: frames, times, filters, errors, ordered groups, and messages that the proxy filters out."""

from hashlib import md5

import pytest
from grpc_harness import START_MS, GrpcHarness, Received, a_message, a_receive, a_send, an_ack
from grpc_texts import NO_TOPIC_CONFIG, PROXY_EXCEPTION
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.operations.offsets import QueryConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

ID = "0102FC0000000139B80B12FD7F00000001"
TOO_SHORT = "The deadline time remaining is not enough for polling, please check network condition"


def sent(harness: GrpcHarness, *bodies: bytes, topic: str = "T", **system: object) -> None:
    """Send messages to a topic, each with its body as its id."""
    for body in bodies:
        response = harness.client().ask(
            "SendMessage", a_send(a_message(topic, body, message_id=body.decode(), **system))
        )
        assert response.status.code == 20000, response.status


def test_a_receive_returns_status_messages_and_delivery_timestamp_in_order(harness: GrpcHarness) -> None:
    """A receive returns status, messages and delivery timestamp in this order, and the call ends with OK."""
    harness.topic()
    sent(harness, b"a", b"b")
    received = harness.consumer().receive(a_receive())
    assert received.kinds == ["status", "message", "message", "delivery_timestamp"]
    assert (received.status.code, received.status.message) == (20000, "OK")
    assert received.responses[-1].delivery_timestamp.ToMilliseconds() == START_MS
    assert (received.call.status, received.bodies) == (0, [b"a", b"b"])


def test_a_received_message_has_the_fields_of_producer_and_store(harness: GrpcHarness) -> None:
    """A message has everything that the producer set and the store added, and no system properties."""
    harness.topic(kind="FIFO")
    message = a_message(
        body=b"body", tag="tag", keys=["k1", "k2"], user={"u": "v"}, message_group="g", trace_context="tc",
        born_host="laptop",
    )  # fmt: skip
    message.system_properties.born_timestamp.FromMilliseconds(START_MS - 7)
    harness.client().ask("SendMessage", a_send(message))
    harness.advance(3)
    (got,) = harness.consumer().receive(a_receive()).messages
    assert got.topic == pb.Resource(name="T")
    assert dict(got.user_properties) == {"u": "v", "__SHARDINGKEY": "g", "TRACE_CONTEXT": "tc"}
    system = got.system_properties
    assert (system.tag, list(system.keys), system.message_id) == ("tag", ["k1", "k2"], ID)
    assert (system.body_digest.type, system.body_digest.checksum) == (pb.MD5, md5(b"body").hexdigest().upper())
    assert (system.body_encoding, system.message_type) == (pb.IDENTITY, pb.FIFO)
    assert (system.born_timestamp.ToMilliseconds(), system.born_host) == (START_MS - 7, "laptop")
    assert (system.store_timestamp.ToMilliseconds(), system.store_host) == (START_MS, "127.0.0.1:10911")
    assert (system.message_group, system.trace_context) == ("g", "tc")
    assert (system.queue_id, system.queue_offset, system.delivery_attempt) == (0, 0, 1)
    assert not system.HasField("delivery_timestamp")
    assert not system.HasField("dead_letter_queue")
    handle = system.receipt_handle.split(" ")
    assert handle[:3] + handle[4:8] == ["0", str(START_MS + 3), "10000", "0", "broker-a", "0", "0"]
    assert int(handle[8]) >= 0


def test_a_compressed_body_is_delivered_as_it_was_sent(harness: GrpcHarness) -> None:
    """A compressed body is delivered with its encoding, and with a digest of the compressed bytes."""
    harness.topic()
    sent(harness, b"zip", body_encoding=pb.GZIP)
    (got,) = harness.consumer().receive(a_receive()).messages
    assert got.system_properties.body_encoding == pb.GZIP
    assert got.system_properties.body_digest.checksum == md5(b"zip").hexdigest().upper()


def test_a_message_of_a_remoting_producer_has_its_born_host_and_time(harness: GrpcHarness) -> None:
    """A message of a remoting producer has its record's born host and time, even with malformed property values."""
    harness.topic()
    properties = {"BORN_TIMESTAMP": "9" * 40, "a": "1"}
    harness.ask(SendMessage("PG", "T", 0, b"x", properties, ("10.1.2.3", 99), START_MS - 50))
    (got,) = harness.consumer().receive(a_receive()).messages
    system = got.system_properties
    assert (system.born_host, system.born_timestamp.ToMilliseconds()) == ("10.1.2.3", START_MS - 50)
    assert dict(got.user_properties) == {"a": "1"}
    assert len(system.message_id) in (32, 56)


def test_a_namespace_is_split_from_the_topic(harness: GrpcHarness) -> None:
    """A topic `ns%topic` is returned as namespace and name."""
    harness.topic("ns%T")
    sent(harness, b"a", topic="ns%T")
    (got,) = harness.consumer().receive(a_receive("ns%T")).messages
    assert (got.topic.resource_namespace, got.topic.name) == ("ns", "T")


@pytest.mark.parametrize(
    ("poll_ms", "deadline_ms", "waits_ms"),
    [
        (0, 10_000, 5_000),
        (1_000, 10_000, 5_000),
        (5_000, 10_000, 5_000),
        (7_500, 10_000, 7_500),
        (60_000, 90_000, 20_000),
        (20_000, 8_000, 7_950),
        (20_000, 5_200, 5_150),
        (6_000, 6_000, 5_950),
        (None, 6_000, 5_000),
        (None, 8_000, 6_500),
        (None, 10_000, 8_500),
        (None, 90_000, 20_000),
    ],
)
def test_an_empty_receive_waits_for_the_requested_time_within_5_to_20_s(
    harness: GrpcHarness, poll_ms: int | None, deadline_ms: int, waits_ms: int
) -> None:
    """An empty receive waits for the requested time within 5 to 20 s, and ends a little before its deadline."""
    harness.topic()
    received = harness.consumer().receive(a_receive(poll_ms=poll_ms), deadline_ms=deadline_ms)
    harness.advance(waits_ms - 1)
    assert received.call.sent == []
    harness.advance(1)
    assert received.kinds == ["status", "delivery_timestamp"]
    assert (received.status.code, received.status.message) == (40401, "no new message")
    assert received.responses[-1].delivery_timestamp.ToMilliseconds() == START_MS + waits_ms
    assert received.call.status == 0


def test_a_stored_message_ends_the_wait_of_a_receive_at_once(harness: GrpcHarness) -> None:
    harness.topic()
    received = harness.consumer().receive(a_receive())
    harness.advance(1_000)
    sent(harness, b"a")
    assert received.bodies == [b"a"]


@pytest.mark.parametrize(
    ("version", "code"),
    [("5.0.3", 40018), ("abc", 40018), ("", 40000), ("4.9", 40000), ("5.0.2", 40000), ("5.0.10", 40000)],
)
@pytest.mark.parametrize("poll_ms", [None, 20_000])
def test_a_deadline_below_the_shortest_poll_is_rejected(
    harness: GrpcHarness, version: str, code: int, poll_ms: int | None
) -> None:
    """A deadline shorter than the shortest poll is rejected at once, even if messages are stored, and receives none.

    Older clients get another code; versions are compared as text.
    """
    harness.topic()
    sent(harness, b"a")
    client = harness.consumer()
    received = client.receive(a_receive(poll_ms=poll_ms), deadline_ms=4_999, x_mq_client_version=version)
    assert (received.status.code, received.status.message) == (code, TOO_SHORT)
    assert received.kinds == ["status", "delivery_timestamp"]
    assert client.receive(a_receive()).bodies == [b"a"]


@pytest.mark.parametrize(("poll_ms", "line"), [(None, 73), (5_000, 82)])
def test_a_receive_without_a_deadline_is_rejected(harness: GrpcHarness, poll_ms: int | None, line: int) -> None:
    """A receive without a deadline is rejected, as in upstream."""
    received = harness.consumer().receive(a_receive(poll_ms=poll_ms), deadline_ms=None)
    assert received.status.code == 50001
    assert received.status.message.startswith('Cannot invoke "java.lang.Long.longValue()" because "timeRemaining"')
    assert received.status.message.endswith(f"ReceiveMessageActivity.java:{line})")


@pytest.mark.parametrize(
    ("invisible_ms", "text"),
    [
        (None, "the invisibleTime is too small. min is 10000"),
        (0, "the invisibleTime is too small. min is 10000"),
        (-1, "the invisibleTime is too small. min is 10000"),
        (9_999, "the invisibleTime is too small. min is 10000"),
        (43_200_001, "the invisibleTime is too large. max is 43200000"),
    ],
)
def test_an_invisible_duration_out_of_range_is_rejected(
    harness: GrpcHarness, invisible_ms: int | None, text: str
) -> None:
    """An invisible duration below 10 s or above 12 h returns ILLEGAL_INVISIBLE_TIME."""
    harness.topic()
    status = harness.consumer().receive(a_receive(invisible_ms=invisible_ms)).status
    assert (status.code, status.message) == (40011, text)


@pytest.mark.parametrize(
    ("request_ms", "auto_renew", "field"),
    [(10_000, False, "10000"), (43_200_000, False, "43200000"), (None, True, "60000"), (1, True, "60000")],
)
def test_a_handle_has_the_requested_invisible_duration_or_60_s_with_auto_renew(
    harness: GrpcHarness, request_ms: int | None, auto_renew: bool, field: str
) -> None:
    harness.topic()
    sent(harness, b"a")
    (handle,) = harness.consumer().receive(a_receive(invisible_ms=request_ms, auto_renew=auto_renew)).handles
    assert handle.split(" ")[2] == field


def test_a_batch_size_above_32_is_reduced_to_32(harness: GrpcHarness) -> None:
    harness.topic()
    sent(harness, *(str(number).encode() for number in range(40)))
    client = harness.consumer()
    assert [len(client.receive(a_receive(batch=size)).bodies) for size in (100, 3)] == [32, 3]


def test_a_receive_with_batch_size_0_waits_and_returns_no_messages(harness: GrpcHarness) -> None:
    """A receive with batch size 0 waits and returns no messages, even if there are some."""
    harness.topic()
    sent(harness, b"a")
    received = harness.consumer().receive(a_receive(batch=0))
    assert received.call.sent == []
    harness.advance(5_000)
    assert received.status.code == 40401


def test_a_negative_batch_size_is_rejected(harness: GrpcHarness) -> None:
    """A negative batch size is rejected with upstream's exception text."""
    harness.topic()
    status = harness.consumer().receive(a_receive(batch=-1)).status
    assert status.code == 50001
    assert status.message == (
        "Illegal Capacity: -1. IllegalArgumentException. java.base/java.util.ArrayList.<init>(ArrayList.java:160)"
    )


def test_a_receive_of_an_unknown_topic_returns_internal_server_error(harness: GrpcHarness) -> None:
    """A receive of an unknown topic returns INTERNAL_SERVER_ERROR, not TOPIC_NOT_FOUND."""
    status = harness.consumer().receive(a_receive("nowhere")).status
    assert (status.code, status.message) == (50001, NO_TOPIC_CONFIG)


@pytest.mark.parametrize("perm", [2, 0])
def test_a_receive_of_a_topic_without_read_permission_returns_forbidden(harness: GrpcHarness, perm: int) -> None:
    """A receive of a topic without read permission returns FORBIDDEN, as a ProxyException."""
    harness.topic(perm=perm)
    status = harness.consumer().receive(a_receive()).status
    assert (status.code, status.message) == (40300, PROXY_EXCEPTION + "no readable queue")


def test_a_receive_of_a_disabled_group_returns_the_brokers_remark(harness: GrpcHarness) -> None:
    harness.topic()
    harness.group("GOff", consume_enable=False)
    status = harness.consumer().receive(a_receive(group="GOff")).status
    assert (status.code, status.message) == (50001, PROXY_EXCEPTION + "subscription group no permission, GOff")


def test_without_auto_creation_an_unknown_group_is_rejected() -> None:
    """Without auto-creation, an unknown group returns INTERNAL_SERVER_ERROR, not CONSUMER_GROUP_NOT_FOUND."""
    harness = GrpcHarness(BrokerConfig(auto_create_subscription_group=False))
    harness.topic()
    status = harness.consumer().receive(a_receive(group="Gunk")).status
    assert (status.code, status.message) == (
        50001,
        PROXY_EXCEPTION + "subscription group [Gunk] does not exist, \n"
        "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.",
    )


@pytest.mark.parametrize(("broker", "queue_id"), [("broker-z", 0), ("", 0), ("broker-a", 99), ("broker-a", -7)])
def test_broker_and_queue_of_the_request_are_hints(harness: GrpcHarness, broker: str, queue_id: int) -> None:
    """Broker and queue of the request are hints: any queue of any broker is read."""
    harness.topic(queues=4)
    sent(harness, b"a", b"b", b"c")
    assert len(harness.consumer().receive(a_receive(broker=broker, queue_id=queue_id)).bodies) == 3


@pytest.mark.parametrize(
    ("expression", "kind", "bodies"),
    [
        (None, 0, [b"a", b"b", b"none"]),
        ("", pb.TAG, [b"a", b"b", b"none"]),
        ("*", 0, [b"a", b"b", b"none"]),
        ("*", 9, [b"a", b"b", b"none"]),
        ("A", pb.TAG, [b"a"]),
        ("A || B", pb.TAG, [b"a", b"b"]),
        ("color = 'red'", pb.SQL, [b"b"]),
    ],
)
def test_a_filter_selects_messages_by_tag_or_sql_expression(
    harness: GrpcHarness, expression: str | None, kind: int, bodies: list[bytes]
) -> None:
    """A filter selects by tag or by SQL92 expression. Other filter types mean tags."""
    harness.topic()
    sent(harness, b"a", tag="A")
    sent(harness, b"b", tag="B", user={"color": "red"})
    sent(harness, b"none")
    assert harness.consumer().receive(a_receive(expression=expression, filter_type=kind)).bodies == bodies


def test_a_tag_expression_of_blanks_matches_nothing(harness: GrpcHarness) -> None:
    """A tag expression of blanks matches no message, not even one without a tag."""
    harness.topic()
    sent(harness, b"a")
    received = harness.consumer().receive(a_receive(expression="  "))
    harness.advance(5_000)
    assert received.status.code == 40401


@pytest.mark.parametrize(
    ("expression", "kind", "code", "text"),
    [
        ("||", pb.TAG, 40010, "subString split error"),
        ("", pb.SQL, 40010, "Expression can't be null! SQL92"),
        ("  ", pb.SQL, 50001, PROXY_EXCEPTION + "parse the consumer's subscription failed"),
        ("a >", pb.SQL, 50001, PROXY_EXCEPTION + "parse the consumer's subscription failed"),
        ("a > 'x'", pb.SQL, 50001, PROXY_EXCEPTION + "parse the consumer's subscription failed"),
        ("a between 5 and 1", pb.SQL, 50001, PROXY_EXCEPTION + "parse the consumer's subscription failed"),
    ],
)
def test_an_invalid_filter_expression_is_rejected(
    harness: GrpcHarness, expression: str, kind: int, code: int, *, text: str
) -> None:
    """The proxy rejects an expression that cannot be split, the broker one that does not compile."""
    harness.topic()
    status = harness.consumer().receive(a_receive(expression=expression, filter_type=kind)).status
    assert (status.code, status.message) == (code, text)


def test_a_message_of_another_tag_with_the_same_hash_is_not_delivered(harness: GrpcHarness) -> None:
    """A message of another tag with the same hash code is acknowledged by the proxy and not delivered.

    `BB` has the hash code of `Aa` and passes the broker's filter.
    """
    harness.topic()
    sent(harness, b"wrong", tag="BB")
    client = harness.consumer()
    received = client.receive(a_receive(expression="Aa"))
    assert received.kinds == ["status", "delivery_timestamp"]
    assert (received.status.code, received.status.message) == (40401, "no match message")
    sent(harness, b"right", tag="Aa")
    right = client.receive(a_receive(expression="Aa"))
    assert right.bodies == [b"right"]
    client.ask("AckMessage", an_ack(*right.handles))
    harness.advance(60_000)
    assert harness.broker.topics.find("%RETRY%G_T") is None


def test_a_receive_above_the_limit_of_waiting_ones_gets_too_many_requests() -> None:
    harness = GrpcHarness(BrokerConfig(pop_polling_size=1))
    harness.topic()
    client = harness.consumer()
    waiting = [client.receive(a_receive()) for _ in range(3)]
    assert [len(received.call.sent) for received in waiting] == [0, 0, 2]
    assert (waiting[2].status.code, waiting[2].status.message) == (42900, "polling full")


def test_a_receive_before_the_settings_is_served(harness: GrpcHarness) -> None:
    """A receive before the settings is served. Upstream returns an error, which fast clients get."""
    harness.topic()
    sent(harness, b"a")
    assert harness.client("early").receive(a_receive()).bodies == [b"a"]


def test_a_receive_before_the_settings_keeps_the_order_of_its_group(harness: GrpcHarness) -> None:
    """A receive before the settings keeps the order of the group that the request names."""
    harness.topic(kind="FIFO")
    harness.group(consume_message_orderly=True)
    sent(harness, b"a", message_group="g")
    (handle,) = harness.client("early").receive(a_receive()).handles
    assert handle.split(" ")[3] == "999"


def test_a_producer_can_receive_messages(harness: GrpcHarness) -> None:
    """A producer can receive messages; its settings only limit the delivery attempts."""
    harness.topic()
    sent(harness, b"a")
    assert harness.producer("p", "T").receive(a_receive()).bodies == [b"a"]


def test_a_redelivered_message_counts_its_attempts(harness: GrpcHarness) -> None:
    """A redelivered message comes from the retry topic under its own topic's name and counts its attempts."""
    harness.topic()
    sent(harness, b"a")
    client = harness.consumer()
    client.receive(a_receive())
    harness.advance(13_000)
    (again,) = client.receive(a_receive()).messages
    assert (again.topic.name, again.body, again.system_properties.delivery_attempt) == ("T", b"a", 2)
    assert again.system_properties.receipt_handle.split(" ")[4] == "1"
    assert client.ask("AckMessage", an_ack(again.system_properties.receipt_handle)).status.code == 20000
    harness.advance(60_000)
    received = client.receive(a_receive())
    harness.advance(5_000)
    assert received.status.code == 40401


def test_a_cancelled_poll_still_takes_the_next_message(harness: GrpcHarness) -> None:
    """A cancelled poll still receives the next message, which stays invisible for its duration, as in upstream."""
    harness.topic()
    client = harness.consumer()
    dead = client.receive(a_receive(invisible_ms=20_000))
    dead.call.cancel()
    sent(harness, b"a")
    assert dead.call.sent == []
    harness.advance(19_999)
    waiting = client.receive(a_receive())
    harness.advance(4_999)
    assert waiting.bodies == []
    harness.advance(1)
    assert waiting.bodies == [b"a"]
    assert waiting.messages[0].system_properties.delivery_attempt == 2


def test_with_end_polls_on_cancel_a_cancelled_poll_takes_no_message(harness: GrpcHarness) -> None:
    """With endPollsOnCancel, a cancelled poll receives nothing, and the next poll gets the message."""
    harness.config.end_polls_on_cancel = True
    harness.topic()
    client = harness.consumer()
    client.receive(a_receive()).call.cancel()
    waiting = client.receive(a_receive())
    sent(harness, b"a")
    assert waiting.bodies == [b"a"]
    assert waiting.messages[0].system_properties.delivery_attempt == 1


class TestOrder:
    """Groups that consume in order."""

    @pytest.fixture
    def harness(self, harness: GrpcHarness) -> GrpcHarness:
        harness.topic(kind="FIFO")
        harness.group(consume_message_orderly=True)
        sent(harness, b"1", b"2", b"3", message_group="g")
        return harness

    def test_only_one_batch_of_a_queue_is_in_flight(self, harness: GrpcHarness) -> None:
        """Only one batch of a queue is in flight. The remaining messages wait until it is acknowledged."""
        client = harness.consumer()
        first = client.receive(a_receive(batch=2))
        assert first.bodies == [b"1", b"2"]
        waiting = client.receive(a_receive(batch=2))
        assert waiting.call.sent == []
        assert client.ask("AckMessage", an_ack(*first.handles)).status.code == 20000
        assert waiting.bodies == [b"3"]

    def test_a_receive_with_the_same_attempt_id_gets_the_same_batch(self, harness: GrpcHarness) -> None:
        """A receive with the same attempt id gets the same batch, and another one waits."""
        client = harness.consumer()
        first = client.receive(a_receive(batch=2, attempt_id="x"))
        harness.advance(5)
        again = client.receive(a_receive(batch=2, attempt_id="x"))
        assert again.bodies == first.bodies == [b"1", b"2"]
        assert again.handles != first.handles
        assert client.receive(a_receive(batch=2, attempt_id="y")).call.sent == []

    def test_all_messages_of_a_batch_have_its_smallest_number_of_attempts(self, harness: GrpcHarness) -> None:
        client = harness.consumer()

        def attempts(batch: int) -> list[int]:
            received = client.receive(a_receive(batch=batch))
            harness.advance(10_000)
            return [message.system_properties.delivery_attempt for message in received.messages]

        assert attempts(2) == [1, 1]
        assert attempts(2) == [2, 2]
        assert attempts(3) == [1, 1, 1]
        assert attempts(3) == [2, 2, 2]


def test_a_message_that_failed_too_often_goes_to_the_dead_letter_queue(harness: GrpcHarness) -> None:
    """A message with too many attempts is moved to the dead letter queue.

    The client's poll returns that no message matched.
    """
    harness.topic()
    harness.group(retry_max_times=0)
    sent(harness, b"a")
    client = harness.consumer()
    client.receive(a_receive())
    harness.advance(14_000)
    received = client.receive(a_receive())
    assert (received.status.code, received.status.message) == (40401, "no match message")
    (dead,) = harness.consumer("reader", "readers").receive(a_receive("%DLQ%G", "readers")).messages
    assert (dead.body, dead.topic.name) == (b"a", "%DLQ%G")
    # The copy has the property DELAY, from which its type follows, as in upstream.
    assert (dead.system_properties.message_type, dead.system_properties.delivery_attempt) == (pb.DELAY, 3)


def test_a_receiving_producer_is_limited_to_its_three_attempts(harness: GrpcHarness) -> None:
    """For a client with a producer's settings, the limit is the producer's three attempts, as in upstream."""
    harness.topic()
    client = harness.client("p")
    client.send_settings(publishing("T"))
    sent(harness, b"a")
    for _ in range(3):
        assert client.receive(a_receive()).bodies == [b"a"]
        harness.advance(14_000)
    received = client.receive(a_receive())
    assert received.status.message == "no match message"


def test_a_receive_commits_the_groups_offset(harness: GrpcHarness) -> None:
    harness.topic()
    sent(harness, b"a", b"b")
    Received(harness.consumer().start("ReceiveMessage", a_receive()))
    assert harness.ask(QueryConsumerOffset("G", "T", 0)).offset == 2  # type: ignore[attr-defined]
