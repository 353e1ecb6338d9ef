"""Facts of operations and effects: topics, groups and messages."""

import zlib
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from fault_rules import WATCH, Rules
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import through
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit.conformance.clients.remoting_sends import batch_request
from rocketmq_testkit.emulator.faults.kinds.requests import DropPush
from rocketmq_testkit.emulator.faults.subject import MessageFacts, has_groups, has_topics
from rocketmq_testkit.emulator.faults.vocabulary import Vocabulary

WITHOUT_NAME = {
    "GetNamesrvTopicList": "lists the topics of a cluster",
    "GetBrokerTopicList": "lists all topics",
    "GetUnitTopicList": "lists the topics of a unit",
    "CreateUser": "the body names users only",
    "PutAcl": "resources of policies are patterns, not topics",
    "DeleteAcl": "resources of policies are patterns, not topics",
    "ListAcls": "resources of policies are patterns, not topics",
    "RequestRunningInfo": "",
    "ClientResponded": "correlated by its ticket",
}
_VOCABULARY = Vocabulary()
CLASSES = sorted({**_VOCABULARY.operations, **_VOCABULARY.effects}.items())


def _words(kind: type, depth: int = 0) -> set[str]:
    """Return the names of the fields of a class and of the classes that it contains."""
    found: set[str] = set()
    hints = get_type_hints(kind)
    for each in fields(kind):
        found.add(each.name)
        for part in _parts(hints[each.name]):
            if is_dataclass(part) and depth < 3:
                found |= _words(part, depth + 1)  # type: ignore[arg-type]  # a class
    return found


def _parts(hint: Any) -> list[Any]:
    return [hint] if get_origin(hint) is None else [part for each in get_args(hint) for part in _parts(each)]


@pytest.mark.parametrize(("name", "kind"), CLASSES, ids=[name for name, _ in CLASSES])
def test_every_class_with_a_topic_or_a_group_gives_it(name: str, kind: type) -> None:
    """A new operation or effect with a field about a topic or a group has these facts, or a reason not to."""
    words = _words(kind)
    assert has_topics(kind) or not any("topic" in word for word in words - {"default_topic"}) or name in WITHOUT_NAME
    about_groups = {word for word in words if "group" in word} - {"filter_groups"}
    assert has_groups(kind) or not about_groups or name in WITHOUT_NAME
    if "ext_fields" in words and name.startswith("Request"):
        assert has_groups(kind)


@through("remoting", "grpc")
def test_messages_of_sends_and_acknowledgements_match_by_tag_key_property_and_body(e: ProtocolClient) -> None:
    """A send has its message; an acknowledgement and a change of the invisible duration have the stored one."""
    rules = Rules(e.engine)
    e.topic()
    meets = {"tag": "red", "key": "k2", "property": {"color": "blue"}, "body_matches": "^or.er$"}
    found = [rules.add(WATCH, operation=name, **meets) for name in ("SendMessage", "AckMessage", "ChangeInvisibleTime")]
    misses = [rules.add(WATCH, operation="AckMessage", **{**meets, **one}) for one in ({"tag": "green"}, {"key": "k"})]
    e.put(b"order", tag="red", keys="k1 k2", color="blue")
    e.put(b"order", tag="green", keys="k1 k2", color="blue")
    e.put(b"order", tag="red", keys="k1 k2", color="red")
    first, second, third = e.take()
    assert e.change(first.handle, 20_000).ok
    assert all(e.ack(each.handle).ok for each in (second, third))
    assert [rule.fired for rule in found] == [1, 0, 1]
    assert [rule.matched for rule in misses] == [1, 0]
    e.advance(40_000)
    (again,) = e.take()
    assert e.ack(again.handle).ok
    assert found[1].fired == 1, "a message of a retry topic keeps its facts"


@through("remoting")
def test_messages_of_batches_and_transactions_are_looked_up(e: BrokerProtocolClient) -> None:
    """Each message of a batch counts, also in a batch acknowledgement; an end of a transaction has its half message."""
    rules = Rules(e.engine)
    e.topic()
    batch, plain, acks = (
        rules.add(WATCH, operation=each, tag="b")
        for each in ("SEND_BATCH_MESSAGE", "SEND_MESSAGE_V2", "BatchAckMessage")
    )
    e.batch((b"1", {"TAGS": "a"}), (b"2", {"TAGS": "b"}))
    e.batch((b"3", {"TAGS": "c"}))
    assert (batch.matched, plain.matched) == (1, 0)
    assert e.ack(*(each.handle for each in e.take())).ok
    assert acks.matched == 1
    ends = rules.add(WATCH, operation="EndTransaction", tag="half", topic="T")
    backs = rules.add(WATCH, operation="SendMessageBack", tag="b")
    sent = e.put(b"half", tag="half", half=True)
    e.ending(sent, 8, topic="none")
    assert ends.matched == 1
    assert [rule.matched for rule in (ends, backs)] == [1, 0]
    e.send_back(e.records("T")[1].physical_offset)
    assert backs.matched == 1


@through("remoting")
def test_a_malformed_batch_matches_no_message_and_is_refused_by_the_broker(e: RemotingProtocolClient) -> None:
    """A rule about messages does not break the response to a malformed batch."""
    rules = Rules(e.engine)
    e.topic()
    rule, every = rules.add(WATCH, operation="SendMessage", tag="b"), rules.add(WATCH, operation="SendMessage")
    request = batch_request("T", b"no batch", born_ms=e.now_ms)
    assert e.peer().ask(*request).code == 1
    assert (rule.matched, every.matched) == (0, 1)


@through("remoting", "grpc")
def test_a_transaction_check_has_group_topic_and_message(e: ProtocolClient) -> None:
    """The group of a check is that of the producer, its message the half message."""
    rules = Rules(e.engine)
    e.topic(kind="TRANSACTION")
    e.produce("producer")
    meets = {"operation": "CheckTransactionState", "topic": "T", "key": "k", "body_matches": "base64:aGE="}
    dropped = rules.add(DropPush(), times=1, client="producer", **meets)
    others = [
        rules.add(DropPush(), **{**meets, **one})
        for one in ({"key": "l"}, {"topic": "U"}, {"client": "x"}, {"body_matches": "HA"})
    ]
    e.put(b"half", keys="k", half=True, immune_s=1)
    e.advance(90_000)
    assert (dropped.fired, [rule.matched for rule in others]) == (1, [0, 0, 0, 0])
    assert e.asked("producer"), "only the first check is lost"


def test_a_compressed_body_is_searched_as_the_application_sent_it() -> None:
    """zlib is decompressed; another compression and a broken body are searched as they are."""
    packed = zlib.compress(b"order-42")
    assert MessageFacts(body=packed, properties={}, sys_flag=1).readable_body == b"order-42"
    assert MessageFacts(body=packed, properties={}, sys_flag=0x301).readable_body == b"order-42"
    assert MessageFacts(body=packed, properties={}, sys_flag=0x101).readable_body == packed
    assert MessageFacts(body=b"no zlib", properties={}, sys_flag=1).readable_body == b"no zlib"
    assert len(MessageFacts(body=zlib.compress(bytes(10**7)), properties={}, sys_flag=1).readable_body) == 65_536
