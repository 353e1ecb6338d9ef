"""Messages of requests, responses and pushes, and the criteria about them."""

import zlib

from fault_rules import WATCH, Rules
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import through
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit.conformance.clients.remoting_sends import batch_request
from rocketmq_testkit.emulator.faults.kinds.requests import DropPush
from rocketmq_testkit.emulator.faults.message_facts import MessageFacts


@through("remoting", "grpc")
def test_messages_of_sends_and_acknowledgements_match_by_tag_key_property_and_body(e: ProtocolClient) -> None:
    """A send is matched by its own message, an acknowledgement or change of the duration by the stored message."""
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
    assert found[1].fired == 1, "a message of a retry topic still matches"


@through("remoting")
def test_messages_of_batches_and_transactions_are_looked_up(e: BrokerProtocolClient) -> None:
    """Criteria match any message of a batch or of a batch acknowledgement, and the half message of an end."""
    rules = Rules(e.engine)
    e.topic()
    batch, plain, acks = (
        rules.add(WATCH, operation=each, tag="b")
        for each in ("SEND_BATCH_MESSAGE", "SEND_MESSAGE_V2", "BatchAckMessage")
    )
    e.send_batch_with_properties((b"1", {"TAGS": "a"}), (b"2", {"TAGS": "b"}))
    e.send_batch_with_properties((b"3", {"TAGS": "c"}))
    assert (batch.matched, plain.matched) == (1, 0)
    assert e.ack(*(each.handle for each in e.take())).ok
    assert acks.matched == 1
    ends = rules.add(WATCH, operation="EndTransaction", tag="half", topic="T")
    backs = rules.add(WATCH, operation="SendMessageBack", tag="b")
    sent = e.put(b"half", tag="half", half=True)
    e.start_end(sent, 8, topic="none")
    assert ends.matched == 1
    assert [rule.matched for rule in (ends, backs)] == [1, 0]
    e.send_back(e.records("T")[1].physical_offset)
    assert backs.matched == 1


@through("remoting")
def test_a_malformed_batch_matches_no_message_and_is_rejected_by_the_broker(e: RemotingProtocolClient) -> None:
    """With a rule about messages, a malformed batch still gets the broker's response."""
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
    e.register_producer("producer")
    meets = {"operation": "CheckTransactionState", "topic": "T", "key": "k", "body_matches": "base64:aGE="}
    dropped = rules.add(DropPush(), times=1, client="producer", **meets)
    others = [
        rules.add(DropPush(), **{**meets, **one})
        for one in ({"key": "l"}, {"topic": "U"}, {"client": "x"}, {"body_matches": "HA"})
    ]
    e.put(b"half", keys="k", half=True, immune_s=1)
    e.advance(90_000)
    assert (dropped.fired, [rule.matched for rule in others]) == (1, [0, 0, 0, 0])
    assert e.transaction_checks("producer"), "only the first check is lost"


def test_a_compressed_body_is_searched_as_the_application_sent_it() -> None:
    """A zlib body is decompressed; a body with another compression, or a broken one, is searched without that."""
    packed = zlib.compress(b"order-42")
    assert MessageFacts(body=packed, properties={}, sys_flag=1).readable_body == b"order-42"
    assert MessageFacts(body=packed, properties={}, sys_flag=0x301).readable_body == b"order-42"
    assert MessageFacts(body=packed, properties={}, sys_flag=0x101).readable_body == packed
    assert MessageFacts(body=b"no zlib", properties={}, sys_flag=1).readable_body == b"no zlib"
    assert len(MessageFacts(body=zlib.compress(bytes(10**7)), properties={}, sys_flag=1).readable_body) == 65_536
