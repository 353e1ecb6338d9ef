"""ReceiveMessage: frames, times, filters, refusals, and what the proxy sorts out by itself."""

from hashlib import md5

import pytest
from grpc_texts import NO_TOPIC_CONFIG, PROXY_EXCEPTION
from grpc_world import START_MS, GrpcWorld, Received, a_message, a_receive, a_send, an_ack, publishing
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.operations.offsets import QueryConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

ID = "0102FC0000000139B80B12FD7F00000001"
TOO_SHORT = "The deadline time remaining is not enough for polling, please check network condition"


def sent(world: GrpcWorld, *bodies: bytes, topic: str = "T", **system: object) -> None:
    """Messages of a topic, each with its body as its id."""
    for body in bodies:
        answer = world.client().ask("SendMessage", a_send(a_message(topic, body, message_id=body.decode(), **system)))
        assert answer.status.code == 20000, answer.status


def test_a_stream_is_status_messages_timestamp(world: GrpcWorld) -> None:
    """In this order, and the call ends well."""
    world.topic()
    sent(world, b"a", b"b")
    received = world.consumer().receive(a_receive())
    assert received.kinds == ["status", "message", "message", "delivery_timestamp"]
    assert (received.status.code, received.status.message) == (20000, "OK")
    assert received.frames[-1].delivery_timestamp.ToMilliseconds() == START_MS
    assert (received.call.status, received.bodies) == (0, [b"a", b"b"])


def test_what_a_message_carries(world: GrpcWorld) -> None:
    """Everything that the producer said, what the store added, and nothing that is the system's."""
    world.topic(kind="FIFO")
    message = a_message(
        body=b"body", tag="tag", keys=["k1", "k2"], user={"u": "v"}, message_group="g", trace_context="tc",
        born_host="laptop",
    )  # fmt: skip
    message.system_properties.born_timestamp.FromMilliseconds(START_MS - 7)
    world.client().ask("SendMessage", a_send(message))
    world.advance(3)
    (got,) = world.consumer().receive(a_receive()).messages
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


def test_a_compressed_body_is_delivered_as_it_was_sent(world: GrpcWorld) -> None:
    """With its encoding, and a digest of the compressed bytes."""
    world.topic()
    sent(world, b"zip", body_encoding=pb.GZIP)
    (got,) = world.consumer().receive(a_receive()).messages
    assert got.system_properties.body_encoding == pb.GZIP
    assert got.system_properties.body_digest.checksum == md5(b"zip").hexdigest().upper()


def test_a_message_of_a_remoting_producer_is_shown_whole(world: GrpcWorld) -> None:
    """Without the proxy's properties the record itself tells born host and time; odd values do no harm."""
    world.topic()
    properties = {"BORN_TIMESTAMP": "9" * 40, "a": "1"}
    world.ask(SendMessage("PG", "T", 0, b"x", properties, ("10.1.2.3", 99), START_MS - 50))
    (got,) = world.consumer().receive(a_receive()).messages
    system = got.system_properties
    assert (system.born_host, system.born_timestamp.ToMilliseconds()) == ("10.1.2.3", START_MS - 50)
    assert dict(got.user_properties) == {"a": "1"}
    assert len(system.message_id) in (32, 56)


def test_a_namespace_is_split_from_the_topic(world: GrpcWorld) -> None:
    """`ns%topic` is shown as both."""
    world.topic("ns%T")
    sent(world, b"a", topic="ns%T")
    (got,) = world.consumer().receive(a_receive("ns%T")).messages
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
def test_how_long_an_empty_receive_waits(
    world: GrpcWorld, poll_ms: int | None, deadline_ms: int, waits_ms: int
) -> None:
    """5 to 20 s of what was asked for, never shorter than that, and a little less than the deadline leaves."""
    world.topic()
    received = world.consumer().receive(a_receive(poll_ms=poll_ms), deadline_ms=deadline_ms)
    world.advance(waits_ms - 1)
    assert received.call.sent == []
    world.advance(1)
    assert received.kinds == ["status", "delivery_timestamp"]
    assert (received.status.code, received.status.message) == (40401, "no new message")
    assert received.frames[-1].delivery_timestamp.ToMilliseconds() == START_MS + waits_ms
    assert received.call.status == 0


def test_a_message_ends_the_wait(world: GrpcWorld) -> None:
    """At once."""
    world.topic()
    received = world.consumer().receive(a_receive())
    world.advance(1_000)
    sent(world, b"a")
    assert received.bodies == [b"a"]


@pytest.mark.parametrize(
    ("version", "code"),
    [("5.0.3", 40018), ("abc", 40018), ("", 40000), ("4.9", 40000), ("5.0.2", 40000), ("5.0.10", 40000)],
)
@pytest.mark.parametrize("poll_ms", [None, 20_000])
def test_a_deadline_below_the_shortest_poll_is_refused(
    world: GrpcWorld, version: str, code: int, poll_ms: int | None
) -> None:
    """At once, even if messages wait, and takes none; older clients get another code, versions compare as texts."""
    world.topic()
    sent(world, b"a")
    client = world.consumer()
    received = client.receive(a_receive(poll_ms=poll_ms), deadline_ms=4_999, x_mq_client_version=version)
    assert (received.status.code, received.status.message) == (code, TOO_SHORT)
    assert received.kinds == ["status", "delivery_timestamp"]
    assert client.receive(a_receive()).bodies == [b"a"]


@pytest.mark.parametrize(("poll_ms", "line"), [(None, 73), (5_000, 82)])
def test_a_receive_without_a_deadline_is_refused(world: GrpcWorld, poll_ms: int | None, line: int) -> None:
    """As upstream refuses it."""
    received = world.consumer().receive(a_receive(poll_ms=poll_ms), deadline_ms=None)
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
def test_an_invisible_duration_out_of_range_is_refused(world: GrpcWorld, invisible_ms: int | None, text: str) -> None:
    """ILLEGAL_INVISIBLE_TIME below 10 s and above 12 h."""
    world.topic()
    status = world.consumer().receive(a_receive(invisible_ms=invisible_ms)).status
    assert (status.code, status.message) == (40011, text)


@pytest.mark.parametrize(
    ("request_ms", "auto_renew", "field"),
    [(10_000, False, "10000"), (43_200_000, False, "43200000"), (None, True, "60000"), (1, True, "60000")],
)
def test_the_invisible_duration_that_a_handle_has(
    world: GrpcWorld, request_ms: int | None, auto_renew: bool, field: str
) -> None:
    """What was asked for; 60 s with auto_renew, whatever was asked for."""
    world.topic()
    sent(world, b"a")
    (handle,) = world.consumer().receive(a_receive(invisible_ms=request_ms, auto_renew=auto_renew)).handles
    assert handle.split(" ")[2] == field


def test_no_more_than_32_messages_come_at_once(world: GrpcWorld) -> None:
    """A larger batch is cut without a word."""
    world.topic()
    sent(world, *(str(number).encode() for number in range(40)))
    client = world.consumer()
    assert [len(client.receive(a_receive(batch=size)).bodies) for size in (100, 3)] == [32, 3]


def test_a_batch_of_none_waits_and_finds_none(world: GrpcWorld) -> None:
    """Even when there are messages."""
    world.topic()
    sent(world, b"a")
    received = world.consumer().receive(a_receive(batch=0))
    assert received.call.sent == []
    world.advance(5_000)
    assert received.status.code == 40401


def test_a_negative_batch_is_refused(world: GrpcWorld) -> None:
    """With the text of upstream's exception."""
    world.topic()
    status = world.consumer().receive(a_receive(batch=-1)).status
    assert status.code == 50001
    assert status.message == (
        "Illegal Capacity: -1. IllegalArgumentException. java.base/java.util.ArrayList.<init>(ArrayList.java:160)"
    )


def test_an_unknown_topic_is_refused(world: GrpcWorld) -> None:
    """INTERNAL_SERVER_ERROR, not TOPIC_NOT_FOUND."""
    status = world.consumer().receive(a_receive("nowhere")).status
    assert (status.code, status.message) == (50001, NO_TOPIC_CONFIG)


@pytest.mark.parametrize("perm", [2, 0])
def test_a_topic_without_read_permission_gives_nothing(world: GrpcWorld, perm: int) -> None:
    """FORBIDDEN, as a ProxyException."""
    world.topic(perm=perm)
    status = world.consumer().receive(a_receive()).status
    assert (status.code, status.message) == (40300, PROXY_EXCEPTION + "no readable queue")


def test_a_group_that_is_switched_off_gets_nothing(world: GrpcWorld) -> None:
    """The broker's remark comes through."""
    world.topic()
    world.group("GOff", consume_enable=False)
    status = world.consumer().receive(a_receive(group="GOff")).status
    assert (status.code, status.message) == (50001, PROXY_EXCEPTION + "subscription group no permission, GOff")


def test_an_unknown_group_is_refused_where_none_are_created() -> None:
    """INTERNAL_SERVER_ERROR, not CONSUMER_GROUP_NOT_FOUND."""
    world = GrpcWorld(BrokerConfig(auto_create_subscription_group=False))
    world.topic()
    status = world.consumer().receive(a_receive(group="Gunk")).status
    assert (status.code, status.message) == (
        50001,
        PROXY_EXCEPTION + "subscription group [Gunk] does not exist, \n"
        "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.",
    )


@pytest.mark.parametrize(("broker", "queue_id"), [("broker-z", 0), ("", 0), ("broker-a", 99), ("broker-a", -7)])
def test_broker_and_queue_of_the_request_are_hints(world: GrpcWorld, broker: str, queue_id: int) -> None:
    """Any queue of any broker answers."""
    world.topic(queues=4)
    sent(world, b"a", b"b", b"c")
    assert len(world.consumer().receive(a_receive(broker=broker, queue_id=queue_id)).bodies) == 3


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
def test_filters_choose(world: GrpcWorld, expression: str | None, kind: int, bodies: list[bytes]) -> None:
    """By tag or by SQL92 expression; other types mean tags."""
    world.topic()
    sent(world, b"a", tag="A")
    sent(world, b"b", tag="B", user={"color": "red"})
    sent(world, b"none")
    assert world.consumer().receive(a_receive(expression=expression, kind=kind)).bodies == bodies


def test_a_tag_expression_of_blanks_matches_nothing(world: GrpcWorld) -> None:
    """Not even messages without a tag."""
    world.topic()
    sent(world, b"a")
    received = world.consumer().receive(a_receive(expression="  "))
    world.advance(5_000)
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
def test_a_bad_filter_is_refused(world: GrpcWorld, expression: str, kind: int, code: int, text: str) -> None:
    """What does not split is the proxy's to refuse, what does not compile the broker's."""
    world.topic()
    status = world.consumer().receive(a_receive(expression=expression, kind=kind)).status
    assert (status.code, status.message) == (code, text)


def test_a_message_of_another_tag_with_the_same_hash_is_acknowledged_away(world: GrpcWorld) -> None:
    """`BB` has the hash code of `Aa`: the broker lets it through, the proxy does not."""
    world.topic()
    sent(world, b"wrong", tag="BB")
    client = world.consumer()
    received = client.receive(a_receive(expression="Aa"))
    assert received.kinds == ["status", "delivery_timestamp"]
    assert (received.status.code, received.status.message) == (40401, "no match message")
    sent(world, b"right", tag="Aa")
    right = client.receive(a_receive(expression="Aa"))
    assert right.bodies == [b"right"]
    client.ask("AckMessage", an_ack(*right.handles))
    world.advance(60_000)
    assert world.broker.topics.find("%RETRY%G_T") is None


def test_too_many_waiting_receives_are_told_so() -> None:
    """TOO_MANY_REQUESTS at once."""
    world = GrpcWorld(BrokerConfig(pop_polling_size=1))
    world.topic()
    client = world.consumer()
    waiting = [client.receive(a_receive()) for _ in range(3)]
    assert [len(received.call.sent) for received in waiting] == [0, 0, 2]
    assert (waiting[2].status.code, waiting[2].status.message) == (42900, "polling full")


def test_a_receive_before_the_settings_is_served(world: GrpcWorld) -> None:
    """Upstream fails here, and fast clients get there."""
    world.topic()
    sent(world, b"a")
    assert world.client("early").receive(a_receive()).bodies == [b"a"]


def test_a_receive_before_the_settings_keeps_the_order_of_its_group(world: GrpcWorld) -> None:
    """The group that the request names decides."""
    world.topic(kind="FIFO")
    world.group(consume_message_orderly=True)
    sent(world, b"a", message_group="g")
    (handle,) = world.client("early").receive(a_receive()).handles
    assert handle.split(" ")[3] == "999"


def test_a_producer_may_receive(world: GrpcWorld) -> None:
    """Its settings only change how often a message may fail."""
    world.topic()
    sent(world, b"a")
    assert world.producer("p", "T").receive(a_receive()).bodies == [b"a"]


def test_a_message_that_comes_back_counts_its_attempts(world: GrpcWorld) -> None:
    """From the retry topic, under its own topic's name, a poll later."""
    world.topic()
    sent(world, b"a")
    client = world.consumer()
    client.receive(a_receive())
    world.advance(13_000)
    (again,) = client.receive(a_receive()).messages
    assert (again.topic.name, again.body, again.system_properties.delivery_attempt) == ("T", b"a", 2)
    assert again.system_properties.receipt_handle.split(" ")[4] == "1"
    assert client.ask("AckMessage", an_ack(again.system_properties.receipt_handle)).status.code == 20000
    world.advance(60_000)
    received = client.receive(a_receive())
    world.advance(5_000)
    assert received.status.code == 40401


def test_what_comes_to_a_client_that_gave_up_is_hidden_for_its_time(world: GrpcWorld) -> None:
    """Upstream's way: the dead poll takes the next message, and nobody gives that back."""
    world.topic()
    client = world.consumer()
    dead = client.receive(a_receive(invisible_ms=20_000))
    dead.call.cancel()
    sent(world, b"a")
    assert dead.call.sent == []
    world.advance(19_999)
    waiting = client.receive(a_receive())
    world.advance(4_999)
    assert waiting.bodies == []
    world.advance(1)
    assert waiting.bodies == [b"a"]
    assert waiting.messages[0].system_properties.delivery_attempt == 2


def test_a_client_that_gives_up_may_leave_messages_alone(world: GrpcWorld) -> None:
    """With endPollsOnCancel the next poll gets them."""
    world.config.end_polls_on_cancel = True
    world.topic()
    client = world.consumer()
    client.receive(a_receive()).call.cancel()
    waiting = client.receive(a_receive())
    sent(world, b"a")
    assert waiting.bodies == [b"a"]
    assert waiting.messages[0].system_properties.delivery_attempt == 1


class TestOrder:
    """Groups that consume in order."""

    @pytest.fixture
    def world(self, world: GrpcWorld) -> GrpcWorld:
        world.topic(kind="FIFO")
        world.group(consume_message_orderly=True)
        sent(world, b"1", b"2", b"3", message_group="g")
        return world

    def test_one_batch_of_a_queue_is_out_at_a_time(self, world: GrpcWorld) -> None:
        """The rest waits until it is acknowledged."""
        client = world.consumer()
        first = client.receive(a_receive(batch=2))
        assert first.bodies == [b"1", b"2"]
        waiting = client.receive(a_receive(batch=2))
        assert waiting.call.sent == []
        assert client.ask("AckMessage", an_ack(*first.handles)).status.code == 20000
        assert waiting.bodies == [b"3"]

    def test_the_same_attempt_gets_the_same_batch(self, world: GrpcWorld) -> None:
        """Another one waits."""
        client = world.consumer()
        first = client.receive(a_receive(batch=2, attempt_id="x"))
        world.advance(5)
        again = client.receive(a_receive(batch=2, attempt_id="x"))
        assert again.bodies == first.bodies == [b"1", b"2"]
        assert again.handles != first.handles
        assert client.receive(a_receive(batch=2, attempt_id="y")).call.sent == []

    def test_attempts_of_a_batch_without_new_messages(self, world: GrpcWorld) -> None:
        """All messages of the queue show its smallest count."""
        client = world.consumer()

        def attempts(batch: int) -> list[int]:
            received = client.receive(a_receive(batch=batch))
            world.advance(10_000)
            return [message.system_properties.delivery_attempt for message in received.messages]

        assert attempts(2) == [1, 1]
        assert attempts(2) == [2, 2]
        assert attempts(3) == [1, 1, 1]
        assert attempts(3) == [2, 2, 2]


def test_a_message_that_failed_too_often_goes_to_the_dead_letter_queue(world: GrpcWorld) -> None:
    """Not to the client: the poll that finds it says that nothing matched."""
    world.topic()
    world.group(retry_max_times=0)
    sent(world, b"a")
    client = world.consumer()
    client.receive(a_receive())
    world.advance(14_000)
    received = client.receive(a_receive())
    assert (received.status.code, received.status.message) == (40401, "no match message")
    (dead,) = world.consumer("reader", "readers").receive(a_receive("%DLQ%G", "readers")).messages
    assert (dead.body, dead.topic.name) == (b"a", "%DLQ%G")
    # Because of its property DELAY, as upstream shows it.
    assert (dead.system_properties.message_type, dead.system_properties.delivery_attempt) == (pb.DELAY, 3)


def test_settings_of_a_producer_stand_for_few_attempts(world: GrpcWorld) -> None:
    """Upstream takes the producer's three attempts for the limit."""
    world.topic()
    client = world.client("p")
    client.settle(publishing("T"))
    sent(world, b"a")
    for _ in range(3):
        assert client.receive(a_receive()).bodies == [b"a"]
        world.advance(14_000)
    received = client.receive(a_receive())
    assert received.status.message == "no match message"


def test_a_receive_moves_the_groups_offset(world: GrpcWorld) -> None:
    """As every pop does."""
    world.topic()
    sent(world, b"a", b"b")
    Received(world.consumer().start("ReceiveMessage", a_receive()))
    assert world.ask(QueryConsumerOffset("G", "T", 0)).offset == 2  # type: ignore[attr-defined]
