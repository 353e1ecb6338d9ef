"""Request-reply: a reply is pushed to the client that sent the request, and stored; then its sender gets a response."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.effects import PushReplyMessage
from rocketmq_testkit.emulator.message.stored_record import Record
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.send import ClientResponded, SendMessage, SendReplyMessage, SendResult
from stored import stored

TOPIC = "DefaultCluster_REPLY_TOPIC"


def submit(harness: EngineHarness, operation: Operation, channel: DirectChannel | None = None) -> DirectCall:
    return harness.engine.submit(harness.broker, operation, channel or DirectChannel())


def requester(harness: EngineHarness) -> DirectChannel:
    """Register a producer with client id `asker`; return its channel."""
    channel = DirectChannel("asker's")
    submit(harness, Heartbeat("asker", ["PG"], []), channel)
    return channel


def reply(harness: EngineHarness, client: str | None = "asker", **more: str) -> DirectCall:
    properties = {"MSG_TYPE": "reply", **({} if client is None else {"REPLY_TO_CLIENT": client}), **more}
    sent = SendMessage("PG", TOPIC, 0, b"pong", properties, ("10.0.0.1", 5000), harness.now_ms)
    return submit(harness, SendReplyMessage(sent))


def result(call: DirectCall) -> SendResult:
    assert isinstance(call.outcome, SendResult)
    return call.outcome


@pytest.fixture
def harness() -> EngineHarness:
    return make_harness()


def push_to(channel: DirectChannel) -> PushReplyMessage:
    (push,) = channel.effects
    assert isinstance(push, PushReplyMessage)
    return push


def test_a_reply_is_stored_and_its_sender_gets_a_response_after_the_client_responded_to_the_push(
    harness: EngineHarness,
) -> None:
    channel = requester(harness)
    call = reply(harness)
    push = push_to(channel)
    assert (push.body, call.outcome, stored(harness, TOPIC)) == (b"pong", None, [])
    assert f"PUSH_REPLY_TIME\x01{harness.now_ms}\x02" in push.properties
    submit(harness, ClientResponded(push.ticket, 0), channel)
    assert (result(call).code, result(call).remark, result(call).transaction_id) == (0, None, None)
    (record,) = stored(harness, TOPIC)
    assert (record.body, "PUSH_REPLY_TIME" in record.property_map()) == (b"pong", False)


def test_a_reply_fails_if_the_client_responds_to_the_push_with_an_error(harness: EngineHarness) -> None:
    """A push that gets an error code fails the reply; a second response has no effect."""
    channel = requester(harness)
    call = reply(harness)
    push = push_to(channel)
    for code in (1, 0):
        submit(harness, ClientResponded(push.ticket, code), channel)
    assert (result(call).code, result(call).remark) == (1, "push reply message to askerfail.")
    assert len(stored(harness, TOPIC)) == 1


def test_a_reply_fails_if_its_push_gets_no_response_in_ten_seconds(harness: EngineHarness) -> None:
    requester(harness)
    call = reply(harness)
    harness.advance(9_999)
    assert call.outcome is None
    harness.advance(1)
    assert result(call).code == 1


@pytest.mark.parametrize(
    ("client", "remark"),
    [
        (None, "reply message properties[REPLY_TO_CLIENT] is null"),
        ("stranger", "push reply message fail, channel of <stranger> not found."),
    ],
)
def test_a_reply_to_an_unknown_client_fails_at_once_but_is_stored(
    harness: EngineHarness, client: str | None, remark: str
) -> None:
    """A reply without a known client fails at once, but is stored."""
    call = reply(harness, client)
    assert (result(call).code, result(call).remark) == (1, remark)
    assert len(stored(harness, TOPIC)) == 1


def test_with_store_reply_message_disabled_a_reply_has_no_message_id() -> None:
    """Without storing, the response has message id and offset 0, and an empty id if the push failed."""
    harness = make_harness(store_reply_message_enable=False)
    channel = requester(harness)
    call = reply(harness)
    submit(harness, ClientResponded(push_to(channel).ticket, 0), channel)
    assert (result(call).msg_id, result(call).queue_offset) == ("0", 0)
    assert result(reply(harness, "stranger")).msg_id == ""
    assert stored(harness, TOPIC) == []


@pytest.mark.parametrize("more", [{"long": "x" * 33_000}, {"INNER_NUM": "2"}])
def test_a_reply_that_cannot_be_stored_gets_the_result_of_its_push(
    harness: EngineHarness, more: dict[str, str]
) -> None:
    """The response to a reply that cannot be stored has the result of its push, without a message id."""
    channel = requester(harness)
    call = reply(harness, **more)
    submit(harness, ClientResponded(push_to(channel).ticket, 0), channel)
    assert (result(call).code, result(call).msg_id) == (0, "0")
    lost = result(reply(harness, "nobody", **more))
    assert (lost.code, lost.msg_id) == (1, "")
    assert stored(harness, TOPIC) == []


def pushed_and_stored(harness: EngineHarness, sent: SendMessage) -> tuple[PushReplyMessage, Record]:
    """Send a reply to `asker`; return the push, and the stored message."""
    channel = requester(harness)
    submit(harness, SendReplyMessage(sent))
    push = push_to(channel)
    submit(harness, ClientResponded(push.ticket, 0), channel)
    (record,) = stored(harness, TOPIC)
    return push, record


def reply_to_asker(harness: EngineHarness) -> SendMessage:
    """Return a reply whose header has another value than the default in each field."""
    properties = {"MSG_TYPE": "reply", "REPLY_TO_CLIENT": "asker"}
    sent = SendMessage("PG", TOPIC, -1, b"pong", properties, ("10.0.0.1", 5000), harness.now_ms)
    sent.sys_flag, sent.flag, sent.reconsume_times = 0x1, 7, 3
    sent.default_topic, sent.default_topic_queue_nums, sent.unit_mode = "T", 9, True
    return sent


def test_a_push_has_system_flag_and_queue_of_the_reply_and_the_stored_message_has_not(harness: EngineHarness) -> None:
    """The push says that its body is compressed, and leaves the choice of the queue open; the broker makes it.

    Source: ReplyMessageProcessor.pushReplyMessage, processReplyMessageRequest (5.3.3).
    """
    push, record = pushed_and_stored(harness, reply_to_asker(harness))
    assert (push.sys_flag, push.queue_id, push.flag) == (0x1, -1, 7)
    assert (record.sys_flag, record.queue_id, record.flag, record.reconsume_times) == (0, 0, 7, 3)


def test_a_prepared_reply_is_stored_in_the_queue_like_any_other(harness: EngineHarness) -> None:
    """The flag of a half message keeps a sent message out of all queues, but a reply is stored without its flags."""
    sent = reply_to_asker(harness)
    sent.sys_flag = 0x4
    _, record = pushed_and_stored(harness, sent)
    assert (record.body, record.sys_flag) == (b"pong", 0)


def test_a_push_has_all_other_fields_of_the_reply_header(harness: EngineHarness) -> None:
    """Source: ReplyMessageProcessor.pushReplyMessage (5.3.3)."""
    push, _ = pushed_and_stored(harness, reply_to_asker(harness))
    assert (push.producer_group, push.reconsume_times, push.unit_mode) == ("PG", 3, True)
    assert (push.default_topic, push.default_topic_queue_nums) == ("T", 9)
