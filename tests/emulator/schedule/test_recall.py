"""Recall of timed messages: handles, delete marks (the messages that cancel a timed message), and errors."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.send import RecallMessage, RecallResult, SendMessageBack, SendResult
from rocketmq_testkit.emulator.schedule.recall_service import RecallHandle
from stored import stored, stored_bodies

WHEEL = "rmq_sys_wheel_timer"


@pytest.fixture
def harness() -> EngineHarness:
    harness = make_harness(recall_message_enable=True)
    harness.topic("A", 4)
    return harness


def timed(harness: EngineHarness, after_ms: int = 4000, body: bytes = b"m", **more: str) -> SendResult:
    return harness.send("A", body, queue=2, TIMER_DELIVER_MS=str(harness.now_ms + after_ms), **more)


def recall(harness: EngineHarness, handle: str | None, topic: str = "A") -> RecallResult:
    assert handle is not None
    result = harness.engine.execute(harness.broker, RecallMessage(topic, handle, "PG"))
    assert isinstance(result, RecallResult)
    return result


def test_a_recall_handle_encodes_topic_broker_slot_time_and_unique_key(harness: EngineHarness) -> None:
    """A handle is URL-safe Base64 of version, topic, broker, slot time + 1 ms, and the unique key."""
    sent = timed(harness, 4300, UNIQ_KEY="U")
    assert sent.recall_handle is not None
    assert urlsafe_b64decode(sent.recall_handle).decode() == f"v1 A broker-a {START_MS + 4001} U"


def test_messages_that_do_not_wait_in_the_timer_get_no_recall_handle(harness: EngineHarness) -> None:
    """Messages that do not wait in the timer, and messages to retry topics, get no handle."""
    assert harness.send("A").recall_handle is None
    assert harness.send("A", DELAY="3").recall_handle is None
    assert harness.send("A", TIMER_DELIVER_MS="5").recall_handle is None
    assert harness.send("A", TIMER_OUT_MS="5").recall_handle is None
    assert harness.send("%RETRY%G", TIMER_DELAY_SEC="5").recall_handle is None


def test_waiting_lists_the_messages_of_the_wheel_and_marks_recalled_ones(harness: EngineHarness) -> None:
    """A message of the wheel is listed with the end of its slot until then; a recalled one is marked."""
    handles = [timed(harness, body=b"%d" % n, UNIQ_KEY=f"U{n}").recall_handle for n in range(2)]
    recall(harness, handles[1])
    listed = [
        (at_ms - START_MS, record.body, waiting.is_recalled(record.property_map()))
        for at_ms, waiting in harness.broker.timers.waiting()
        for record in [decode(waiting.stored)]
    ]
    assert listed == [(4000, b"0", False), (4000, b"1", True)]
    harness.advance(4000)
    assert list(harness.broker.timers.waiting()) == []


def test_a_recalled_message_is_not_delivered(harness: EngineHarness) -> None:
    """Of several messages in a slot only the recalled one is not delivered; the response has its unique key."""
    handles = [timed(harness, body=b"%d" % n, UNIQ_KEY=f"U{n}").recall_handle for n in range(4)]
    assert recall(harness, handles[1]) == RecallResult("U1")
    harness.advance(10_000)
    assert stored_bodies(harness, "A", 2) == [b"0", b"2", b"3"]


def test_a_delete_mark_is_in_the_slot_of_its_target_and_never_delivered(harness: EngineHarness) -> None:
    sent = timed(harness, 4300, UNIQ_KEY="U")
    recall(harness, sent.recall_handle)
    target, mark = stored(harness, WHEEL)
    assert mark.body == b"0"
    assert (
        mark.property_map().items()
        >= {
            "TAGS": "_RECALL_TAG_",
            "TIMER_DEL_UNIQKEY": "A+U",
            "TIMER_OUT_MS": target.property_map()["TIMER_OUT_MS"],
            "PGROUP": "PG",
        }.items()
    )
    harness.advance(10_000)
    assert [stored(harness, "A", queue) for queue in range(4)] == [[], [], [], []]


def test_a_delete_mark_does_not_affect_other_topics_or_slots(harness: EngineHarness) -> None:
    """A delete mark does not affect the same unique key in another topic or another slot."""
    harness.topic("B")
    harness.send("B", b"other", TIMER_DELIVER_MS=str(START_MS + 4000), UNIQ_KEY="U")
    timed(harness, 6000, b"later", UNIQ_KEY="U")
    recall(harness, timed(harness, 4000, UNIQ_KEY="U").recall_handle)
    harness.advance(10_000)
    assert stored_bodies(harness, "B") == [b"other"]
    assert stored_bodies(harness, "A", 2) == [b"later"]


def test_a_rolled_timed_message_can_be_recalled(harness: EngineHarness) -> None:
    """A rolled message can be recalled: its delete mark reaches the same slot of the timer wheel."""
    sent = timed(harness, 250_000_000, b"gone", UNIQ_KEY="U")
    timed(harness, 250_000_000, b"stays", UNIQ_KEY="V")
    harness.advance(5000)
    recall(harness, sent.recall_handle)
    harness.advance(260_000_000)
    assert stored_bodies(harness, "A", 2) == [b"stays"]


def test_a_second_recall_and_a_recall_of_an_unknown_message_succeed(harness: EngineHarness) -> None:
    sent = timed(harness)
    recall(harness, sent.recall_handle)
    recall(harness, sent.recall_handle)
    recall(harness, RecallHandle("A", "broker-a", START_MS + 3001, "nobody").text())
    harness.advance(10_000)
    assert stored_bodies(harness, "A", 2) == []


def test_a_recall_in_the_last_slot_is_rejected_and_the_message_delivered(harness: EngineHarness) -> None:
    """A message in its last slot can no longer be recalled and is delivered."""
    sent = timed(harness, 2200)
    harness.advance(2001)
    assert refusal(harness, sent.recall_handle) == (ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
    harness.advance(10_000)
    assert len(stored(harness, "A", 2)) == 1


def refusal(harness: EngineHarness, handle: str | None, topic: str = "A") -> tuple[ResponseCode, str | None]:
    with pytest.raises(EngineError) as caught:
        recall(harness, handle, topic)
    return caught.value.code, caught.value.remark


def _text(*fields: object) -> str:
    return urlsafe_b64encode(" ".join(map(str, fields)).encode()).decode()


@pytest.mark.parametrize(
    ("handle", "remark"),
    [
        ("", "recall handle is invalid"),
        ("garbage", "recall handle is invalid"),
        ("ä", "recall handle is invalid"),
        (_text("v1", "A", "broker-a", START_MS + 2001, "U") + "\n", "recall handle is invalid"),
        (_text("v1", "A", "broker-a", START_MS + 2001, "UUU").replace("==", "="), "recall handle is invalid"),
        (_text("v1", "A", "broker-a", START_MS + 2001, "\u03ff\u03ff").replace("_", "/"), "recall handle is invalid"),
        (_text("v2", "A", "broker-a", START_MS + 2001, "U"), "recall handle is invalid"),
        (_text("v1", "A", "broker-a", START_MS + 2001), "recall handle is invalid"),
        (_text("v1", "B", "broker-a", START_MS + 2001, "U"), "recall failed, topic not match"),
        (_text("v1", "A", "broker-b", START_MS + 2001, "U"), "recall failed, broker service not available"),
        (_text("v1", "A", "broker-a", START_MS, "U"), "recall failed, timestamp invalid"),
        (_text("v1", "A", "broker-a", "soon", "U"), "recall failed, timestamp invalid"),
        (_text("v1", "A", "broker-a", START_MS + 259_200_000, "U"), "recall failed, timestamp invalid"),
    ],
)
def test_an_invalid_recall_handle_is_rejected_with_upstreams_text(
    harness: EngineHarness, handle: str, remark: str
) -> None:
    """An invalid handle is rejected with ILLEGAL_OPERATION and upstream's text."""
    assert refusal(harness, handle) == (ResponseCode.ILLEGAL_OPERATION, remark)


def test_a_recall_whose_mark_cannot_be_stored_returns_system_error(harness: EngineHarness) -> None:
    """A recall whose mark cannot be stored, because its unique key is too long, returns SYSTEM_ERROR."""
    handle = _text("v1", "A", "broker-a", START_MS + 2001, "U" * 33_000)
    assert refusal(harness, handle) == (ResponseCode.SYSTEM_ERROR, "recall failed, execute error")


def test_a_recall_is_rejected_for_an_unknown_topic_on_a_slave_and_if_disabled(harness: EngineHarness) -> None:
    """With recall disabled, sends still return recall handles."""
    handle = timed(harness).recall_handle
    assert refusal(harness, handle, "nonexist") == (
        ResponseCode.TOPIC_NOT_EXIST,
        "recall failed, the topic[nonexist] not exist",
    )
    harness.broker.config.broker_role = "SLAVE"
    assert refusal(harness, handle)[0] is ResponseCode.SLAVE_NOT_AVAILABLE
    harness.broker.config.recall_message_enable = False
    assert refusal(harness, handle) == (ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")


_WORD = st.text(st.characters(exclude_characters=" ", exclude_categories=["Cs"]), min_size=1, max_size=10)


@given(_WORD, _WORD, st.integers(0, 2**62), _WORD)
def test_an_encoded_recall_handle_decodes_to_the_same_fields(
    topic: str, broker: str, timestamp_ms: int, key: str
) -> None:
    """An encoded handle decodes to the same fields, with and without padding."""
    handle = RecallHandle(topic, broker, timestamp_ms, key)
    assert RecallHandle.parse(handle.text()) == handle
    assert RecallHandle.parse(handle.text().rstrip("=")) == handle


@given(st.text(max_size=40))
def test_any_text_decodes_to_a_recall_handle_or_raises_value_error(text: str) -> None:
    """Any text decodes to a handle or raises ValueError, and no other exception."""
    try:
        handle = RecallHandle.parse(text)
    except ValueError:
        return
    assert RecallHandle.parse(handle.text()) == handle


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("brokerRole", "SLAVE", ResponseCode.SLAVE_NOT_AVAILABLE),
        ("startAcceptSendRequestTimeStamp", str(START_MS + 1), ResponseCode.SERVICE_NOT_AVAILABLE),
        ("allowRecallWhenBrokerNotWriteable", "false", ResponseCode.SERVICE_NOT_AVAILABLE),
    ],
)
def test_a_broker_that_does_not_serve_writes_rejects_recalls(
    harness: EngineHarness, key: str, value: str, code: int
) -> None:
    """A slave, a broker that serves later, and a read-only broker reject a recall before they decode its handle."""
    handle = timed(harness).recall_handle
    config = harness.broker.config
    config.set("brokerPermission", "4")
    recall(harness, handle)
    config.set(key, value)
    for each in (handle, "garbage"):
        with pytest.raises(EngineError) as error:
            recall(harness, each)
        assert (error.value.code, error.value.remark) == (code, "recall failed, broker service not available")
    config.set("brokerPermission", "6")
    if key == "startAcceptSendRequestTimeStamp":
        harness.advance(1)
    if key != "brokerRole":
        recall(harness, handle)


def test_a_slave_rejects_sends_and_send_backs_before_it_checks_them(harness: EngineHarness) -> None:
    place = harness.send("A").physical_offset
    harness.broker.config.set("brokerRole", "SLAVE")
    for ask in (
        lambda: harness.send("bad topic"),
        lambda: harness.engine.execute(harness.broker, SendMessageBack("G", place, 0)),
    ):
        with pytest.raises(EngineError) as error:
            ask()
        said = (error.value.code, error.value.remark)
        assert said == (ResponseCode.SYSTEM_BUSY, "[REJECTREQUEST]system busy, start flow control for a while")


def test_sends_before_start_accept_send_request_time_stamp_are_rejected(harness: EngineHarness) -> None:
    """Sends before startAcceptSendRequestTimeStamp are rejected with that time in UTC, before topics are checked."""
    harness.broker.config.set("startAcceptSendRequestTimeStamp", str(START_MS + 1))
    for topic in ("A", "bad topic"):
        with pytest.raises(EngineError) as error:
            harness.send(topic)
        said = (error.value.code, error.value.remark)
        assert said == (ResponseCode.SYSTEM_ERROR, "broker unable to service, until 2023-11-14 22:13:20,001")
    harness.advance(1)
    harness.send("A")
