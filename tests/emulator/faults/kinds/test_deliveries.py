"""Faults of deliveries, for pops over both protocols, ordered pops and pulls."""

from typing import Any

import pytest
from fault_rules import Rules
from grpc_protocol_client import GrpcProtocolClient
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import protocol_client, through
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit.emulator.faults.kinds.deliveries import (
    CorruptChecksum,
    DeliverToSecondConsumer,
    DuplicateDelivery,
    ReorderDelivery,
    SkipDelivery,
)
from rocketmq_testkit.emulator.faults.kinds.services import StopRevive

POP = {"operation": "PopMessage"}
PULL = {"operation": "PullMessage"}
FAULTS = (CorruptChecksum(), DeliverToSecondConsumer(), DuplicateDelivery(), ReorderDelivery(), SkipDelivery())


def _ordered(e: ProtocolClient, number: int = 3) -> None:
    e.fifo()
    e.send(*(b"%d" % each for each in range(number)), message_group="g")


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("client", ["remoting", "grpc"])
def test_a_pop_without_messages_is_no_match(client: str, fault: Any) -> None:
    """Only deliveries are matches, so empty polls of a consumer do not use up a rule that may fire once."""
    e = protocol_client(client)
    e.topic()
    rule = Rules(e.engine).add(fault, times=1, **POP)
    assert e.bodies() == []
    waiting = e.pop(poll_ms=1_000)
    e.advance(30_000)
    assert (waiting.response is None or waiting.response.messages == [], rule.matched) == (True, 0)
    e.send(b"1", b"2")
    e.take()
    assert rule.fired == 1


@through("remoting", "grpc")
def test_duplicate_delivery_repeats_the_selected_messages_in_one_response(e: ProtocolClient) -> None:
    """Both copies have the same handle, and one acknowledgement acknowledges both."""
    e.topic()
    Rules(e.engine).add(DuplicateDelivery(), body_matches="[13]", **POP)
    e.send(b"1", b"2", b"3")
    taken = e.take()
    assert [each.body for each in taken] == [b"1", b"1", b"2", b"3", b"3"]
    assert taken[0] == taken[1]
    for each in taken:
        e.ack(each.handle)
    e.advance(60_000)
    assert e.bodies() == []


def test_a_duplicate_is_listed_twice_for_remoting_clients() -> None:
    """Clients find the offset of a message by its position in the list of its queue (MQClientAPIImpl, 5.3.3)."""
    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    Rules(e.engine).add(DuplicateDelivery(), body_matches="1", **POP)
    e.send(b"0", b"1", b"2")
    waiting = e.pop()
    fields = waiting.frame.ext_fields  # type: ignore[attr-defined]  # of a remoting client
    assert fields["msgOffsetInfo"] == "0 0 0,1,1,2"


@through("remoting", "grpc")
def test_reorder_delivery_reverses_the_messages_of_one_response(e: ProtocolClient) -> None:
    """Each message keeps its own handle."""
    e.topic()
    rule = Rules(e.engine).add(ReorderDelivery(), **POP)
    e.send(b"1", b"2", b"3")
    taken = e.take()
    assert [(each.body, each.offset) for each in taken] == [(b"3", 2), (b"2", 1), (b"1", 0)]
    for each in taken:
        assert e.ack(each.handle).ok
    e.send(b"4")
    assert (e.bodies(), rule.fired) == ([b"4"], 1)
    e.advance(60_000)
    assert e.bodies() == [b"4"]


def test_corrupt_checksum_is_seen_by_remoting_clients() -> None:
    """The checksum of the record does not match its body; those of other messages do."""
    from zlib import crc32

    from rocketmq_testkit.emulator.message.stored_record import CRC_MASK, decode

    e = protocol_client("remoting")
    assert isinstance(e, RemotingProtocolClient)
    e.topic()
    Rules(e.engine).add(CorruptChecksum(), body_matches="bad", **PULL)
    e.send(b"good", b"bad")
    response = e.pull(0).frame
    assert response is not None
    body = response.body
    size = int.from_bytes(body[:4], "big")
    records = [decode(body[:size]), decode(body[size:])]
    assert [each.body_crc == crc32(each.body) & CRC_MASK for each in records] == [True, False]
    assert all(each.body_crc == crc32(each.body) & CRC_MASK for each in e.records("T")), "the store is unchanged"


def test_corrupt_checksum_is_seen_by_grpc_clients() -> None:
    """The message's digest does not match its body."""
    e = protocol_client("grpc")
    assert isinstance(e, GrpcProtocolClient)
    e.topic()
    rules = Rules(e.engine)
    e.send(b"body")
    rule = rules.add(CorruptChecksum(), times=1, **POP)
    digests = []
    for _ in range(2):
        received = e.pop()._received  # type: ignore[attr-defined]  # of a gRPC client
        digests.append(received.messages[0].system_properties.body_digest.checksum)
        e.advance(60_000)
    assert rule.fired == 1
    assert digests[0] != digests[1]


@through("remoting", "grpc")
def test_a_second_consumer_gets_the_message_while_it_is_in_flight_to_the_first(e: ProtocolClient) -> None:
    """The broker stores the message in the retry topic, as after the end of the invisible duration."""
    e.topic()
    Rules(e.engine).add(DeliverToSecondConsumer(), body_matches="1", times=1, **POP)
    e.send(b"1", b"2")
    first = e.take(invisible_ms=600_000)
    assert [each.body for each in first] == [b"1", b"2"]
    e.advance(10_000)
    second = e.take(client="other", invisible_ms=600_000)
    assert [(each.body, each.attempt) for each in second] == [(b"1", 1)]
    assert e.ack(second[0].handle).ok
    e.ack(first[0].handle)
    e.ack(first[1].handle)
    e.advance(1_200_000)
    assert e.bodies() == []


@through("remoting", "grpc")
def test_a_second_consumer_gets_messages_of_an_ordered_pop(e: ProtocolClient) -> None:
    """The first consumer's batch no longer blocks the queue."""
    _ordered(e, 2)
    Rules(e.engine).add(DeliverToSecondConsumer(), times=1, **POP)
    first = e.take(order=True, invisible_ms=600_000)
    assert [each.body for each in first] == [b"0", b"1"]
    e.advance(2)
    assert e.bodies(order=True, client="other", attempt="other", invisible_ms=600_000) == [b"0", b"1"]


@through("remoting", "grpc")
def test_duplicates_and_reversed_messages_of_an_ordered_pop_are_acknowledged_once(e: ProtocolClient) -> None:
    """The broker's batch stays as it is: the queue is unblocked when each of its messages was acknowledged once."""
    for fault in (DuplicateDelivery(), ReorderDelivery()):
        e = protocol_client(e.name)
        _ordered(e)
        rule = Rules(e.engine).add(fault, times=1, **POP)
        taken = e.take(order=True)
        assert sorted({each.body for each in taken}) == [b"0", b"1", b"2"]
        assert [each.body for each in taken] != [b"0", b"1", b"2"]
        for handle in dict.fromkeys(each.handle for each in taken):
            assert e.ack(handle).ok
        e.send(b"3", message_group="g")
        assert (e.bodies(order=True), rule.fired) == ([b"3"], 1)


@through("remoting", "grpc")
def test_a_skipped_message_is_delivered_when_the_rule_is_removed(e: ProtocolClient) -> None:
    """Other messages are delivered meanwhile."""
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(SkipDelivery(), key="late", **POP)
    e.send(b"1", keys="late")
    e.send(b"2")
    assert e.bodies(invisible_ms=600_000) == [b"2"]
    e.advance(60_000)
    assert e.bodies() == []
    rules.remove(rule)
    e.advance(5_000)
    assert e.bodies(invisible_ms=600_000) == [b"1"]
    e.advance(300_000)
    assert e.bodies() == []


KV_RECORDS = {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True}


@pytest.mark.parametrize("keys", [{}, KV_RECORDS], ids=["check-points", "kv-records"])
@pytest.mark.parametrize("client", ["remoting", "grpc"])
def test_a_waiting_pop_gets_a_skipped_message_when_the_rule_is_removed(client: str, keys: dict[str, Any]) -> None:
    """The pop gets it at once, without the delay of a revive, which moreover wakes no waiting pop."""
    e = protocol_client(client, **keys)
    e.topic()
    rules = Rules(e.engine)
    skip = rules.add(SkipDelivery(), **POP)
    e.send(b"1")
    assert e.bodies(invisible_ms=600_000) == []
    waiting = e.pop(poll_ms=20_000, invisible_ms=600_000)
    e.advance(100)
    assert waiting.response is None
    rules.remove(skip)
    assert waiting.response is not None
    assert [each.body for each in waiting.response.messages] == [b"1"]
    assert e.ack(waiting.response.messages[0].handle).ok
    e.advance(1_200_000)
    assert e.bodies() == []


@pytest.mark.parametrize("keys", [{}, KV_RECORDS], ids=["check-points", "kv-records"])
@pytest.mark.parametrize("client", ["remoting", "grpc"])
def test_a_second_consumer_that_waits_gets_the_message_at_once(client: str, keys: dict[str, Any]) -> None:
    """The second consumer gets a copy of the message, which the first one's acknowledgement does not affect."""
    e = protocol_client(client, **keys)
    e.topic()
    Rules(e.engine).add(DeliverToSecondConsumer(), times=1, **POP)
    e.send(b"1")
    (first,) = e.take(invisible_ms=600_000)
    waiting = e.pop(client="other", poll_ms=20_000, invisible_ms=600_000)
    e.advance(1)
    assert waiting.response is not None
    assert [(each.body, each.attempt) for each in waiting.response.messages] == [(b"1", 1)]
    e.ack(first.handle)
    assert e.ack(waiting.response.messages[0].handle).ok
    e.advance(1_200_000)
    assert e.bodies() == []


@through("remoting", "grpc")
def test_a_skipped_message_is_not_delivered_while_another_rule_stops_revive(e: ProtocolClient) -> None:
    """The group gets the message when both rules are removed."""
    e.topic()
    rules = Rules(e.engine)
    skip, stop = rules.add(SkipDelivery(), **POP), rules.add(StopRevive())
    e.send(b"1")
    assert e.bodies(invisible_ms=600_000) == []
    rules.remove(skip)
    e.advance(10_000)
    assert e.bodies() == []
    rules.remove(stop)
    e.advance(5_000)
    assert e.bodies() == [b"1"]


@through("remoting", "grpc")
def test_a_message_that_was_skipped_past_its_invisible_duration_is_delivered_once(e: ProtocolClient) -> None:
    """The broker redelivers it, the rule skips it again, and only its last copy is delivered after the rule."""
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(SkipDelivery(), key="late", **POP)
    e.send(b"1", keys="late")
    for _ in range(4):
        assert e.bodies() == []
        e.advance(30_000)
    assert rule.fired >= 3
    assert e.bodies(invisible_ms=60_000) == []
    rules.remove(rule)
    e.advance(10_000)
    (taken,) = e.take(invisible_ms=60_000)
    assert e.ack(taken.handle).ok
    e.advance(600_000)
    assert e.bodies() == []


@through("remoting", "grpc")
def test_a_rule_that_is_removed_after_the_invisible_duration_delivers_nothing_twice(e: ProtocolClient) -> None:
    """The broker has revived the message already, so the removal does not make it visible a second time."""
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(SkipDelivery(), key="late", **POP)
    e.send(b"1", keys="late")
    assert e.bodies() == []
    e.advance(60_000)
    rules.remove(rule)
    e.advance(10_000)
    (taken,) = e.take(invisible_ms=60_000)
    assert e.ack(taken.handle).ok
    e.advance(600_000)
    assert e.bodies() == []


@through("remoting", "grpc")
def test_a_message_that_is_skipped_for_several_groups_is_delivered_to_each(e: ProtocolClient) -> None:
    """Each group gets the message when the rule is removed."""
    e.topic()
    rules = Rules(e.engine)
    rule = rules.add(SkipDelivery(), **POP)
    e.send(b"1")
    for group in ("G", "H"):
        assert e.bodies(group=group, begin=0, invisible_ms=600_000) == []
    rules.remove(rule)
    e.advance(5_000)
    assert [e.bodies(group=group) for group in ("G", "H")] == [[b"1"], [b"1"]]


@through("remoting", "grpc")
def test_a_skipped_message_of_an_ordered_pop_blocks_its_queue(e: ProtocolClient) -> None:
    """For the broker it is in flight, so later messages wait until the client gets it and acknowledges it."""
    _ordered(e)
    rules = Rules(e.engine)
    rule = rules.add(SkipDelivery(), body_matches="1", **POP)
    taken = e.take(order=True, invisible_ms=600_000)
    assert [each.body for each in taken] == [b"0", b"2"]
    e.send(b"3", message_group="g")
    for each in taken:
        e.ack(each.handle)
    assert e.bodies(order=True) == []
    rules.remove(rule)
    e.advance(2)
    (late,) = e.take(order=True, count=1)
    assert late.body == b"1"
    assert e.ack(late.handle).ok
    assert b"3" in e.bodies(order=True)


@through("remoting")
def test_a_pull_has_the_same_faults(e: BrokerProtocolClient) -> None:
    """The next offset of the pull is after all messages, even skipped ones."""
    expected: list[tuple[Any, list[bytes]]] = [
        (DuplicateDelivery(), [b"0", b"1", b"1", b"2"]),
        (ReorderDelivery(), [b"2", b"1", b"0"]),
        (CorruptChecksum(), [b"0", b"1", b"2"]),
        (DeliverToSecondConsumer(), [b"0", b"1", b"2"]),
        (SkipDelivery(), [b"0", b"2"]),
    ]
    for fault, bodies in expected:
        e = protocol_client("remoting")  # type: ignore[assignment]  # it has the requests of a broker
        e.fill_topic(3)
        Rules(e.engine).add(fault, body_matches="1", **PULL)
        response = e.pull(0).response
        assert response is not None
        assert (response.bodies, response.number) == (bodies, 3)


@through("remoting")
def test_messages_of_a_pull_are_redelivered_through_the_retry_topic(e: BrokerProtocolClient) -> None:
    """A message for a second consumer arrives after the shortest delay, a skipped one when the rule is removed."""
    e.fill_topic(2)
    e.group()
    rules = Rules(e.engine)
    rules.add(DeliverToSecondConsumer(), body_matches="0", **PULL)
    skip = rules.add(SkipDelivery(), body_matches="1", **PULL)
    for _ in range(2):  # a consumer that restarts without a commit pulls the same offsets again
        response = e.pull(0).response
        assert response is not None
        assert response.bodies == [b"0"]
    e.advance(10_000)
    assert [record.body for record in e.records("%RETRY%G")] == [b"0", b"0"]
    rules.remove(skip)
    e.advance(10_000)
    assert [record.body for record in e.records("%RETRY%G")] == [b"0", b"0", b"1"]


@through("remoting")
def test_a_pull_whose_messages_are_all_skipped_is_repeated_at_once(e: BrokerProtocolClient) -> None:
    """The response is that of a filtered message: no messages, and the offset after them."""
    e.fill_topic(1)
    Rules(e.engine).add(SkipDelivery(), **PULL)
    response = e.pull(0).response
    assert response is not None
    assert (response.code, response.remark, response.number) == (20, "NO_MATCHED_MESSAGE", 1)


@through("remoting", "grpc")
def test_a_pop_whose_messages_are_all_skipped_gets_the_response_of_an_empty_pop_at_once(e: ProtocolClient) -> None:
    e.topic()
    Rules(e.engine).add(SkipDelivery(), key="late", **POP)
    e.send(b"1", keys="late")
    response = e.pop(poll_ms=10_000).response
    assert response is not None
    assert e.is_error(response, (210, "NO_MESSAGE_IN_QUEUE"), (40401, "no new message"))


@through("remoting", "grpc")
def test_the_journal_has_the_messages_that_the_client_got(e: ProtocolClient) -> None:
    """A skipped message is missing in the outcome, a duplicate is in it twice. Entries of the rules precede it."""
    e.topic()
    rules = Rules(e.engine)
    rules.add(SkipDelivery(), body_matches="1", name="skip", **POP)
    rules.add(DuplicateDelivery(), body_matches="2", **POP)
    e.send(b"1", b"2")
    assert e.bodies() == [b"2", b"2"]
    *_, first, second, last = e.engine.journal
    assert [(each.event, each.outcome.rule) for each in (first, second)] == [  # type: ignore[union-attr]  # of rules
        ("faulted", "skip"),
        ("faulted", "duplicate_delivery"),
    ]
    assert (last.event, last.outcome.msg_offset_info) == ("responded", "0 0 1,1")  # type: ignore[union-attr]  # of a pop


def test_the_model_of_deliveries_has_the_messages_that_the_client_got() -> None:
    """A jump of the clock waits for a delivered message, not for a skipped one."""
    e = protocol_client("grpc")
    e.topic()
    rules = Rules(e.engine)
    rules.add(SkipDelivery(), body_matches="1", **POP)
    rules.add(DuplicateDelivery(), body_matches="2", **POP)
    e.send(b"1", b"2")
    assert e.bodies() == [b"2", b"2"]
    assert [each.offset for each in e.engine.deliveries.in_flight()] == [1]
