"""Timed messages, which have any delay: delivered at the first slot boundary at or after their time."""

from contextlib import suppress
from struct import pack
from typing import Any

import pytest
from engine_world import START_MS, World, make_world
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


def deliver(world: World, after_ms: int, body: bytes = b"m", **more: Any) -> None:
    world.send("A", body, TIMER_DELIVER_MS=str(world.now_ms + after_ms), **more)


def refused_send(world: World, topic: str) -> ResponseCode:
    with pytest.raises(EngineError) as refusal:
        world.send(topic)
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
    world: World, sent_at: int, after_ms: int, visible_at: int
) -> None:
    """The deliver time is rounded up to the precision of the wheel; a whole second stays as it is."""
    world.topic("A")
    world.advance(sent_at)
    deliver(world, after_ms)
    world.advance(10_000)
    assert [record.store_timestamp - START_MS for record in stored(world, "A")] == [visible_at]


@pytest.mark.parametrize(
    ("configured", "after_ms", "visible_at"),
    [(100, 130, 200), (100, 200, 200), (200, 201, 400), (500, 1100, 1500), (999, 501, 1000), (150, 130, 200)],
)
def test_the_timer_precision_is_rounded_down_to_an_allowed_one(configured: int, after_ms: int, visible_at: int) -> None:
    """The precision is 100, 200, 500 or 1000 ms; another value is rounded down to one of these."""
    world = make_world(timer_precision_ms=configured)
    world.topic("A")
    deliver(world, after_ms)
    world.advance(5000)
    assert [record.store_timestamp - START_MS for record in stored(world, "A")] == [visible_at]


@given(st.integers(0, 5000), st.integers(1, 20_000), st.sampled_from([100, 200, 500, 1000]))
def test_a_timed_message_is_never_early_and_less_than_a_slot_late(sent_at: int, after_ms: int, precision: int) -> None:
    """A message is stored in its topic at its deliver time or less than one slot later."""
    world = make_world(timer_precision_ms=precision)
    world.topic("A")
    world.advance(sent_at)
    wanted = world.now_ms + after_ms
    deliver(world, after_ms)
    world.advance(30_000)
    (record,) = stored(world, "A")
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
    world: World, properties: dict[str, Any], after_ms: int
) -> None:
    """TIMER_DELAY_SEC takes precedence over TIMER_DELAY_MS, and both over TIMER_DELIVER_MS."""
    world.topic("A")
    world.send("A", **properties)
    world.advance(20_000)
    assert [record.store_timestamp - START_MS for record in stored(world, "A")] == [after_ms]


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
def test_a_timed_message_whose_time_has_passed_is_stored_at_once(world: World, properties: dict[str, Any]) -> None:
    """A message whose time has passed is stored at once, with its property and without REAL_TOPIC."""
    world.topic("A")
    result = world.send("A", **properties)
    (record,) = stored(world, "A")
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
def test_a_timer_beyond_three_days_or_not_a_number_is_message_illegal(world: World, properties: dict[str, Any]) -> None:
    """A time more than three days ahead or not a number returns MESSAGE_ILLEGAL; no message is stored."""
    world.topic("A")
    with pytest.raises(EngineError) as caught:
        world.send("A", **properties)
    assert (caught.value.code, caught.value.remark) == (ResponseCode.MESSAGE_ILLEGAL, ILLEGAL)
    assert stored(world, "A") == stored(world, WHEEL) == []


def test_a_timer_of_exactly_three_days_is_accepted_and_rolled_once(world: World) -> None:
    """A delay of exactly three days is accepted; the message is rolled once and delivered on time."""
    world.topic("A")
    world.send("A", TIMER_DELAY_SEC="259200")
    world.advance(3 * DAY_MS - 1)
    assert stored(world, "A") == []
    world.advance(1)
    (record,) = stored(world, "A")
    assert record.property_map()["TIMER_ROLL_TIMES"] == "1"
    assert len(stored(world, WHEEL)) == 2


@pytest.mark.parametrize(
    ("after_s", "pauses_after_s"),
    [(172_800, None), (172_802, 86_400), (172_800 + 57_600, 86_400), (172_800 + 57_602, 172_800)],
)
def test_a_timed_message_beyond_two_days_is_rolled(world: World, after_s: int, pauses_after_s: int | None) -> None:
    """A message beyond the two-day window is rolled after two days, or after one if little more remains."""
    world.topic("A")
    world.send("A", TIMER_DELAY_SEC=str(after_s))
    world.advance(after_s * 1000)
    assert len(stored(world, "A")) == 1
    times = [record.store_timestamp - START_MS for record in stored(world, WHEEL)]
    assert times == ([0] if pauses_after_s is None else [0, (pauses_after_s + 1) * 1000])


def test_a_delivered_timed_message_has_its_enqueue_and_dequeue_times(world: World) -> None:
    """A waiting message is in the wheel topic with its slot; the delivered one has its enqueue and dequeue times."""
    world.topic("A", 4)
    world.advance(300)
    born = world.now_ms
    world.send("A", b"body", queue=2, TIMER_DELIVER_MS=str(START_MS + 2500), TAGS="T", color="red")
    (waiting,) = stored(world, WHEEL)
    assert waiting.property_map().items() >= {"TIMER_OUT_MS": str(START_MS + 2000), "REAL_TOPIC": "A"}.items()
    world.advance(10_000)
    (copy,) = stored(world, "A", 2)
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
    assert len(world.popped("A", expression="T")) == 1


def test_a_delay_level_removes_the_timer_properties(world: World) -> None:
    """With a delay level the timer properties are removed from the stored message."""
    world.topic("A")
    world.send("A", DELAY="1", TIMER_DELAY_SEC="30", TIMER_DELAY_MS="1", TIMER_DELIVER_MS="1")
    world.advance(1000)
    (record,) = stored(world, "A")
    assert [name for name in record.property_map() if name.startswith("TIMER")] == []


def test_messages_of_one_wheel_slot_share_a_timer_and_keep_send_order(world: World) -> None:
    """Messages of one slot share a timer and are delivered in send order; an empty wheel has no timer."""
    world.topic("A")
    for n in range(10):
        deliver(world, 1200 + n % 2 * 1000, b"%d" % n)
    assert scheduled(world, "timer") == [2000, 3000]
    world.advance(3000)
    assert [int(body) for body in stored_bodies(world, "A")] == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    assert scheduled(world, "timer") == []
    assert world.broker.timers.slots == {}


def test_delivery_of_a_timed_message_wakes_a_waiting_pull(world: World) -> None:
    """A waiting pull gets the message at the time of its delivery."""
    world.topic("A")
    deliver(world, 1500)
    call = world.pull("A", suspend_ms=15_000)
    world.advance(1999)
    assert call.outcome is None
    world.advance(1)
    assert isinstance(call.outcome, PullResult)
    assert len(call.outcome.records) == 1


def test_a_message_to_the_wheel_topic_itself_is_rejected(world: World) -> None:
    """A message to the wheel topic itself, which crashes upstream's timer, is rejected, and the wheel continues."""
    world.topic("A")
    deliver(world, 1000)
    wrong: list[dict[str, Any]] = [{}, {"TIMER_DELAY_SEC": "1"}, {"TIMER_OUT_MS": "1"}]
    for properties in wrong:
        with pytest.raises(EngineError) as caught:
            world.send(WHEEL, **properties)
        assert caught.value.code is ResponseCode.NO_PERMISSION
    world.advance(1000)
    assert len(stored(world, "A")) == 1


def test_with_the_timer_wheel_disabled_timed_messages_are_rejected() -> None:
    """With timerWheelEnable off timed messages are rejected, others are not."""
    world = make_world(timer_wheel_enable=False)
    world.topic("A")
    with pytest.raises(EngineError) as caught:
        deliver(world, 1000)
    assert caught.value.code is ResponseCode.SYSTEM_ERROR
    assert caught.value.remark == "accurate timer message is not enabled, timerWheelEnable is false"
    world.send("A")


def test_the_retry_copy_of_a_timed_message_is_not_delayed_again(world: World) -> None:
    """The retry copy of a delivered timed message is not delayed again and keeps all TIMER properties."""
    world.topic("A")
    deliver(world, 1000)
    world.advance(1000)
    world.popped("A", invisible_ms=2000)
    world.advance(10_000)
    (retry,) = stored(world, "%RETRY%G_A")
    assert {"TIMER_OUT_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "TIMER_DELIVER_MS"} <= set(retry.property_map())


def test_a_timed_message_whose_record_was_deleted_is_not_delivered() -> None:
    """A waiting message whose record was deleted is not delivered; the others are."""
    world = make_world(store_max_bytes=1 << 20, max_message_size=1 << 16, mapped_file_size_commit_log=1 << 17)
    world.topic("A")
    deliver(world, 60_000, b"early")
    for _ in range(100):
        world.send("A", bytes(30_000))
    deliver(world, 60_000, b"late")
    assert world.broker.store.min_offset(WHEEL, 0) == 1
    world.advance(60_000)
    assert b"early" not in stored_bodies(world, "A")
    assert b"late" in stored_bodies(world, "A")


def test_a_timer_property_of_a_batch_delays_all_its_messages(world: World) -> None:
    """A timer property of a batch delays all its messages and allows recall; one of a single message is ignored."""
    world.topic("A", queues=1)

    def send(body: bytes, head: dict[str, str]) -> SendResult:
        address = ("10.0.0.1", 5000)
        operation = SendMessage("PG", "A", 0, body, head, address, world.now_ms, batch=True)
        result = world.engine.execute(world.broker, operation)
        assert isinstance(result, SendResult)
        return result

    def part(body: bytes, properties: bytes = b"") -> bytes:
        inner = pack(f">iiii{len(body)}sh", 0, 0, 0, len(body), body, len(properties)) + properties
        return pack(">i", len(inner) + 4) + inner

    whole = send(part(b"a") + part(b"b"), {"TIMER_DELIVER_MS": str(world.now_ms + 3000), "UNIQ_KEY": "K"})
    assert whole.recall_handle
    assert stored_bodies(world, WHEEL) == [b"a", b"b"]
    single = send(part(b"c", f"TIMER_DELIVER_MS\x01{world.now_ms + 3000}\x02".encode()), {"UNIQ_KEY": "L"})
    assert not single.recall_handle
    assert stored_bodies(world, "A") == [b"c"]
    world.advance(3000)
    assert stored_bodies(world, "A") == [b"c", b"a", b"b"]


@pytest.mark.parametrize("end", ["restart", "crash", "power loss", "snapshot"])
def test_a_message_kept_out_of_the_wheel_survives_every_kind_of_stop(end: str) -> None:
    """A message kept out by timerStopEnqueue survives every kind of stop, and is delivered when the key is reset."""
    world = make_world(flush_disk_type="SYNC_FLUSH", timer_flush_interval_ms=60_000)
    world.topic("A")
    deliver(world, 5_000, b"in its slot")
    world.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "true"}))
    deliver(world, 5_000, b"kept out")
    world.advance(1_000)
    if end == "snapshot":
        engine = copied(world.engine)
        world = World(engine, engine.brokers[0])
    elif end == "restart":
        world.broker.restart()
    else:
        world.engine.crash(power_loss=end == "power loss")
    world.advance(10_000)
    assert stored_bodies(world, "A") == [b"in its slot"]
    world.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "false"}))
    world.advance(0)
    assert stored_bodies(world, "A") == [b"in its slot", b"kept out"]
    world.broker.restart()
    world.advance(100_000)
    assert len(stored_bodies(world, "A")) == 2


def test_after_a_crash_a_refilled_wheel_slot_is_delivered_completely_again() -> None:
    """After a crash a slot that was read and filled again since the last write is delivered completely once more."""
    world = make_world(flush_disk_type="SYNC_FLUSH", timer_flush_interval_ms=60_000)
    world.topic("A")
    deliver(world, 5_000, b"read")
    world.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "true"}))
    deliver(world, 5_000, b"kept out")
    world.advance(5_200)
    assert stored_bodies(world, "A") == [b"read"]
    world.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "false"}))
    world.engine.crash(power_loss=False)
    world.advance(10_000)
    assert stored_bodies(world, "A") == [b"read", b"read", b"kept out"]


def test_a_restart_without_timer_stop_enqueue_enqueues_the_kept_out_messages(world: World) -> None:
    """A broker restarted without timerStopEnqueue enqueues the messages that were kept out."""
    world.topic("A")
    world.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "true"}))
    deliver(world, 5_000)
    world.broker.config.timer_stop_enqueue = False
    world.broker.restart()
    assert stored_bodies(world, "A") == []
    world.advance(5_000)
    assert stored_bodies(world, "A") == [b"m"]


def test_a_message_deleted_before_it_entered_the_wheel_is_skipped() -> None:
    """A message deleted before it entered the wheel is skipped, and the timer reads the rest of its topic."""
    world = make_world(store_max_bytes=1_000_000, max_message_size=1000, timer_stop_enqueue=True)
    world.topic("A")
    world.topic("F")
    deliver(world, 5_000)
    for _ in range(3000):
        world.send("F", bytes(1000))
    assert world.broker.store.record(WHEEL, 0, 0) is None
    world.ask(Done, UpdateBrokerConfig({"timerStopEnqueue": "false"}))
    world.advance(10_000)
    assert stored_bodies(world, "A") == []
    assert world.ask(TimerCheckPointResult, GetTimerCheckPoint()).taken == 1
    deliver(world, 5_000, b"later")
    world.advance(10_000)
    assert stored_bodies(world, "A") == [b"later"]


def test_a_congested_wheel_slot_rejects_at_random_and_less_often_as_it_fills() -> None:
    """A congested slot rejects at random, less often as it fills (as in upstream), and always from twice the limit on.

    Nine of ten are rejected just above the limit, one of ten just below twice the limit.
    """
    refusals = []
    for held in (10, 11, 19, 20):
        count = 0
        for seed in range(30):
            world = make_world(seed, timer_congest_num_each_slot=10)
            world.topic("A")
            world.broker.timers.slots.clear()
            while not world.broker.timers.slots or next(iter(world.broker.timers.slots.values())).number < held:
                with suppress(EngineError):
                    deliver(world, 5_000)
            try:
                deliver(world, 5_000)
            except EngineError:
                count += 1
        refusals.append(count)
    none, most, few, all_of_them = refusals
    assert (none, all_of_them) == (0, 30)
    assert most > 20
    assert few < 12


def test_revive_continues_with_the_timer_after_a_change_of_the_configuration(world: World) -> None:
    """The defect stops timer and revive. Without it, the next change of a key makes the timer read its topic again."""
    world.topic("A")
    world.engine.defects.enable("timer_topic_stops_timer")
    world.send(WHEEL, b"no timer message")
    world.send("A", b"popped")
    assert len(world.popped("A", invisible_ms=10_000)) == 1
    world.advance(60_000)
    assert world.broker.topics.find("%RETRY%G_A") is None
    world.engine.defects.release("timer_topic_stops_timer")
    world.ask(Done, UpdateBrokerConfig({"popPollingSize": "5"}))
    world.send("A", b"popped later")
    assert len(world.popped("A", invisible_ms=10_000)) == 1
    world.advance(60_000)
    assert stored_bodies(world, "%RETRY%G_A") == [b"popped", b"popped later"]


def test_a_congested_wheel_slot_compares_with_its_limit_and_a_tenth(world: World) -> None:
    """A slot with three messages and a limit of two rejects 52 % of further ones: 1 - 1 / 2.1, not 1 - 1 / 2.

    Source: TimerMessageStore.isReject (5.3.3).
    """
    world = make_world(timer_congest_num_each_slot=2)
    world.topic("A")
    rejected = 0
    for seconds in range(1, 4_001):
        for _ in range(3):
            deliver(world, 10_000 + seconds * 1_000)
        try:
            deliver(world, 10_000 + seconds * 1_000)
        except EngineError:
            rejected += 1
    assert 2_047 < rejected < 2_147


def test_a_timer_stopped_by_the_defect_continues_after_a_restart_without_it(world: World) -> None:
    """With the defect a message to the timer's topic stops the timer, until a restart without the defect."""
    world.topic("A")
    world.engine.defects.enable("timer_topic_stops_timer")
    deliver(world, 3_000, b"in the wheel")
    world.send(WHEEL, b"no timer message")
    deliver(world, 1_000, b"behind it")
    world.advance(10_000)
    assert stored_bodies(world, "A") == [b"in the wheel"]
    world.engine.restart()
    world.advance(10_000)
    assert stored_bodies(world, "A") == [b"in the wheel"]
    world.engine.defects.release("timer_topic_stops_timer")
    world.engine.restart()
    world.advance(10_000)
    assert stored_bodies(world, "A") == [b"in the wheel", b"behind it"]
    assert refused_send(world, WHEEL) is ResponseCode.NO_PERMISSION
