"""Recall of timed messages: handles, delete marks (the messages that cancel a timed message), and errors."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from engine_world import START_MS, World, make_world
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
def world() -> World:
    world = make_world(recall_message_enable=True)
    world.topic("A", 4)
    return world


def timed(world: World, after_ms: int = 4000, body: bytes = b"m", **more: str) -> SendResult:
    return world.send("A", body, queue=2, TIMER_DELIVER_MS=str(world.now_ms + after_ms), **more)


def recall(world: World, handle: str | None, topic: str = "A") -> RecallResult:
    assert handle is not None
    result = world.engine.execute(world.broker, RecallMessage(topic, handle, "PG"))
    assert isinstance(result, RecallResult)
    return result


def test_a_recall_handle_encodes_topic_broker_slot_time_and_unique_key(world: World) -> None:
    """A handle is URL-safe Base64 of version, topic, broker, slot time + 1 ms, and the unique key."""
    sent = timed(world, 4300, UNIQ_KEY="U")
    assert sent.recall_handle is not None
    assert urlsafe_b64decode(sent.recall_handle).decode() == f"v1 A broker-a {START_MS + 4001} U"


def test_messages_that_do_not_wait_in_the_timer_get_no_recall_handle(world: World) -> None:
    """Messages that do not wait in the timer, and messages to retry topics, get no handle."""
    assert world.send("A").recall_handle is None
    assert world.send("A", DELAY="3").recall_handle is None
    assert world.send("A", TIMER_DELIVER_MS="5").recall_handle is None
    assert world.send("A", TIMER_OUT_MS="5").recall_handle is None
    assert world.send("%RETRY%G", TIMER_DELAY_SEC="5").recall_handle is None


def test_waiting_lists_the_messages_of_the_wheel_and_marks_recalled_ones(world: World) -> None:
    """A message of the wheel is listed with the end of its slot until then; a recalled one is marked."""
    handles = [timed(world, body=b"%d" % n, UNIQ_KEY=f"U{n}").recall_handle for n in range(2)]
    recall(world, handles[1])
    listed = [
        (at_ms - START_MS, record.body, waiting.is_recalled(record.property_map()))
        for at_ms, waiting in world.broker.timers.waiting()
        for record in [decode(waiting.stored)]
    ]
    assert listed == [(4000, b"0", False), (4000, b"1", True)]
    world.advance(4000)
    assert list(world.broker.timers.waiting()) == []


def test_a_recalled_message_is_not_delivered(world: World) -> None:
    """Of several messages in a slot only the recalled one is not delivered; the response has its unique key."""
    handles = [timed(world, body=b"%d" % n, UNIQ_KEY=f"U{n}").recall_handle for n in range(4)]
    assert recall(world, handles[1]) == RecallResult("U1")
    world.advance(10_000)
    assert stored_bodies(world, "A", 2) == [b"0", b"2", b"3"]


def test_a_delete_mark_is_in_the_slot_of_its_target_and_never_delivered(world: World) -> None:
    sent = timed(world, 4300, UNIQ_KEY="U")
    recall(world, sent.recall_handle)
    target, mark = stored(world, WHEEL)
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
    world.advance(10_000)
    assert [stored(world, "A", queue) for queue in range(4)] == [[], [], [], []]


def test_a_delete_mark_does_not_affect_other_topics_or_slots(world: World) -> None:
    """A delete mark does not affect the same unique key in another topic or another slot."""
    world.topic("B")
    world.send("B", b"other", TIMER_DELIVER_MS=str(START_MS + 4000), UNIQ_KEY="U")
    timed(world, 6000, b"later", UNIQ_KEY="U")
    recall(world, timed(world, 4000, UNIQ_KEY="U").recall_handle)
    world.advance(10_000)
    assert stored_bodies(world, "B") == [b"other"]
    assert stored_bodies(world, "A", 2) == [b"later"]


def test_a_rolled_timed_message_can_be_recalled(world: World) -> None:
    """A rolled message can be recalled: its delete mark reaches the same slot of the timer wheel."""
    sent = timed(world, 250_000_000, b"gone", UNIQ_KEY="U")
    timed(world, 250_000_000, b"stays", UNIQ_KEY="V")
    world.advance(5000)
    recall(world, sent.recall_handle)
    world.advance(260_000_000)
    assert stored_bodies(world, "A", 2) == [b"stays"]


def test_a_second_recall_and_a_recall_of_an_unknown_message_succeed(world: World) -> None:
    sent = timed(world)
    recall(world, sent.recall_handle)
    recall(world, sent.recall_handle)
    recall(world, RecallHandle("A", "broker-a", START_MS + 3001, "nobody").text())
    world.advance(10_000)
    assert stored_bodies(world, "A", 2) == []


def test_a_recall_in_the_last_slot_is_rejected_and_the_message_delivered(world: World) -> None:
    """A message in its last slot can no longer be recalled and is delivered."""
    sent = timed(world, 2200)
    world.advance(2001)
    assert refusal(world, sent.recall_handle) == (ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
    world.advance(10_000)
    assert len(stored(world, "A", 2)) == 1


def refusal(world: World, handle: str | None, topic: str = "A") -> tuple[ResponseCode, str | None]:
    with pytest.raises(EngineError) as caught:
        recall(world, handle, topic)
    return caught.value.code, caught.value.remark


def _text(*fields: object) -> str:
    return urlsafe_b64encode(" ".join(map(str, fields)).encode()).decode()


@pytest.mark.parametrize(
    ("handle", "remark"),
    [
        ("", "recall handle is invalid"),
        ("garbage", "recall handle is invalid"),
        ("ä", "recall handle is invalid"),
        (_text("v2", "A", "broker-a", START_MS + 2001, "U"), "recall handle is invalid"),
        (_text("v1", "A", "broker-a", START_MS + 2001), "recall handle is invalid"),
        (_text("v1", "B", "broker-a", START_MS + 2001, "U"), "recall failed, topic not match"),
        (_text("v1", "A", "broker-b", START_MS + 2001, "U"), "recall failed, broker service not available"),
        (_text("v1", "A", "broker-a", START_MS, "U"), "recall failed, timestamp invalid"),
        (_text("v1", "A", "broker-a", "soon", "U"), "recall failed, timestamp invalid"),
        (_text("v1", "A", "broker-a", START_MS + 259_200_000, "U"), "recall failed, timestamp invalid"),
    ],
)
def test_an_invalid_recall_handle_is_rejected_with_upstreams_text(world: World, handle: str, remark: str) -> None:
    """An invalid handle is rejected with ILLEGAL_OPERATION and upstream's text."""
    assert refusal(world, handle) == (ResponseCode.ILLEGAL_OPERATION, remark)


def test_a_recall_whose_mark_cannot_be_stored_returns_system_error(world: World) -> None:
    """A recall whose mark cannot be stored, because its unique key is too long, returns SYSTEM_ERROR."""
    handle = _text("v1", "A", "broker-a", START_MS + 2001, "U" * 33_000)
    assert refusal(world, handle) == (ResponseCode.SYSTEM_ERROR, "recall failed, execute error")


def test_a_recall_is_rejected_for_an_unknown_topic_on_a_slave_and_if_disabled(world: World) -> None:
    """With recall disabled, sends still return recall handles."""
    handle = timed(world).recall_handle
    assert refusal(world, handle, "nonexist") == (
        ResponseCode.TOPIC_NOT_EXIST,
        "recall failed, the topic[nonexist] not exist",
    )
    world.broker.config.broker_role = "SLAVE"
    assert refusal(world, handle)[0] is ResponseCode.SLAVE_NOT_AVAILABLE
    world.broker.config.recall_message_enable = False
    assert refusal(world, handle) == (ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")


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
def test_a_broker_that_does_not_serve_writes_rejects_recalls(world: World, key: str, value: str, code: int) -> None:
    """A slave, a broker that serves later, and a read-only broker reject a recall before they decode its handle."""
    handle = timed(world).recall_handle
    config = world.broker.config
    config.set("brokerPermission", "4")
    recall(world, handle)
    config.set(key, value)
    for each in (handle, "garbage"):
        with pytest.raises(EngineError) as error:
            recall(world, each)
        assert (error.value.code, error.value.remark) == (code, "recall failed, broker service not available")
    config.set("brokerPermission", "6")
    if key == "startAcceptSendRequestTimeStamp":
        world.advance(1)
    if key != "brokerRole":
        recall(world, handle)


def test_a_slave_rejects_sends_and_send_backs_before_it_checks_them(world: World) -> None:
    place = world.send("A").physical_offset
    world.broker.config.set("brokerRole", "SLAVE")
    for ask in (
        lambda: world.send("bad topic"),
        lambda: world.engine.execute(world.broker, SendMessageBack("G", place, 0)),
    ):
        with pytest.raises(EngineError) as error:
            ask()
        said = (error.value.code, error.value.remark)
        assert said == (ResponseCode.SYSTEM_BUSY, "[REJECTREQUEST]system busy, start flow control for a while")


def test_sends_before_start_accept_send_request_time_stamp_are_rejected(world: World) -> None:
    """Sends before startAcceptSendRequestTimeStamp are rejected with that time in UTC, before topics are checked."""
    world.broker.config.set("startAcceptSendRequestTimeStamp", str(START_MS + 1))
    for topic in ("A", "bad topic"):
        with pytest.raises(EngineError) as error:
            world.send(topic)
        said = (error.value.code, error.value.remark)
        assert said == (ResponseCode.SYSTEM_ERROR, "broker unable to service, until 2023-11-14 22:13:20,001")
    world.advance(1)
    world.send("A")
