"""Timed messages: they are stored in rmq_sys_wheel_timer until their delivery time, and can be recalled."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest
from grpc_protocol_client import GrpcProtocolClient
from grpc_texts import PROXY_EXCEPTION, type_conflict
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from virtual_brokers import START_MS

WHEEL, SCHEDULE = "rmq_sys_wheel_timer", "SCHEDULE_TOPIC_XXXX"
DAY_MS, HOUR_MS = 86_400_000, 3_600_000
ILLEGAL = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if set del msg, "
    "the delay time should be bigger than the current time"
)
TOO_FAR = (40012, "the max delay time of message is too large, max is 86400000")
LATE = "recall failed, timestamp invalid"
Error = tuple[int, str]
"""Code and beginning of the remark."""


@pytest.fixture
def timed(e: ProtocolClient) -> ProtocolClient:
    """Return a protocol client with a topic for delayed messages, on a broker with recall enabled."""
    e.broker.config.recall_message_enable = True
    e.topic(kind="DELAY")
    return e


def delivered_bodies(e: ProtocolClient, queue: int = 0) -> list[bytes]:
    """Return the bodies of the messages that were delivered to a queue."""
    return [each.body for each in e.records("T", queue)]


def parts(handle: str) -> list[str]:
    """Return the fields of a recall handle."""
    return urlsafe_b64decode(handle).decode().split(" ")


def handle(*fields: object) -> str:
    """Return a recall handle with these fields."""
    return urlsafe_b64encode(" ".join(map(str, fields)).encode()).decode()


# Delivery time.


@through(*ALL)
@pytest.mark.parametrize(
    ("after_ms", "comes_ms"),
    [(1, 1_000), (300, 1_000), (1_000, 1_000), (1_001, 2_000), (2_700, 3_000), (60_000, 60_000)],
)
def test_a_timed_message_is_delivered_once_at_the_next_whole_second(
    timed: ProtocolClient, after_ms: int, comes_ms: int
) -> None:
    """A timed message is delivered once, at the first whole second that is not before its time."""
    assert timed.put(deliver_ms=START_MS + after_ms).ok
    timed.advance(comes_ms - 1)
    assert delivered_bodies(timed) == []
    timed.advance(1)
    assert delivered_bodies(timed) == [b"0"]
    timed.advance(600_000)
    assert delivered_bodies(timed) == [b"0"]


@pytest.mark.parametrize(
    "e", [(name, {"timer_precision_ms": ms}) for name in ALL for ms in (100, 200, 500)], indirect=True
)
def test_a_smaller_timer_precision_delivers_at_the_end_of_smaller_slots(timed: ProtocolClient) -> None:
    """With a smaller timerPrecisionMs a timed message is delivered at the end of its smaller time slot."""
    precision = timed.broker.config.timer_precision_ms
    timed.put(b"a", deliver_ms=START_MS + 10 * precision)
    timed.put(b"b", deliver_ms=START_MS + 10 * precision + 1)
    timed.advance(10 * precision - 1)
    assert delivered_bodies(timed) == []
    timed.advance(1)
    assert delivered_bodies(timed) == [b"a"]
    timed.advance(precision)
    assert delivered_bodies(timed) == [b"a", b"b"]


@through(*ALL)
@pytest.mark.parametrize("ago_ms", [0, 1, 60_000, START_MS])
def test_a_message_with_a_past_delivery_time_is_delivered_at_once(timed: ProtocolClient, ago_ms: int) -> None:
    """A message whose delivery time has passed is delivered at once and has no recall handle."""
    sent = timed.put(deliver_ms=START_MS - ago_ms)
    assert (sent.ok, sent.recall) == (True, "")
    assert delivered_bodies(timed) == [b"0"]
    (message,) = timed.records("T")
    assert "REAL_TOPIC" not in message.property_map()


WAYS: list[tuple[dict[str, Any], int]] = [
    ({"TIMER_DELAY_SEC": "2"}, 2_000),
    ({"TIMER_DELAY_MS": "3000"}, 3_000),
    ({"TIMER_DELIVER_MS": str(START_MS + 4_000)}, 4_000),
    ({"TIMER_DELAY_SEC": "2", "TIMER_DELAY_MS": "60000", "TIMER_DELIVER_MS": str(START_MS + 90_000)}, 2_000),
    ({"TIMER_DELAY_MS": "3000", "TIMER_DELIVER_MS": str(START_MS + 1_000)}, 3_000),
]


@through(*BROKER)
@pytest.mark.parametrize(("properties", "comes_ms"), WAYS)
def test_of_several_timer_properties_the_delay_in_seconds_takes_precedence(
    timed: ProtocolClient, properties: dict[str, Any], comes_ms: int
) -> None:
    """Of several timer properties, the delay in seconds takes precedence, then the delay in milliseconds.

    All are kept.
    """
    assert timed.put(**properties).ok
    timed.advance(comes_ms - 1)
    assert delivered_bodies(timed) == []
    timed.advance(1)
    (message,) = timed.records("T")
    assert message.property_map().items() >= properties.items()


@through(*BROKER)
@pytest.mark.parametrize("properties", [{"TIMER_DELAY_SEC": "0"}, {"TIMER_DELAY_SEC": "-5"}, {"TIMER_DELAY_MS": "-1"}])
def test_a_timer_delay_of_0_or_less_delivers_at_once(timed: ProtocolClient, properties: dict[str, Any]) -> None:
    assert timed.put(**properties).ok
    assert delivered_bodies(timed) == [b"0"]


@through(*BROKER)
@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_DELAY_MS": str(2**63 - 1)},
        {"TIMER_DELAY_MS": str(-(2**63))},
        {"TIMER_DELAY_SEC": str(2**63 - 1)},
        {"TIMER_DELAY_SEC": str(-(2**63))},
        {"TIMER_DELAY_SEC": str(2**63 // 1000 + 1)},
        {"TIMER_DELIVER_MS": str(-(2**63))},
    ],
)
def test_a_delivery_time_that_overflows_64_bits_delivers_at_once(
    timed: ProtocolClient, properties: dict[str, Any]
) -> None:
    sent = timed.put(**properties)
    assert (sent.ok, sent.recall) == (True, "")
    assert delivered_bodies(timed) == [b"0"]


@through(*ALL)
def test_timed_messages_of_one_second_are_delivered_in_the_order_of_sending(timed: ProtocolClient) -> None:
    """Timed messages of one second are delivered in the order of sending, before those of the next second."""
    for body, ms in ((b"3", 6_001), (b"0", 5_900), (b"1", 5_100), (b"2", 6_000)):
        timed.put(body, deliver_ms=START_MS + ms)
    timed.advance(7_000)
    assert delivered_bodies(timed) == [b"0", b"1", b"2", b"3"]


@through(*BROKER)
@pytest.mark.parametrize("ms", [HOUR_MS * 23, DAY_MS, 3 * DAY_MS])
def test_the_broker_accepts_a_delivery_time_of_up_to_three_days_ahead(timed: ProtocolClient, ms: int) -> None:
    assert timed.put(deliver_ms=START_MS + ms).ok
    timed.advance(ms - 1)
    assert delivered_bodies(timed) == []
    timed.advance(1)
    assert delivered_bodies(timed) == [b"0"]


@through("grpc")
def test_the_proxy_accepts_a_delivery_time_of_up_to_24_hours_ahead(timed: ProtocolClient) -> None:
    """The proxy accepts a delivery time of up to 24 h ahead, exact to the millisecond."""
    assert timed.put(deliver_ms=START_MS + DAY_MS).ok
    before = timed.state()
    for ms in (DAY_MS + 1, 40 * DAY_MS):
        sent = timed.put(deliver_ms=START_MS + ms)
        assert (sent.code, sent.remark) == TOO_FAR
    assert timed.state() == before
    timed.advance(DAY_MS)
    assert delivered_bodies(timed) == [b"0"]


@through(*ALL, timer_roll_window_slot=60)
@pytest.mark.parametrize("seconds", [59, 60, 61, 80, 90, 200, 3_600])
def test_a_message_beyond_the_timer_window_is_rolled_and_delivered_once(timed: ProtocolClient, seconds: int) -> None:
    """A message beyond the window of the timer wheel is rolled as often as needed and delivered once, at its time."""
    timed.put(deliver_ms=START_MS + seconds * 1000)
    timed.advance(seconds * 1000 - 1)
    assert delivered_bodies(timed) == []
    timed.advance(1)
    assert delivered_bodies(timed) == [b"0"]
    (message,) = timed.records("T")
    rolls = int(message.property_map().get("TIMER_ROLL_TIMES", "0"))
    assert rolls == len(timed.records(WHEEL)) - 1
    assert (rolls > 0) == (seconds > 60)
    timed.advance(3_600_000)
    assert delivered_bodies(timed) == [b"0"]


# Storage of timed messages.


@through(*ALL)
def test_a_timed_message_is_stored_in_the_wheel_topic(timed: ProtocolClient) -> None:
    """A timed message is stored in queue 0 of the wheel topic, and the send returns its offset there."""
    sent = timed.put(b"0", tag="A", keys="k", color="red", deliver_ms=START_MS + 5_500)
    (message,) = timed.records(WHEEL)
    assert sent.offset == message.queue_offset == 0
    known = {"REAL_TOPIC": "T", "REAL_QID": "0", "TAGS": "A", "KEYS": "k", "color": "red"}
    times = {"TIMER_DELIVER_MS": str(START_MS + 5_500), "TIMER_OUT_MS": str(START_MS + 5_000)}
    assert message.property_map().items() >= (known | times).items()
    assert timed.bodies() == []
    timed.advance(6_000)
    (delivered,) = timed.records("T")
    traces = {"TIMER_ENQUEUE_MS": str(START_MS), "TIMER_DEQUEUE_MS": str(START_MS + 6_000)}
    assert delivered.property_map() == message.property_map() | traces
    assert delivered.born_timestamp == START_MS


@through(*ALL)
@pytest.mark.parametrize(("after_ms", "out_ms"), [(4_000, 3_000), (4_001, 4_000), (4_999, 4_000)])
def test_timer_out_ms_is_the_second_of_the_delivery_time_or_the_one_before(
    timed: ProtocolClient, after_ms: int, out_ms: int
) -> None:
    """TIMER_OUT_MS is the second of the delivery time, or the second before if the delivery time is a whole second."""
    timed.put(deliver_ms=START_MS + after_ms)
    (message,) = timed.records(WHEEL)
    assert message.property_map()["TIMER_OUT_MS"] == str(START_MS + out_ms)


@through(*ALL)
def test_a_timed_message_wakes_a_waiting_pop_on_delivery(timed: ProtocolClient) -> None:
    poll = timed.pop(poll_ms=15_000)
    timed.put(deliver_ms=START_MS + 4_000)
    timed.advance(3_999)
    assert poll.response is None
    timed.advance(1)
    assert poll.response is not None
    assert poll.response.bodies == [b"0"]


@through(*ALL)
def test_a_redelivered_timed_message_is_not_delayed_again(timed: ProtocolClient) -> None:
    """A redelivered timed message is not delayed again and keeps the timer properties of its delivery."""
    timed.put(deliver_ms=START_MS + 1_000)
    timed.advance(1_000)
    assert timed.bodies() == [b"0"]
    timed.advance(14_000)
    (again,) = timed.take()
    assert (again.body, again.attempt) == (b"0", 1)
    (copy,) = timed.records("%RETRY%G_T")
    assert "TIMER_DEQUEUE_MS" in copy.property_map()


@through(*ALL)
def test_a_timed_message_keeps_its_message_group(timed: ProtocolClient) -> None:
    timed.put(b"later", message_group="g", deliver_ms=START_MS + 2_000)
    timed.advance(2_000)
    assert [(each.body, each.property_map()["__SHARDINGKEY"]) for each in timed.records("T")] == [(b"later", "g")]


@through(*BROKER)
def test_a_timed_batch_is_delivered_message_by_message(timed: BrokerProtocolClient) -> None:
    """A batch with a timer is delivered message by message; timers of messages inside a batch have no effect."""
    assert timed.send_batch_with_properties((b"a", {}), (b"b", {"TIMER_DELAY_MS": "60000"}), TIMER_DELAY_SEC="2").ok
    timed.advance(1_999)
    assert delivered_bodies(timed) == []
    timed.advance(1)
    assert delivered_bodies(timed) == [b"a", b"b"]
    assert timed.send_batch_with_properties((b"c", {"TIMER_DELAY_SEC": "60"}), (b"d", {})).ok
    assert delivered_bodies(timed) == [b"a", b"b", b"c", b"d"]


@through(*ALL)
def test_only_the_proxy_rejects_a_timed_message_for_an_ordered_topic(e: ProtocolClient) -> None:
    e.fifo()
    before = e.state()
    sent = e.put(message_group="g", deliver_ms=START_MS + 2_000)
    if e.proxied:
        assert (sent.code, sent.remark) == (40014, type_conflict("FIFO", "DELAY"))
        assert e.state() == before
    else:
        e.advance(2_000)
        assert delivered_bodies(e) == [b"0"]


@through(*ALL)
def test_a_timed_half_message_is_lost(e: ProtocolClient) -> None:
    """A timed half message is lost: at its time it enters the half topic without real topic and cannot be committed."""
    e.topic(kind="TRANSACTION")
    sent = e.put(half=True, deliver_ms=START_MS + 2_000)
    assert parts(sent.recall)[1] == "RMQ_SYS_TRANS_HALF_TOPIC"
    (waiting,) = e.records(WHEEL)
    assert waiting.property_map()["REAL_TOPIC"] == "RMQ_SYS_TRANS_HALF_TOPIC"
    e.advance(2_000)
    assert len(e.records("RMQ_SYS_TRANS_HALF_TOPIC")) == 1
    e.end(sent, 8)
    e.advance(20_000)
    assert delivered_bodies(e) == []


@through(*ALL, timer_wheel_enable=False)
def test_with_timer_wheel_disabled_timed_messages_are_rejected(timed: ProtocolClient) -> None:
    """With timerWheelEnable=false timed messages are rejected; delay levels still work."""
    text = "accurate timer message is not enabled, timerWheelEnable is false"
    before = timed.state()
    sent = timed.put(deliver_ms=START_MS + 2_000)
    assert not sent.ok
    assert text in sent.remark
    assert timed.state() == before
    if not timed.proxied:
        timed.put(DELAY="1")
        timed.advance(2_000)
        assert delivered_bodies(timed) == [b"0"]


@through(*ALL, timer_congest_num_each_slot=20)
def test_a_second_with_too_many_timed_messages_rejects_sends(timed: ProtocolClient) -> None:
    """A second with more than timerCongestNumEachSlot messages rejects sends at random, and all sends at twice as many.

    Other seconds are not affected.
    """
    text = (
        "timer message is under flow control, max num limit is 40 or the current value is greater than 20 and less "
        "than 40, trigger random flow control"
    )
    sent = [timed.put(b"%d" % number, deliver_ms=START_MS + 5_500) for number in range(400)]
    assert all(each.ok for each in sent[:21])
    assert [each.ok for each in sent].count(True) == 40
    (refused,) = {(each.code, each.remark.rpartition("ProxyException: ")[2]) for each in sent if not each.ok}
    assert refused == (50001 if timed.proxied else 1, text)
    assert not sent[-1].ok
    before = timed.state()
    assert not timed.put(deliver_ms=START_MS + 5_001).ok
    assert timed.state() == before
    assert timed.put(deliver_ms=START_MS + 6_500).ok
    timed.advance(6_000)
    assert len(delivered_bodies(timed)) == 40


# Recall.


@through(*ALL)
def test_a_recalled_message_is_not_delivered(timed: ProtocolClient) -> None:
    """A recalled message is not delivered; others of its second are. The recall returns the message id."""
    sent = [timed.put(body, deliver_ms=START_MS + 5_000) for body in (b"0", b"taken back", b"2")]
    response = timed.recall(sent[1].recall)
    assert (response.ok, response.handle) == (True, sent[1].id)
    timed.advance(600_000)
    assert delivered_bodies(timed) == [b"0", b"2"]


@through(*ALL)
def test_a_recall_handle_holds_topic_broker_message_id_and_slot_time(timed: ProtocolClient) -> None:
    """A recall handle holds topic, broker, message id, and a time 1 ms after the start of the slot."""
    sent = timed.put(deliver_ms=START_MS + 5_700)
    assert parts(sent.recall) == ["v1", "T", "broker-a", str(START_MS + 5_001), sent.id]


@through(*BROKER)
def test_only_sends_of_timed_messages_return_a_recall_handle(timed: ProtocolClient) -> None:
    """A send returns a recall handle for timed messages only, not for plain ones and delay levels."""
    assert timed.put().recall == ""
    assert timed.put(DELAY="1").recall == ""
    assert timed.put(TIMER_DELAY_MS="1000").recall != ""


@through(*ALL)
def test_a_recall_may_be_repeated(timed: ProtocolClient) -> None:
    """A recall may be repeated, may omit the padding of its handle, and succeeds for an unknown message id."""
    sent = timed.put(deliver_ms=START_MS + 5_000)
    for text in (sent.recall, sent.recall, sent.recall.rstrip("=")):
        assert timed.recall(text).ok
    unknown = timed.recall(handle("v1", "T", "broker-a", START_MS + 5_000, "nobody"))
    assert (unknown.ok, unknown.handle) == (True, "nobody")
    timed.advance(10_000)
    assert delivered_bodies(timed) == []


@through(*ALL)
def test_a_recall_is_stored_as_a_marker_in_the_wheel_topic(timed: ProtocolClient) -> None:
    """A recall is stored as a marker in the wheel topic and never delivered."""
    sent = timed.put(deliver_ms=START_MS + 5_500)
    timed.recall(sent.recall)
    message, mark = timed.records(WHEEL)
    assert mark.body == b"0"
    known = {"TAGS": "_RECALL_TAG_", "TIMER_DEL_UNIQKEY": f"T+{sent.id}", "UNIQ_KEY": sent.id, "REAL_TOPIC": "T"}
    assert mark.property_map().items() >= known.items()
    assert mark.property_map()["TIMER_OUT_MS"] == message.property_map()["TIMER_OUT_MS"]
    timed.advance(600_000)
    assert delivered_bodies(timed) == []
    assert len(timed.records(WHEEL)) == 2


@through(*ALL)
@pytest.mark.parametrize("at_ms", [5_001, 5_500, 6_000, 60_000])
def test_a_recall_after_the_messages_second_began_is_rejected(timed: ProtocolClient, at_ms: int) -> None:
    """A recall after the message's second has begun is rejected, and the message is delivered."""
    sent = timed.put(deliver_ms=START_MS + 5_500)
    timed.advance(at_ms)
    before = timed.state()
    assert timed.is_error(timed.recall(sent.recall), (604, LATE), (50001, PROXY_EXCEPTION + LATE))
    assert timed.state() == before
    timed.advance(60_000)
    assert delivered_bodies(timed) == [b"0"]


@through(*ALL)
def test_a_recall_in_the_last_millisecond_before_the_second_succeeds(timed: ProtocolClient) -> None:
    sent = timed.put(deliver_ms=START_MS + 5_500)
    timed.advance(5_000)
    assert timed.recall(sent.recall).ok
    timed.advance(60_000)
    assert delivered_bodies(timed) == []


@through(*ALL)
def test_with_recall_message_enable_false_recalls_are_rejected(timed: ProtocolClient) -> None:
    """With recallMessageEnable=false recalls are rejected, although sends return handles."""
    timed.broker.config.recall_message_enable = False
    sent = timed.put(deliver_ms=START_MS + 5_000)
    before = timed.state()
    text = "recall failed, operation is forbidden"
    assert timed.is_error(timed.recall(sent.recall), (16, text), (50001, PROXY_EXCEPTION + text))
    assert timed.state() == before


@through(*ALL)
@pytest.mark.parametrize(
    ("code", "keys"),
    [
        (11, {"brokerRole": "SLAVE"}),
        (14, {"startAcceptSendRequestTimeStamp": str(START_MS + 1)}),
        (14, {"brokerPermission": "4", "allowRecallWhenBrokerNotWriteable": "false"}),
    ],
)
def test_a_broker_that_does_not_accept_sends_rejects_recalls(
    timed: ProtocolClient, code: int, keys: dict[str, str]
) -> None:
    """A slave, a broker that does not accept sends yet, and one without write permission reject recalls.

    The last does so only with allowRecallWhenBrokerNotWriteable=false.
    """
    sent = timed.put(deliver_ms=START_MS + 5_000)
    for key, value in keys.items():
        timed.broker.config.set(key, value)
    before = timed.state()
    text = "recall failed, broker service not available"
    assert timed.is_error(timed.recall(sent.recall), (code, text), (50001, PROXY_EXCEPTION + text))
    assert timed.state() == before
    timed.advance(60_000)
    assert delivered_bodies(timed) == [b"0"]


@through(*BROKER)
def test_a_message_with_timer_del_uniqkey_cancels_the_named_message(timed: BrokerProtocolClient) -> None:
    """A message with TIMER_DEL_UNIQKEY cancels the named message of the same delivery time; neither is delivered."""
    sent = timed.put(b"taken back", TIMER_DELAY_MS="5000")
    timed.put(b"other", TIMER_DELAY_MS="5000")
    assert timed.put(b"mark", TIMER_DELAY_MS="5000", TIMER_DEL_UNIQKEY=f"T+{sent.id}").ok
    timed.advance(60_000)
    assert delivered_bodies(timed) == [b"other"]


@through(*BROKER)
@pytest.mark.parametrize(("named", "ms"), [("T+nobody", 5_000), ("U+", 5_000), ("", 5_000), ("T+", 8_000)])
def test_a_cancellation_of_another_message_topic_or_second_has_no_effect(
    timed: BrokerProtocolClient, named: str, ms: int
) -> None:
    """A cancellation that names another message or topic, no topic, or another second does not cancel the message."""
    sent = timed.put(b"0", TIMER_DELAY_MS="5000")
    name = named + sent.id if named.endswith("+") or not named else named
    timed.put(b"mark", TIMER_DELAY_MS=str(ms), TIMER_DEL_UNIQKEY=name)
    timed.advance(60_000)
    assert delivered_bodies(timed) == [b"0"]


@through(*BROKER)
@pytest.mark.parametrize("ms", ["0", "-1000"])
def test_a_cancellation_for_the_past_is_refused(timed: BrokerProtocolClient, ms: str) -> None:
    """A cancellation whose delivery time has passed is rejected, because it would be delivered."""
    before = timed.state()
    sent = timed.put(TIMER_DELAY_MS=ms, TIMER_DEL_UNIQKEY="T+x")
    assert (sent.code, sent.remark) == (13, ILLEGAL)
    assert timed.state() == before


# Delay levels instead of times.


@through("grpc", use_delay_level=True)
@pytest.mark.parametrize(
    ("after_ms", "level", "comes_ms"),
    [(-60_000, 1, 1_000), (0, 1, 1_000), (999, 1, 1_000), (1_000, 2, 5_000), (80_000_000, 18, 7_200_000)],
)
def test_with_use_delay_level_a_time_becomes_the_next_longer_level(
    timed: ProtocolClient, after_ms: int, level: int, comes_ms: int
) -> None:
    """With the proxy's useDelayLevel a delivery time becomes the next longer delay level, or the last one.

    A past delivery time becomes level 1.
    """
    sent = timed.put(deliver_ms=timed.now_ms + after_ms)
    assert (sent.ok, sent.recall) == (True, "")
    assert [each.property_map()["DELAY"] for each in timed.records(SCHEDULE, level - 1)] == [str(level)]
    timed.advance(comes_ms + 500)
    assert delivered_bodies(timed) == [b"0"]


@through("grpc", use_delay_level=True)
def test_the_proxy_chooses_the_shortest_sufficient_level_of_its_own(timed: GrpcProtocolClient) -> None:
    """The proxy chooses the shortest sufficient level from its own messageDelayLevel."""
    timed.harness.config.message_delay_level = "2h 3s 1m"
    for after_ms, level in ((1_000, 2), (30_000, 3), (100_000, 1), (50_000_000, 1)):
        timed.put(deliver_ms=timed.now_ms + after_ms)
        assert timed.records(SCHEDULE, level - 1)[-1].property_map()["DELAY"] == str(level)


# Stopped timer wheel.


@through(*ALL)
def test_with_timer_stop_enqueue_new_timed_messages_are_delivered_later(timed: ProtocolClient) -> None:
    """With timerStopEnqueue new timed messages stay in the wheel topic and are delivered later.

    Messages that were in the wheel before are delivered on time.
    """
    timed.put(b"before", deliver_ms=START_MS + 5_000)
    timed.configure(timerStopEnqueue="true")
    timed.put(b"due meanwhile", deliver_ms=START_MS + 2_000)
    timed.put(b"due later", deliver_ms=START_MS + 60_000)
    timed.advance(30_000)
    assert delivered_bodies(timed) == [b"before"]
    timed.configure(timerStopEnqueue="false")
    timed.advance(0)
    assert delivered_bodies(timed) == [b"before", b"due meanwhile"]
    timed.advance(29_999)
    assert len(delivered_bodies(timed)) == 2
    timed.advance(1)
    assert delivered_bodies(timed) == [b"before", b"due meanwhile", b"due later"]
