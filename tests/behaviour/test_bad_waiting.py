"""Invalid requests for delayed, timed, half and retried messages: upstream errors without any effect."""

from base64 import urlsafe_b64encode
from dataclasses import replace
from typing import Any

import pytest
from grpc_protocol_client import GrpcProtocolClient
from grpc_texts import PROXY_EXCEPTION, short_handle, type_conflict
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from virtual_brokers import START_MS

FAR = 1 << 40
NOT_A_NUMBER = 'java.lang.NumberFormatException: For input string: "{}"'
ILLEGAL = "timer message illegal, the delay time should not be bigger than the max delay 259200000ms;"
INVALID = "recall handle is invalid"
NOT_FOUND = (50001, PROXY_EXCEPTION + "cannot found transaction data")
COMMIT, ROLLBACK = 8, 12
Error = tuple[int, str]
"""Code and beginning of the remark."""


# Delay levels and times.


@through(*BROKER)
@pytest.mark.parametrize("level", ["x", "1.5", " 1", "1 ", "0x1", "1s", "99999999999", "-99999999999", "+", "١²"])
def test_a_send_with_a_delay_level_that_is_not_a_number_is_rejected(e: BrokerProtocolClient, level: str) -> None:
    """A send whose delay level is not a 32-bit number is rejected."""
    e.topic()
    before = e.state()
    sent = e.put(DELAY=level)
    assert (sent.code, sent.remark.startswith(NOT_A_NUMBER.format(level))) == (1, True), sent
    assert e.state() == before


@through(*BROKER)
@pytest.mark.parametrize("name", ["TIMER_DELIVER_MS", "TIMER_DELAY_MS", "TIMER_DELAY_SEC"])
@pytest.mark.parametrize("value", ["soon", "1.5", " 1", "1s", "9" * 25, "-" + "9" * 25])
def test_a_send_with_a_timer_property_that_is_not_a_number_is_rejected(
    e: BrokerProtocolClient, name: str, value: str
) -> None:
    """A send whose timer property is not a 64-bit number is rejected."""
    e.topic()
    before = e.state()
    times: dict[str, Any] = {name: value}
    sent = e.put(**times)
    assert (sent.code, sent.remark.startswith(ILLEGAL)) == (13, True), sent
    assert e.state() == before


@through(*BROKER)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIMER_DELAY_MS", 259_200_001),
        ("TIMER_DELAY_SEC", 259_201),
        ("TIMER_DELIVER_MS", START_MS + 259_200_001),
        ("TIMER_DELIVER_MS", START_MS + 40 * 86_400_000),
        ("TIMER_DELIVER_MS", 2**63 - 1),
    ],
)
def test_a_send_with_a_timer_more_than_three_days_ahead_is_rejected(
    e: BrokerProtocolClient, name: str, value: int
) -> None:
    e.topic()
    before = e.state()
    times: dict[str, Any] = {name: str(value)}
    sent = e.put(**times)
    assert (sent.code, sent.remark.startswith(ILLEGAL)) == (13, True), sent
    assert e.state() == before


@through(*BROKER)
@pytest.mark.parametrize("topic", ["SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "RMQ_SYS_TRANS_HALF_TOPIC"])
def test_sends_to_topics_of_delayed_timed_and_half_messages_are_rejected(e: BrokerProtocolClient, topic: str) -> None:
    """Sends to topics of delayed, timed, half and op messages or discarded transactions are rejected."""
    for name in (topic, "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"):
        before = e.state()
        sent = e.put(topic=name)
        assert (sent.code, sent.remark) == (16, f"Sending message to topic[{name}] is forbidden.")
        assert e.state() == before


@through("grpc")
@pytest.mark.parametrize("kind", ["NORMAL", "FIFO", "TRANSACTION"])
def test_the_proxy_rejects_a_delivery_time_unless_the_topic_is_of_type_delay(e: ProtocolClient, kind: str) -> None:
    """The proxy rejects a delivery time, even a past one, unless the topic is of type DELAY."""
    e.topic(kind=kind)
    before = e.state()
    for ms in (START_MS + 5_000, START_MS - 5_000):
        sent = e.put(deliver_ms=ms)
        assert (sent.code, sent.remark) == (40014, type_conflict(kind, "DELAY"))
    assert e.state() == before


# Recall.


def _handle(*fields: object) -> str:
    return urlsafe_b64encode(" ".join(map(str, fields)).encode()).decode()


SOON = START_MS + 20_000
HANDLES: dict[str, tuple[str, str]] = {
    "nothing": ("", INVALID),
    "garbage": ("garbage", INVALID),
    "no Base64": ("!!!", INVALID),
    "other text": (_handle("hello", "world"), INVALID),
    "no text": ("_____w==", INVALID),
    "another version": (_handle("v2", "T", "broker-a", SOON, "id"), INVALID),
    "too short": (_handle("v1", "T", "broker-a", SOON), INVALID),
    "no id": (_handle("v1", "T", "broker-a", SOON, ""), INVALID),
    "another topic": (_handle("v1", "U", "broker-a", SOON, "id"), "recall failed, topic not match"),
    "no topic": (_handle("v1", "", "broker-a", SOON, "id"), "recall failed, topic not match"),
    "another broker": (_handle("v1", "T", "broker-z", SOON, "id"), "recall failed, broker service not available"),
    "now": (_handle("v1", "T", "broker-a", START_MS, "id"), "recall failed, timestamp invalid"),
    "past": (_handle("v1", "T", "broker-a", START_MS - 60_000, "id"), "recall failed, timestamp invalid"),
    "four days": (_handle("v1", "T", "broker-a", START_MS + 345_600_000, "id"), "recall failed, timestamp invalid"),
    "no time": (_handle("v1", "T", "broker-a", "soon", "id"), "recall failed, timestamp invalid"),
    "far beyond": (_handle("v1", "T", "broker-a", "9" * 25, "id"), "recall failed, timestamp invalid"),
}
"""Recall handle -> remark of the rejection."""


@through(*ALL, recall_message_enable=True)
@pytest.mark.parametrize("what", HANDLES)
def test_a_recall_with_a_forged_handle_is_rejected(e: ProtocolClient, what: str) -> None:
    """A recall with a forged handle is rejected, and the message is delivered."""
    e.topic(kind="DELAY")
    e.topic("U", kind="DELAY")
    e.put(deliver_ms=SOON)
    before = e.state()
    text, remark = HANDLES[what]
    response = e.recall(text)
    assert e.is_error(response, (604, remark), (50001, PROXY_EXCEPTION + remark)), response
    assert e.state() == before
    e.advance(30_000)
    assert [each.body for each in e.records("T")] == [b"0"]


@through(*ALL, recall_message_enable=True)
def test_a_recall_under_another_topics_name_is_rejected(e: ProtocolClient) -> None:
    """A recall with a valid handle under another topic's name is rejected."""
    e.topic(kind="DELAY")
    e.topic("U", kind="DELAY")
    sent = e.put(deliver_ms=SOON)
    before = e.state()
    remark = "recall failed, topic not match"
    assert e.is_error(e.recall(sent.recall, "U"), (604, remark), (50001, PROXY_EXCEPTION + remark))
    assert e.state() == before


@through(*ALL, recall_message_enable=True)
def test_a_recall_in_a_nonexistent_topic_is_rejected(e: ProtocolClient) -> None:
    """A recall in a nonexistent topic is rejected before its handle is parsed."""
    before = e.state()
    there = (17, "recall failed, the topic[none] not exist")
    assert e.is_error(e.recall("garbage", "none"), there, (40014, type_conflict("UNSPECIFIED", "DELAY")))
    assert e.state() == before


@through(*BROKER, recall_message_enable=True)
def test_text_after_the_id_of_a_recall_handle_is_ignored(e: BrokerProtocolClient) -> None:
    e.topic()
    response = e.recall(_handle("v1", "T", "broker-a", SOON, "id", "more"))
    assert (response.ok, response.handle) == (True, "id")


# Ends of transactions.


@through(*BROKER)
@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
@pytest.mark.parametrize("checked", [False, True])
def test_an_end_that_does_not_match_its_half_message_is_rejected(
    e: BrokerProtocolClient, how: int, checked: bool
) -> None:
    """An end of a transaction whose group, half offset or log offset does not match the half message is rejected."""
    e.topic()
    first, second = e.put(half=True), e.put(half=True)
    before = e.state()
    for sent, topic, remark in (
        (first, "another", "The producer group wrong"),
        (replace(first, offset=FAR), "T", "The transaction state table offset wrong"),
        (replace(first, offset=-1), "T", "The transaction state table offset wrong"),
        (replace(first, offset=second.offset), "T", "The transaction state table offset wrong"),
        (replace(first, place=second.place), "T", "The transaction state table offset wrong"),
        (replace(first, place=FAR), "T", "Find prepared transaction message failed"),
    ):
        response = e.end(sent, how, topic=topic, checked=checked)
        assert response is not None
        assert (response.code, response.remark.split(", org.")[0]) == (1, remark)
        assert e.state() == before
    for place in (first.place + 4, second.place + 50, -1, -FAR):
        response = e.end(replace(first, place=place), how, checked=checked)
        assert response is not None
        assert response.code == 1
        assert e.state() == before


@through(*BROKER)
@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_an_end_at_a_message_that_is_not_half_is_rejected(e: BrokerProtocolClient, how: int) -> None:
    """An end of a transaction at a normal, delayed, timed or op message is rejected."""
    e.topic()
    places = [e.put(), e.put(DELAY="5"), e.put(TIMER_DELAY_MS="60000")]
    e.end(e.put(half=True), ROLLBACK)
    e.advance(3_000)
    (op,) = e.records("RMQ_SYS_TRANS_OP_HALF_TOPIC")
    places.append(replace(places[0], place=op.physical_offset, offset=op.queue_offset))
    before = e.state()
    for sent in places:
        response = e.end(sent, how)
        assert response is not None
        assert (response.code, response.remark.split(":")[0]) == (1, "java.lang.NullPointerException")
    assert e.state() == before


@through(*BROKER)
def test_a_commit_of_a_normal_message_with_a_producer_group_is_rejected(e: BrokerProtocolClient) -> None:
    """A commit of a normal message that has a producer group is rejected, although all fields match."""
    e.topic()
    sent = e.put(PGROUP="T")
    before = e.state()
    response = e.end(sent, COMMIT)
    assert response is not None
    assert response.code == 1
    assert e.state() == before


@through(*BROKER)
@pytest.mark.parametrize("how", [1, 4, 5, 7, -1, -8, 2**31 - 1])
def test_an_end_other_than_commit_rollback_or_unknown_is_rejected(e: BrokerProtocolClient, how: int) -> None:
    e.topic()
    sent = e.put(half=True)
    before = e.state()
    response = e.end(sent, how)
    assert response is not None
    text = "org.apache.rocketmq.remoting.exception.RemotingCommandException: commitOrRollback field wrong"
    assert (response.code, response.remark.startswith(text)) == (1, True)
    assert e.state() == before


@through("grpc")
@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_the_proxy_ends_only_transactions_whose_id_it_issued(e: ProtocolClient, how: int) -> None:
    """The proxy ends only transactions whose id it issued, in the topic of the half message.

    After rejected attempts the half message can still be ended.
    """
    e.topic(kind="TRANSACTION")
    e.topic("U", kind="TRANSACTION")
    e.topic("N", kind="NORMAL")
    sent, whole = e.put(half=True), e.put(topic="N")
    before = e.state()
    for unknown, topic in (
        (replace(sent, id="unknown"), "T"),
        (sent, "U"),
        (sent, "none"),
        (whole, "N"),
    ):
        assert e.is_error(e.end(unknown, how, topic=topic), NOT_FOUND, NOT_FOUND)
    blank = e.end(replace(sent, id="  "), how)
    assert e.is_error(blank, NOT_FOUND, (40008, "transaction id cannot be empty"))
    assert e.state() == before
    response = e.end(sent, how)
    assert response is not None
    assert response.ok


# Send-backs and dead letters.


@through(*BROKER)
@pytest.mark.parametrize("level", [0, 1, -1, 99])
def test_a_send_back_of_an_invalid_log_offset_is_rejected(e: BrokerProtocolClient, level: int) -> None:
    """Sending back a log offset beyond the log, before it or inside a record is rejected."""
    e.topic()
    sent = e.put()
    e.group()
    e.heartbeat("consumer-a")
    before = e.state()
    for place in (FAR, e.broker.store.log.max_offset, sent.place + 4, -1):
        response = e.send_back(place, level)
        assert response.code == 1
        assert place != FAR or response.remark == f"look message by offset failed, {FAR}"
        assert e.state() == before


@through(*BROKER)
def test_a_send_back_for_an_invalid_group_name_is_rejected(e: BrokerProtocolClient) -> None:
    """Sending back for an invalid group name is rejected, and the group is not created."""
    e.topic()
    sent = e.put()
    before = e.state()
    for name in ("bad group", "g" * 256):
        response = e.send_back(sent.place, 1, group=name)
        assert (response.code, response.remark.startswith(f"subscription group not exist, {name} \nSee ")) == (26, True)
    assert e.state() == before


@through(*BROKER)
def test_a_batch_to_a_retry_topic_is_rejected(e: BrokerProtocolClient) -> None:
    """A batch to a retry topic is rejected with the name of the topic."""
    e.group()
    e.send_to_retry_topic()
    before = e.state()
    sent = e.send_batch_with_properties((b"a", {}), (b"b", {}), topic="%RETRY%G")
    assert (sent.code, sent.remark) == (13, "batch request does not support retry group %RETRY%G")
    assert e.state() == before


@through("grpc")
def test_the_proxy_forwards_to_the_dlq_only_with_a_complete_handle(e: GrpcProtocolClient) -> None:
    """The proxy forwards a message to the dead letter queue only with a complete handle.

    The log offset of the handle has to be that of a message.
    """
    e.fill_topic(1)
    (message,) = e.take()
    before = e.state()
    fields = message.handle.split(" ")
    for handle, said in (
        ("", (50001, short_handle(1))),
        ("garbage", (50001, short_handle(1))),
        (" ".join(fields[:8]), (40013, PROXY_EXCEPTION + "commit log offset is empty")),
    ):
        assert e.is_error(e.forward_by_handle(handle), said, said), handle
    assert e.state() == before
    assert e.forward_by_handle(" ".join([*fields[:8], str(7 << 50)])).code == 50001
    assert e.records("%DLQ%G") == []
    assert e.forward_to_dlq(message).ok
