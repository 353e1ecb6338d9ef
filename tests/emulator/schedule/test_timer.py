"""Timed messages, which have any delay: delivered at the first slot boundary at or after their time."""

from contextlib import suppress
from struct import pack
from typing import Any

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.timers import GetTimerCheckPoint, TimerCheckPointResult
from snapshot_files import copied
from stored import scheduled, stored, stored_bodies

WHEEL = "rmq_sys_wheel_timer"
ILLEGAL = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; "
    "or if set del msg, the delay time should be bigger than the current time"
)
DAY_MS = 86_400_000


def deliver(harness: EngineHarness, after_ms: int, body: bytes = b"m", **more: Any) -> None:
    harness.send("A", body, TIMER_DELIVER_MS=str(harness.now_ms + after_ms), **more)


def refused_send(harness: EngineHarness, topic: str) -> ResponseCode:
    with pytest.raises(EngineError) as refusal:
        harness.send(topic)
    return refusal.value.code


@pytest.mark.parametrize(
    ("sent_at", "after_ms", "visible_at"),
    [
        (0, 1, 1000),
        (0, 300, 1000),
        (0, 999, 1000),
        (0, 1000, 1000),
        (0, 1001, 2000),
        (0, 3785, 4000),
        (0, 4000, 4000),
        (500, 500, 1000),
        (500, 501, 2000),
        (999, 1, 1000),
        (300, 3500, 4000),
    ],
)
def test_a_timed_message_is_visible_at_the_next_whole_second(
    harness: EngineHarness, sent_at: int, after_ms: int, visible_at: int
) -> None:
    """The deliver time is rounded up to the precision of the wheel; a whole second stays as it is."""
    harness.topic("A")
    harness.advance(sent_at)
    deliver(harness, after_ms)
    harness.advance(10_000)
    assert [record.store_timestamp - START_MS for record in stored(harness, "A")] == [visible_at]


@pytest.mark.parametrize(
    ("configured", "after_ms", "visible_at"),
    [(100, 130, 200), (100, 200, 200), (200, 201, 400), (500, 1100, 1500), (999, 501, 1000), (150, 130, 200)],
)
def test_the_timer_precision_is_rounded_down_to_an_allowed_one(configured: int, after_ms: int, visible_at: int) -> None:
    """The precision is 100, 200, 500 or 1000 ms; another value is rounded down to one of these."""
    harness = make_harness(timer_precision_ms=configured)
    harness.topic("A")
    deliver(harness, after_ms)
    harness.advance(5000)
    assert [record.store_timestamp - START_MS for record in stored(harness, "A")] == [visible_at]


@given(st.integers(0, 5000), st.integers(1, 20_000), st.sampled_from([100, 200, 500, 1000]))
def test_a_timed_message_is_never_early_and_less_than_a_slot_late(sent_at: int, after_ms: int, precision: int) -> None:
    """A message is stored in its topic at its deliver time or less than one slot later."""
    harness = make_harness(timer_precision_ms=precision)
    harness.topic("A")
    harness.advance(sent_at)
    wanted = harness.now_ms + after_ms
    deliver(harness, after_ms)
    harness.advance(30_000)
    (record,) = stored(harness, "A")
    assert 0 <= record.store_timestamp - wanted < precision


@pytest.mark.parametrize(
    ("properties", "after_ms"),
    [
        ({"TIMER_DELAY_SEC": "3"}, 3000),
        ({"TIMER_DELAY_MS": "3500"}, 4000),
        ({"TIMER_DELAY_SEC": "2", "TIMER_DELAY_MS": "9000"}, 2000),
        ({"TIMER_DELAY_MS": "2000", "TIMER_DELIVER_MS": str(START_MS + 9000)}, 2000),
    ],
)
def test_timer_delay_sec_precedes_timer_delay_ms_and_timer_deliver_ms(
    harness: EngineHarness, properties: dict[str, Any], after_ms: int
) -> None:
    """TIMER_DELAY_SEC takes precedence over TIMER_DELAY_MS, and both over TIMER_DELIVER_MS."""
    harness.topic("A")
    harness.send("A", **properties)
    harness.advance(20_000)
    assert [record.store_timestamp - START_MS for record in stored(harness, "A")] == [after_ms]


@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_DELIVER_MS": str(START_MS)},
        {"TIMER_DELIVER_MS": "0"},
        {"TIMER_DELIVER_MS": "-5"},
        {"TIMER_DELAY_SEC": "0"},
        {"TIMER_DELAY_MS": "-1"},
    ],
)
def test_a_timed_message_whose_time_has_passed_is_stored_at_once(
    harness: EngineHarness, properties: dict[str, Any]
) -> None:
    """A message whose time has passed is stored at once, with its property and without REAL_TOPIC."""
    harness.topic("A")
    result = harness.send("A", **properties)
    (record,) = stored(harness, "A")
    found = record.property_map()
    assert properties.items() <= found.items()
    assert "REAL_TOPIC" not in found
    assert result.recall_handle is None


@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_DELIVER_MS": "soon"},
        {"TIMER_DELAY_SEC": "1.5"},
        {"TIMER_DELAY_MS": "1_000"},
        {"TIMER_DELAY_SEC": "259201"},
        {"TIMER_DELAY_MS": "259200001"},
        {"TIMER_DELIVER_MS": str(START_MS + 3 * DAY_MS + 1)},
    ],
)
def test_a_timer_beyond_three_days_or_not_a_number_is_message_illegal(
    harness: EngineHarness, properties: dict[str, Any]
) -> None:
    """A time more than three days ahead or not a number returns MESSAGE_ILLEGAL; no message is stored."""
    harness.topic("A")
    with pytest.raises(EngineError) as caught:
        harness.send("A", **properties)
    assert (caught.value.code, caught.value.remark) == (ResponseCode.MESSAGE_ILLEGAL, ILLEGAL)
    assert stored(harness, "A") == stored(harness, WHEEL) == []


def test_a_timer_of_exactly_three_days_is_accepted_and_rolled_once(harness: EngineHarness) -> None:
    """A delay of exactly three days is accepted; the message is rolled once and delivered on time."""
    harness.topic("A")
    harness.send("A", TIMER_DELAY_SEC="259200")
    harness.advance(3 * DAY_MS - 1)
    assert stored(harness, "A") == []
    harness.advance(1)
    (record,) = stored(harness, "A")
    assert record.property_map()["TIMER_ROLL_TIMES"] == "1"
    assert len(stored(harness, WHEEL)) == 2


@pytest.mark.parametrize(
    ("after_s", "pauses_after_s"),
    [(172_800, None), (172_802, 86_400), (172_800 + 57_600, 86_400), (172_800 + 57_602, 172_800)],
)
def test_a_timed_message_beyond_two_days_is_rolled(
    harness: EngineHarness, after_s: int, pauses_after_s: int | None
) -> None:
    """A message beyond the two-day window is rolled after two days, or after one if little more remains."""
    harness.topic("A")
    harness.send("A", TIMER_DELAY_SEC=str(after_s))
    harness.advance(after_s * 1000)
    assert len(stored(harness, "A")) == 1
    times = [record.store_timestamp - START_MS for record in stored(harness, WHEEL)]
    assert times == ([0] if pauses_after_s is None else [0, (pauses_after_s + 1) * 1000])


def test_a_delivered_timed_message_has_its_enqueue_and_dequeue_times(harness: EngineHarness) -> None:
    """A waiting message is in the wheel topic with its slot; the delivered one has its enqueue and dequeue times."""
    harness.topic("A", 4)
    harness.advance(300)
    born = harness.now_ms
    harness.send("A", b"body", queue=2, TIMER_DELIVER_MS=str(START_MS + 2500), TAGS="T", color="red")
    (waiting,) = stored(harness, WHEEL)
    assert waiting.property_map().items() >= {"TIMER_OUT_MS": str(START_MS + 2000), "REAL_TOPIC": "A"}.items()
    harness.advance(10_000)
    (copy,) = stored(harness, "A", 2)
    assert (copy.body, copy.queue_id, copy.born_timestamp) == (b"body", 2, born)
    assert (
        copy.property_map().items()
        >= {
            "TIMER_OUT_MS": str(START_MS + 2000),
            "TIMER_ENQUEUE_MS": str(START_MS),
            "TIMER_DEQUEUE_MS": str(START_MS + 3000),
            "TIMER_DELIVER_MS": str(START_MS + 2500),
            "REAL_TOPIC": "A",
            "REAL_QID": "2",
            "TAGS": "T",
            "color": "red",
        }.items()
    )
    assert len(harness.popped("A", expression="T")) == 1


def test_a_delay_level_removes_the_timer_properties(harness: EngineHarness) -> None:
    """With a delay level the timer properties are removed from the stored message."""
    harness.topic("A")
    harness.send("A", DELAY="1", TIMER_DELAY_SEC="30", TIMER_DELAY_MS="1", TIMER_DELIVER_MS="1")
    harness.advance(1000)
    (record,) = stored(harness, "A")
    assert [name for name in record.property_map() if name.startswith("TIMER")] == []


def test_messages_of_one_wheel_slot_share_a_timer_and_keep_send_order(harness: EngineHarness) -> None:
    """Messages of one slot share a timer and are delivered in send order; an empty wheel has no timer."""
    harness.topic("A")
    for n in range(10):
        deliver(harness, 1200 + n % 2 * 1000, b"%d" % n)
    assert scheduled(harness, "timer") == [2000, 3000]
    harness.advance(3000)
    assert [int(body) for body in stored_bodies(harness, "A")] == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    assert scheduled(harness, "timer") == []
    assert harness.broker.timers.slots == {}


def test_delivery_of_a_timed_message_wakes_a_waiting_pull(harness: EngineHarness) -> None:
    """A waiting pull gets the message at the time of its delivery."""
    harness.topic("A")
    deliver(harness, 1500)
    call = harness.pull("A", suspend_ms=15_000)
    harness.advance(1999)
    assert call.outcome is None
    harness.advance(1)
    assert isinstance(call.outcome, PullResult)
    assert len(call.outcome.records) == 1


def test_a_message_to_the_wheel_topic_itself_is_rejected(harness: EngineHarness) -> None:
    """A message to the wheel topic itself, which crashes upstream's timer, is rejected, and the wheel continues."""
    harness.topic("A")
    deliver(harness, 1000)
    wrong: list[dict[str, Any]] = [{}, {"TIMER_DELAY_SEC": "1"}, {"TIMER_OUT_MS": "1"}]
    for properties in wrong:
        with pytest.raises(EngineError) as caught:
            harness.send(WHEEL, **properties)
        assert caught.value.code is ResponseCode.NO_PERMISSION
    harness.advance(1000)
    assert len(stored(harness, "A")) == 1


def test_with_the_timer_wheel_disabled_timed_messages_are_rejected() -> None:
    """With timerWheelEnable off timed messages are rejected, others are not."""
    harness = make_harness(timer_wheel_enable=False)
    harness.topic("A")
    with pytest.raises(EngineError) as caught:
        deliver(harness, 1000)
    assert caught.value.code is ResponseCode.SYSTEM_ERROR
    assert caught.value.remark == "accurate timer message is not enabled, timerWheelEnable is false"
    harness.send("A")


def test_the_retry_copy_of_a_timed_message_is_not_delayed_again(harness: EngineHarness) -> None:
    """The retry copy of a delivered timed message is not delayed again and keeps all TIMER properties."""
    harness.topic("A")
    deliver(harness, 1000)
    harness.advance(1000)
    harness.popped("A", invisible_ms=2000)
    harness.advance(10_000)
    (retry,) = stored(harness, "%RETRY%G_A")
    assert {"TIMER_OUT_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "TIMER_DELIVER_MS"} <= set(retry.property_map())


def test_a_timed_message_whose_record_was_deleted_is_not_delivered() -> None:
    """A waiting message whose record was deleted is not delivered; the others are."""
    harness = make_harness(store_max_bytes=1 << 20, max_message_size=1 << 16, mapped_file_size_commit_log=1 << 17)
    harness.topic("A")
    deliver(harness, 60_000, b"early")
    for _ in range(100):
        harness.send("A", bytes(30_000))
    deliver(harness, 60_000, b"late")
    assert harness.broker.store.min_offset(WHEEL, 0) == 1
    harness.advance(60_000)
    assert b"early" not in stored_bodies(harness, "A")
    assert b"late" in stored_bodies(harness, "A")


def test_a_timer_property_of_a_batch_delays_all_its_messages(harness: EngineHarness) -> None:
    """A timer property of a batch delays all its messages and allows recall; one of a single message is ignored."""
    harness.topic("A", queues=1)

    def send(body: bytes, head: dict[str, str]) -> SendResult:
        address = ("10.0.0.1", 5000)
        operation = SendMessage("PG", "A", 0, body, head, address, harness.now_ms, batch=True)
        result = harness.engine.execute(harness.broker, operation)
        assert isinstance(result, SendResult)
        return result

    def part(body: bytes, properties: bytes = b"") -> bytes:
        inner = pack(f">iiii{len(body)}sh", 0, 0, 0, len(body), body, len(properties)) + properties
        return pack(">i", len(inner) + 4) + inner

    whole = send(part(b"a") + part(b"b"), {"TIMER_DELIVER_MS": str(harness.now_ms + 3000), "UNIQ_KEY": "K"})
    assert whole.recall_handle
    assert stored_bodies(harness, WHEEL) == [b"a", b"b"]
    single = send(part(b"c", f"TIMER_DELIVER_MS\x01{harness.now_ms + 3000}\x02".encode()), {"UNIQ_KEY": "L"})
    assert not single.recall_handle
    assert stored_bodies(harness, "A") == [b"c"]
    harness.advance(3000)
    assert stored_bodies(harness, "A") == [b"c", b"a", b"b"]


@pytest.mark.parametrize("end", ["restart", "crash", "power loss", "snapshot"])
def test_a_message_kept_out_of_the_wheel_survives_every_kind_of_stop(end: str) -> None:
    """A message kept out by timerStopEnqueue survives every kind of stop, and is delivered when the key is reset."""
    harness = make_harness(flush_disk_type="SYNC_FLUSH", timer_flush_interval_ms=60_000)
    harness.topic("A")
    deliver(harness, 5_000, b"in its slot")
    harness.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "true"}))
    deliver(harness, 5_000, b"kept out")
    harness.advance(1_000)
    if end == "snapshot":
        engine = copied(harness.engine)
        harness = EngineHarness(engine, engine.brokers[0])
    elif end == "restart":
        harness.broker.restart()
    else:
        harness.engine.crash(power_loss=end == "power loss")
    harness.advance(10_000)
    assert stored_bodies(harness, "A") == [b"in its slot"]
    harness.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "false"}))
    harness.advance(0)
    assert stored_bodies(harness, "A") == [b"in its slot", b"kept out"]
    harness.broker.restart()
    harness.advance(100_000)
    assert len(stored_bodies(harness, "A")) == 2


def test_after_a_crash_a_refilled_wheel_slot_is_delivered_completely_again() -> None:
    """After a crash a slot that was read and filled again since the last write is delivered completely once more."""
    harness = make_harness(flush_disk_type="SYNC_FLUSH", timer_flush_interval_ms=60_000)
    harness.topic("A")
    deliver(harness, 5_000, b"read")
    harness.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "true"}))
    deliver(harness, 5_000, b"kept out")
    harness.advance(5_200)
    assert stored_bodies(harness, "A") == [b"read"]
    harness.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "false"}))
    harness.engine.crash(power_loss=False)
    harness.advance(10_000)
    assert stored_bodies(harness, "A") == [b"read", b"read", b"kept out"]


def test_a_restart_without_timer_stop_enqueue_enqueues_the_kept_out_messages(harness: EngineHarness) -> None:
    """A broker restarted without timerStopEnqueue enqueues the messages that were kept out."""
    harness.topic("A")
    harness.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "true"}))
    deliver(harness, 5_000)
    harness.broker.config.timer_stop_enqueue = False
    harness.broker.restart()
    assert stored_bodies(harness, "A") == []
    harness.advance(5_000)
    assert stored_bodies(harness, "A") == [b"m"]


def test_a_message_deleted_before_it_entered_the_wheel_is_skipped() -> None:
    """A message deleted before it entered the wheel is skipped, and the timer reads the rest of its topic."""
    harness = make_harness(store_max_bytes=1_000_000, max_message_size=1000, timer_stop_enqueue=True)
    harness.topic("A")
    harness.topic("F")
    deliver(harness, 5_000)
    for _ in range(3000):
        harness.send("F", bytes(1000))
    assert harness.broker.store.record(WHEEL, 0, 0) is None
    harness.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "false"}))
    harness.advance(10_000)
    assert stored_bodies(harness, "A") == []
    assert harness.ask(TimerCheckPointResult, GetTimerCheckPoint()).taken == 1
    deliver(harness, 5_000, b"later")
    harness.advance(10_000)
    assert stored_bodies(harness, "A") == [b"later"]


def test_a_congested_wheel_slot_rejects_at_random_and_less_often_as_it_fills() -> None:
    """A congested slot rejects at random, less often as it fills (as in upstream), and always from twice the limit on.

    Nine of ten are rejected just above the limit, one of ten just below twice the limit.
    """
    refusals = []
    for held in (10, 11, 19, 20):
        count = 0
        for seed in range(30):
            harness = make_harness(seed, timer_congest_num_each_slot=10)
            harness.topic("A")
            harness.broker.timers.slots.clear()
            while not harness.broker.timers.slots or next(iter(harness.broker.timers.slots.values())).number < held:
                with suppress(EngineError):
                    deliver(harness, 5_000)
            try:
                deliver(harness, 5_000)
            except EngineError:
                count += 1
        refusals.append(count)
    none, most, few, all_of_them = refusals
    assert (none, all_of_them) == (0, 30)
    assert most > 20
    assert few < 12


def test_revive_continues_with_the_timer_after_a_change_of_the_configuration(harness: EngineHarness) -> None:
    """The defect stops timer and revive. Without it, the next change of a key makes the timer read its topic again."""
    harness.topic("A")
    harness.engine.defects.enable("timer_topic_stops_timer")
    harness.send(WHEEL, b"no timer message")
    harness.send("A", b"popped")
    assert len(harness.popped("A", invisible_ms=10_000)) == 1
    harness.advance(60_000)
    assert harness.broker.topics.find("%RETRY%G_A") is None
    harness.engine.defects.release("timer_topic_stops_timer")
    harness.ask(Done, UpdateBrokerConfig({"popPollingSize": "5"}))
    harness.send("A", b"popped later")
    assert len(harness.popped("A", invisible_ms=10_000)) == 1
    harness.advance(60_000)
    assert stored_bodies(harness, "%RETRY%G_A") == [b"popped", b"popped later"]


def test_a_congested_wheel_slot_compares_with_its_limit_and_a_tenth(harness: EngineHarness) -> None:
    """A slot with three messages and a limit of two rejects 52 % of further ones: 1 - 1 / 2.1, not 1 - 1 / 2.

    Source: TimerMessageStore.isReject (5.3.3).
    """
    harness = make_harness(timer_congest_num_each_slot=2)
    harness.topic("A")
    rejected = 0
    for seconds in range(1, 4_001):
        for _ in range(3):
            deliver(harness, 10_000 + seconds * 1_000)
        try:
            deliver(harness, 10_000 + seconds * 1_000)
        except EngineError:
            rejected += 1
    assert 2_047 < rejected < 2_147


def test_a_timer_stopped_by_the_defect_continues_after_a_restart_without_it(harness: EngineHarness) -> None:
    """With the defect a message to the timer's topic stops the timer, until a restart without the defect."""
    harness.topic("A")
    harness.engine.defects.enable("timer_topic_stops_timer")
    deliver(harness, 3_000, b"in the wheel")
    harness.send(WHEEL, b"no timer message")
    deliver(harness, 1_000, b"behind it")
    harness.advance(10_000)
    assert stored_bodies(harness, "A") == [b"in the wheel"]
    harness.engine.restart()
    harness.advance(10_000)
    assert stored_bodies(harness, "A") == [b"in the wheel"]
    harness.engine.defects.release("timer_topic_stops_timer")
    harness.engine.restart()
    harness.advance(10_000)
    assert stored_bodies(harness, "A") == [b"in the wheel", b"behind it"]
    assert refused_send(harness, WHEEL) is ResponseCode.NO_PERMISSION
