"""SendMessage: each rule of the proxy with its code and text, in upstream's order, and the choice of queues."""

from typing import Any

import pytest
from grpc_harness import START_MS, GrpcHarness, a_message, a_receive, a_send
from grpc_texts import NO_TOPIC_CONFIG, PROXY_EXCEPTION, type_conflict
from pull_operation import pull_of
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.message.properties import string_hash
from rocketmq_testkit.emulator.message.stored_record import Record, decode
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proxy.routes import consistent_hash

DAY_MS = 86_400_000
ID = "0102FC0000000139B80B12FD7F00000001"


def send(harness: GrpcHarness, *messages: pb.Message) -> Any:
    return harness.client().ask("SendMessage", a_send(*messages))


def stored(harness: GrpcHarness, topic: str = "T", queue: int = 0) -> list[Record]:
    """Return the records of a queue."""
    result = harness.ask(pull_of("reader", topic, queue=queue))
    assert isinstance(result, PullResult)
    return [decode(record) for record in result.records]


REJECTED: dict[str, tuple[pb.Message, int, str]] = {
    "empty body": (a_message(body=b""), 41302, "message body cannot be empty"),
    "large body": (a_message(body=bytes(4_194_305)), 41301, "message body cannot exceed the max 4194304"),
    "129 properties": (
        a_message(user={str(n): "v" for n in range(129)}),
        43101,
        "too many user properties, max is 128",
    ),
    "reserved": (a_message(user={"TAGS": "x"}), 40007, "property is used by system: TAGS"),
    "reserved id": (a_message(user={"UNIQ_KEY": "x"}), 40007, "property is used by system: UNIQ_KEY"),
    "control in name": (
        a_message(user={"a\tb": "x"}),
        40007,
        "the key of property cannot contain control character",
    ),
    "control in value": (
        a_message(user={"a": "\x85"}),
        40007,
        "the value of property cannot contain control character",
    ),
    "blank tag": (a_message(tag="  "), 40004, "tag cannot be the char sequence of whitespace"),
    "tag with bar": (a_message(tag="a|b"), 40004, "tag cannot contain '|'"),
    "tag with control": (a_message(tag="a\x01"), 40004, "tag cannot contain control character"),
    "blank key": (a_message(keys=["a", " "]), 40005, "key cannot be the char sequence of whitespace"),
    "key with control": (a_message(keys=["a\n"]), 40005, "key cannot contain control character"),
    "16385 bytes": (
        a_message(user={"k": "v" * 16_383}, tag="t"),
        43101,
        "the total size of user property is too large, max is 16384",
    ),
    "16385 bytes of UTF-8": (
        a_message(user={"k": "é" * 8_192}),
        43101,
        "the total size of user property is too large, max is 16384",
    ),
    "no id": (a_message(message_id=""), 40009, "message id cannot be empty"),
    "blank id": (a_message(message_id="  "), 40009, "message id cannot be empty"),
    "late recovery": (
        a_message(message_type=pb.TRANSACTION, recovery_s=3601),
        40000,
        "the max transaction recovery time of message is too large, max is 3600",
    ),
    "late delivery": (
        a_message(deliver_ms=START_MS + DAY_MS + 1),
        40012,
        "the max delay time of message is too large, max is 86400000",
    ),
    "blank group": (
        a_message(message_group=" "),
        40006,
        "message group cannot be the char sequence of whitespace",
    ),
    "group with control": (
        a_message(message_group="g\x7f"),
        40006,
        "message group cannot contain control character",
    ),
    "long group": (a_message(message_group="g" * 64), 40006, "message group exceed the max size 64"),
    "long group in UTF-8": (a_message(message_group="é" * 32), 40006, "message group exceed the max size 64"),
}

ACCEPTED: dict[str, pb.Message] = {
    "largest body": a_message(body=bytes(4_194_304)),
    "128 properties": a_message(user={str(n): "v" for n in range(128)}),
    "16384 bytes": a_message(user={"k": "v" * 16_382}, tag="t"),
    "unreserved names": a_message(user={"TRACE_CONTEXT": "x", "__transactionId__": "x", "INNER_BASE": "x"}),
    "empty property name": a_message(user={"": "x", " ": "y", "z": ""}),
    "tags": a_message(tag=" a b*"),
    "empty key": a_message(keys=["", "a b"]),
    "long id": a_message(message_id="i" * 300),
    "id with control": a_message(message_id="a\x01b"),
    "type without its property": a_message(message_type=pb.FIFO),
    "unknown type": a_message(message_type=99),
    "lite topic and priority": a_message(lite_topic="l", priority=3),
    "wrong digest": a_message(body_digest=pb.Digest(type=pb.MD5, checksum="00")),
    "gzip flag": a_message(body_encoding=pb.GZIP),
    "client's queue": a_message(queue_id=77, receipt_handle="x", delivery_attempt=5),
    "empty group": a_message(message_group=""),
    "recovery of a normal message": a_message(recovery_s=9999),
}


@pytest.mark.parametrize("case", REJECTED)
def test_a_message_that_breaks_a_rule_is_rejected(harness: GrpcHarness, case: str) -> None:
    """A message that breaks a rule gets upstream's code and text without an entry, and is not stored."""
    harness.topic()
    message, code, text = REJECTED[case]
    response = send(harness, message)
    assert (response.status.code, response.status.message, list(response.entries)) == (code, text, [])
    assert stored(harness) == []


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_message_within_the_rules_is_stored(harness: GrpcHarness, case: str) -> None:
    """A message within the rules is stored, and the response has one entry with the client's id."""
    harness.topic()
    message = ACCEPTED[case]
    response = send(harness, message)
    assert (response.status.code, response.status.message) == (20000, "OK")
    (entry,) = response.entries
    assert (entry.status.code, entry.message_id, entry.offset) == (20000, message.system_properties.message_id, 0)
    assert entry.transaction_id == message.system_properties.message_id
    assert entry.recall_handle == ""
    assert [record.body for record in stored(harness)] == [message.body]


def test_rules_are_checked_in_upstreams_order(harness: GrpcHarness) -> None:
    """A message that breaks all rules is repaired step by step; the code of each step follows upstream's order."""
    harness.topic("F", kind="FIFO", perm=4)
    message = a_message(
        "F", b"", message_id="", tag="|", keys=[" "], message_group=" ", deliver_ms=START_MS + 2 * DAY_MS
    )
    system = message.system_properties
    system.message_type = pb.TRANSACTION
    system.orphaned_transaction_recovery_duration.seconds = 3601
    message.user_properties.update({str(n): "v" for n in range(128)} | {"TAGS": "x"})
    codes = []

    def repaired(repair: Any) -> None:
        codes.append(send(harness, message).status.code)
        repair()

    repaired(lambda: setattr(message, "body", bytes(4_194_305)))
    repaired(lambda: setattr(message, "body", b"x"))
    repaired(lambda: message.user_properties.pop("0"))
    repaired(lambda: message.user_properties.pop("TAGS"))
    repaired(lambda: setattr(system, "tag", "t" * 20_000))
    repaired(lambda: system.ClearField("keys"))
    repaired(lambda: setattr(system, "tag", "t"))
    repaired(lambda: setattr(system, "message_id", ID))
    repaired(lambda: system.orphaned_transaction_recovery_duration.Clear())
    repaired(lambda: system.ClearField("delivery_timestamp"))
    repaired(lambda: setattr(system, "message_group", "g"))
    repaired(lambda: setattr(system, "message_type", pb.FIFO))
    codes.append(send(harness, message).status.code)
    assert codes == [
        41302, 41301, 43101, 40007, 40004, 40005, 43101, 40009, 40000, 40012, 40006, 40014, 40300,
    ]  # fmt: skip


def test_a_send_without_a_message_or_system_properties_is_rejected(harness: GrpcHarness) -> None:
    """A send without messages, with an empty message, or without system properties is rejected."""
    harness.topic()
    assert send(harness).status.message == "no message to send"
    assert send(harness).status.code == 40016
    assert send(harness, pb.Message()).status.message == "The specified topic is blank"
    bare = pb.Message(topic=pb.Resource(name="T"), body=b"x")
    assert (send(harness, bare).status.code, send(harness, bare).status.message) == (
        40009,
        "message id cannot be empty",
    )


@pytest.mark.parametrize(
    ("topic_type", "message", "actual"),
    [
        ("NORMAL", a_message(message_group="g"), "FIFO"),
        ("NORMAL", a_message(user={"__SHARDINGKEY": "g"}), "FIFO"),
        ("NORMAL", a_message(deliver_ms=0), "DELAY"),
        ("NORMAL", a_message(message_type=pb.TRANSACTION), "TRANSACTION"),
        ("", a_message(message_group="g"), "FIFO"),
        ("FIFO", a_message(), "NORMAL"),
        ("FIFO", a_message(message_group="g", deliver_ms=1), "DELAY"),
        ("DELAY", a_message(message_type=pb.DELAY), "NORMAL"),
        ("TRANSACTION", a_message(), "NORMAL"),
        ("UNSPECIFIED", a_message(), "NORMAL"),
    ],
)
def test_a_message_of_another_type_than_its_topic_is_rejected(
    harness: GrpcHarness, topic_type: str, message: pb.Message, actual: str
) -> None:
    """A message of another type than its topic is rejected. Its properties define the type.

    The declared type matters only for transactions.
    """
    harness.topic(kind=topic_type)
    status = send(harness, message).status
    assert (status.code, status.message) == (40014, type_conflict(topic_type or "NORMAL", actual))


def test_a_message_with_a_group_and_a_timestamp_is_a_delayed_message(harness: GrpcHarness) -> None:
    """A message with a group and a timestamp is a delayed message, which a DELAY topic accepts."""
    harness.topic(kind="DELAY")
    assert send(harness, a_message(message_group="g", deliver_ms=START_MS - 1)).status.code == 20000


def test_a_send_to_an_unknown_topic_is_rejected_and_does_not_create_it(harness: GrpcHarness) -> None:
    """The text names the type UNSPECIFIED, and the topic is not created.

    Sends to retry topics and dead letter queues have no type check.
    """
    status = send(harness, a_message("nowhere")).status
    assert (status.code, status.message) == (40014, type_conflict("UNSPECIFIED", "NORMAL"))
    assert harness.broker.topics.find("nowhere") is None
    for topic in ("%DLQ%x", "%RETRY%x"):
        status = send(harness, a_message(topic)).status
        assert (status.code, status.message) == (50001, NO_TOPIC_CONFIG)


@pytest.mark.parametrize("perm", [4, 0])
def test_a_send_to_a_topic_without_write_permission_returns_forbidden(harness: GrpcHarness, perm: int) -> None:
    """A send to a topic without write permission returns FORBIDDEN, as a ProxyException."""
    harness.topic(perm=perm)
    status = send(harness, a_message()).status
    assert (status.code, status.message) == (40300, PROXY_EXCEPTION + "no writable queue")


def test_a_change_of_the_topics_type_applies_to_the_next_send(harness: GrpcHarness) -> None:
    """A change of the topic's type applies to the next send, because there is no cache."""
    harness.topic()
    assert send(harness, a_message(message_group="g")).status.code == 40014
    harness.topic(kind="FIFO")
    assert send(harness, a_message(message_group="g")).status.code == 20000


def test_a_stored_record_has_the_system_properties_of_the_request(harness: GrpcHarness) -> None:
    """A record has id, tag, keys, producer group, born host and time as properties, and the socket's address."""
    harness.topic()
    message = a_message(
        tag="tag", keys=["k1", "k2"], user={"u": "v"}, born_host="laptop", trace_context="tc", body_encoding=pb.GZIP
    )
    message.system_properties.born_timestamp.FromMilliseconds(START_MS - 5)
    send(harness, message)
    (record,) = stored(harness)
    assert record.sys_flag & 1 == 1
    assert record.born_timestamp == START_MS
    assert record.born_host == bytes([10, 0, 0, 7]) + (40_000).to_bytes(4, "big")
    wanted = {
        "u": "v", "TAGS": "tag", "KEYS": "k1 k2", "UNIQ_KEY": ID, "PGROUP": "T", "RECONSUME_TIME": "0",
        "__BORNHOST": "laptop", "BORN_TIMESTAMP": str(START_MS - 5), "TRACE_CONTEXT": "tc",
    }  # fmt: skip
    assert wanted.items() <= record.property_map().items()


def test_a_message_without_a_born_host_gets_the_clients_address(harness: GrpcHarness) -> None:
    harness.topic()
    send(harness, a_message())
    assert stored(harness)[0].property_map()["__BORNHOST"] == "10.0.0.7:40000"


def test_messages_go_to_each_queue_in_turn(harness: GrpcHarness) -> None:
    """Messages go to the queues in rotation from a random start. The client's queue id is ignored."""
    harness.topic(queues=4)
    for _ in range(8):
        send(harness, a_message(queue_id=2))
    assert [len(stored(harness, queue=queue)) for queue in range(4)] == [2, 2, 2, 2]


def test_a_message_group_always_goes_to_the_same_queue(harness: GrpcHarness) -> None:
    """Messages of a message group go to one queue, by a consistent hash over the writable queues."""
    harness.topic(queues=8, kind="FIFO")
    for group in ("orders-1", "orders-2", "orders-3"):
        for number in range(3):
            send(harness, a_message(body=f"{group} {number}".encode(), message_group=group))
    held = {tuple(record.body for record in stored(harness, queue=queue)) for queue in range(8)} - {()}
    for group in ("orders-1", "orders-2", "orders-3"):
        mine = [bodies for bodies in held if any(body.startswith(group.encode()) for body in bodies)]
        assert len(mine) == 1
        assert [b for b in mine[0] if b.startswith(group.encode())] == [f"{group} {n}".encode() for n in range(3)]


@pytest.mark.parametrize("buckets", [1, 2, 3, 8, 1000])
def test_a_key_stays_or_moves_to_the_new_bucket_when_a_bucket_is_added(buckets: int) -> None:
    """If a bucket is added, each key keeps its bucket or moves to the new one, as jump consistent hashing requires."""
    for key in range(-300, 300):
        before, after = consistent_hash(key, buckets), consistent_hash(key, buckets + 1)
        assert 0 <= before < buckets
        assert after in (before, buckets)


@pytest.mark.parametrize(
    ("group", "queues"),
    [
        ("g", [0, 1, 1, 12]),
        ("orders-1", [0, 3, 4, 15]),
        ("orders-2", [0, 3, 4, 8]),
        ("é", [0, 0, 7, 7]),
        ("a-much-longer-message-group-name", [0, 2, 6, 6]),
        ("\N{GRINNING FACE}", [0, 1, 4, 4]),
    ],
)
def test_a_message_group_gets_the_same_queue_as_in_upstream(group: str, queues: list[int]) -> None:
    """The queues are those of Hashing.consistentHash(group.hashCode(), n) for n = 1, 4, 8, 16 in Guava 32.0.1."""
    assert [consistent_hash(string_hash(group), count) for count in (1, 4, 8, 16)] == queues


@pytest.mark.parametrize(
    ("value", "bucket"), [(-20_000, 967_718_913), (0, 0), (7, 1_388_389_443), (1_234_567_890_123, 672_846_944)]
)
def test_a_hash_gets_the_same_of_2147483647_buckets_as_in_guava(value: int, bucket: int) -> None:
    """The buckets are those of Hashing.consistentHash(value, 2147483647) in Guava 32.0.1."""
    assert consistent_hash(value, 0x7FFFFFFF) == bucket


def test_a_batch_is_stored_under_the_first_messages_id_and_returns_one_entry(harness: GrpcHarness) -> None:
    """The entry has a new id, and every message is stored with the id and the properties of the first one."""
    harness.topic()
    first = a_message(body=b"1", message_id="first", user={"a": "1"})
    second = a_message(body=b"2", message_id="second", user={"b": "2"})
    response = send(harness, first, second)
    (entry,) = response.entries
    assert entry.message_id not in ("", "first", "second")
    assert (entry.transaction_id, entry.offset, response.status.code) == ("first", 0, 20000)
    records = stored(harness)
    assert [record.body for record in records] == [b"1", b"2"]
    assert [record.property_map()["UNIQ_KEY"] for record in records] == ["first", "first"]
    assert records[1].property_map()["a"] == "1"
    assert records[1].property_map()["b"] == "2"


def test_a_batch_with_several_topics_is_rejected(harness: GrpcHarness) -> None:
    """A batch with several topics or namespaces is rejected; the error of an invalid first message has precedence."""
    harness.topic()
    harness.topic("U")
    for other in (a_message("U"), a_message(namespace="ns")):
        status = send(harness, a_message(), other).status
        assert (status.code, status.message) == (40016, "topic in message is not same")
        assert send(harness, a_message(body=b""), other).status.code == 41302


def test_an_invalid_message_rejects_its_whole_batch(harness: GrpcHarness) -> None:
    """An invalid message in a batch rejects the whole batch. Only the first message's type is checked."""
    harness.topic()
    assert send(harness, a_message(), a_message(tag=" ")).status.code == 40004
    assert stored(harness) == []
    assert send(harness, a_message(), a_message(message_group="g")).status.code == 20000


def test_half_messages_cannot_be_sent_as_a_batch(harness: GrpcHarness) -> None:
    """A batch of half messages is rejected by the broker: INTERNAL_SERVER_ERROR with its remark."""
    harness.topic(kind="TRANSACTION")
    status = send(harness, *[a_message(message_type=pb.TRANSACTION)] * 2).status
    assert (status.code, status.message) == (
        50001,
        PROXY_EXCEPTION + "the message is illegal, maybe msg body or properties length not matched. "
        "msg body length limit 4194304B, msg properties length limit 32KB.",
    )


def test_a_batch_that_is_too_large_is_rejected(harness: GrpcHarness) -> None:
    """A batch that is too large is rejected with an exception of the broker in the proxy's form."""
    harness.topic()
    status = send(harness, *[a_message(body=bytes(2_000_000))] * 3).status
    assert (status.code, status.message) == (
        50001,
        "message body size exceeded. RuntimeException. "
        "org.apache.rocketmq.store.MessageExtEncoder.encode(MessageExtEncoder.java:290)",
    )


def test_a_half_message_is_rejected_if_the_broker_forbids_transactions() -> None:
    """A broker that rejects half messages returns its remark."""
    harness = GrpcHarness(BrokerConfig(reject_transaction_message=True))
    harness.topic(kind="TRANSACTION")
    status = send(harness, a_message(message_type=pb.TRANSACTION)).status
    text = "the broker[127.0.0.1] sending transaction message is forbidden"
    assert (status.code, status.message) == (50001, PROXY_EXCEPTION + text)


def test_messages_are_sent_to_the_queues_of_all_masters() -> None:
    """Messages go to the queues of all masters, and a receive gets those of the named broker."""
    harness = GrpcHarness(BrokerConfig(), BrokerConfig(broker_name="broker-b"))
    for broker in harness.engine.brokers:
        harness.broker = broker
        harness.topic(queues=2)
    for number in range(8):
        send(harness, a_message(body=str(number).encode()))
    seen = []
    for broker_name in ("broker-a", "broker-b"):
        received = harness.client().receive(a_receive(broker=broker_name))
        assert all(handle.split(" ")[5] == broker_name for handle in received.handles)
        seen.append(len(received.bodies))
    assert seen == [4, 4]


@pytest.mark.parametrize(("most", "code"), [(13, pb.OK), (12, pb.MESSAGE_PROPERTIES_TOO_LARGE)])
def test_properties_may_be_as_large_as_the_limit(most: int, code: int) -> None:
    """User properties, tag and keys together may be as large as the limit."""
    harness = GrpcHarness(proxy=ProxyConfig(max_user_property_size=most))
    harness.topic()
    message = a_message(user={"a": "b", "c": "de"}, tag="tag", keys=["k1", "k2", "k"])
    response = harness.client().ask("SendMessage", a_send(message))
    assert (response.entries[0].status.code if response.entries else response.status.code) == code
