"""Delay levels: the messages of a level are delivered in order, each at the first check after its delay."""

from struct import pack

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from rocketmq_testkit.emulator.config import ConfigError
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.timers import DelayOffsetsResult, GetAllDelayOffset
from rocketmq_testkit.emulator.schedule.delay_levels import parse_delay_levels
from stored import scheduled, stored, stored_bodies

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
_S, _M, _H = 1000, 60_000, 3_600_000


@pytest.mark.parametrize(
    ("level", "delay_ms"),
    list(
        enumerate(
            [1 * _S, 5 * _S, 10 * _S, 30 * _S, *(n * _M for n in (*range(1, 11), 20, 30)), 1 * _H, 2 * _H], start=1
        )
    ),
)
def test_a_message_of_each_default_level_is_stored_after_its_delay(
    harness: EngineHarness, level: int, delay_ms: int
) -> None:
    """A message of a level is stored in its topic after the level's delay and not a millisecond earlier."""
    harness.topic("A")
    harness.advance(10_000)
    harness.send("A", DELAY=str(level))
    harness.advance(delay_ms - 1)
    assert stored(harness, "A") == []
    harness.advance(1)
    assert [record.store_timestamp for record in stored(harness, "A")] == [harness.now_ms]


@pytest.mark.parametrize(("sent_at", "visible_at"), [(0, 1000), (37, 1100), (100, 1100), (101, 1200), (5050, 6100)])
def test_delay_levels_are_checked_every_100_ms_from_1_s_after_the_start(
    harness: EngineHarness, sent_at: int, visible_at: int
) -> None:
    """A message that is due between two checks (every 100 ms, first 1 s after the start) appears at the later one."""
    harness.topic("A")
    harness.advance(sent_at)
    harness.send("A", DELAY="1")
    harness.advance(10_000)
    assert [record.store_timestamp - START_MS for record in stored(harness, "A")] == [visible_at]


def test_with_a_check_interval_of_1_ms_a_delayed_message_appears_on_time() -> None:
    """With a check interval of 1 ms a message appears exactly at its deliver time."""
    harness = make_harness(delay_level_check_interval=1)
    harness.topic("A")
    harness.advance(37)
    harness.send("A", DELAY="1")
    harness.advance(10_000)
    assert [record.store_timestamp - START_MS for record in stored(harness, "A")] == [1037]


def test_a_delayed_message_waits_in_the_schedule_topic_queue_of_its_level(harness: EngineHarness) -> None:
    """A waiting message is in queue level - 1 of the schedule topic, and its tags code is its deliver time."""
    harness.topic("A", 4)
    harness.send("A", queue=3, DELAY="3", TAGS="T")
    (waiting,) = stored(harness, SCHEDULE, 2)
    assert waiting.property_map() | {"REAL_TOPIC": "A", "REAL_QID": "3", "DELAY": "3"} == waiting.property_map()
    queue = harness.broker.store.queue(SCHEDULE, 2)
    assert queue is not None
    assert queue.unit(0)[2] == START_MS + 10_000


def test_the_delivered_copy_keeps_queue_body_born_data_and_properties(harness: EngineHarness) -> None:
    """The delivered copy keeps queue, body, born data and properties, including DELAY, REAL_TOPIC and REAL_QID."""
    harness.topic("A", 4)
    harness.send("A", b"body", queue=2, DELAY="1", TAGS="T", KEYS="k", color="red")
    harness.advance(1000)
    (copy,) = stored(harness, "A", 2)
    properties = copy.property_map()
    assert (copy.body, copy.queue_id, copy.born_timestamp, copy.reconsume_times) == (b"body", 2, START_MS, 0)
    assert {name: properties[name] for name in ("DELAY", "REAL_TOPIC", "REAL_QID", "TAGS", "KEYS", "color")} == {
        "DELAY": "1",
        "REAL_TOPIC": "A",
        "REAL_QID": "2",
        "TAGS": "T",
        "KEYS": "k",
        "color": "red",
    }
    assert len(harness.popped("A", expression="T")) == 1


@pytest.mark.parametrize("level", ["0", "-1", "-9"])
def test_a_message_with_level_0_or_below_is_stored_at_once(harness: EngineHarness, level: str) -> None:
    harness.topic("A")
    harness.send("A", DELAY=level)
    assert len(stored(harness, "A")) == 1


@pytest.mark.parametrize("level", ["19", "99", "2147483647"])
def test_a_delay_level_above_the_maximum_is_clamped(harness: EngineHarness, level: str) -> None:
    """A level above the maximum is clamped: the message is in the last level's queue with DELAY=18."""
    harness.topic("A")
    harness.send("A", DELAY=level)
    (waiting,) = stored(harness, SCHEDULE, 17)
    assert waiting.property_map()["DELAY"] == "18"


@pytest.mark.parametrize("level", ["x", "1.5", " 1", "99999999999"])
def test_a_delay_level_that_is_not_a_number_is_rejected(harness: EngineHarness, level: str) -> None:
    """A level that is not a number is rejected with SYSTEM_ERROR and Java's text; no message is stored."""
    harness.topic("A")
    with pytest.raises(EngineError) as caught:
        harness.send("A", DELAY=level)
    assert caught.value.code is ResponseCode.SYSTEM_ERROR
    assert caught.value.remark == f'java.lang.NumberFormatException: For input string: "{level}"'
    assert stored(harness, "A") == []


def test_messages_of_one_level_are_delivered_in_send_order(harness: EngineHarness) -> None:
    """Messages of one level are delivered in send order, even if several are due at one check."""
    harness.topic("A")
    for n in range(20):
        harness.send("A", b"%d" % n, DELAY="2" if n % 2 else "1")
        harness.advance(15)
    harness.advance(10_000)
    assert [int(body) for body in stored_bodies(harness, "A")] == [*range(0, 20, 2), *range(1, 20, 2)]
    assert harness.broker.delays.offsets == {1: 10, 2: 10}


def test_waiting_lists_the_undelivered_messages_of_each_level(harness: EngineHarness) -> None:
    """A waiting message is listed with its deliver time and level until it is delivered."""
    harness.topic("A")
    harness.send("A", b"late", DELAY="3")
    harness.send("A", b"early", DELAY="1")
    harness.advance(500)
    harness.send("A", b"later", DELAY="3")
    listed = [(at_ms - START_MS, level, decode(each).body) for at_ms, level, each in harness.broker.delays.waiting()]
    assert listed == [(1000, 1, b"early"), (10_000, 3, b"late"), (10_500, 3, b"later")]
    harness.advance(9_500)
    assert [decode(each).body for *_, each in harness.broker.delays.waiting()] == [b"later"]


def test_each_delay_level_in_use_has_one_timer_until_it_is_empty(harness: EngineHarness) -> None:
    """Each level in use has one timer, and no timer remains afterwards."""
    harness.topic("A")
    assert scheduled(harness, "delay level") == []
    for _ in range(5):
        harness.send("A", DELAY="1")
        harness.send("A", DELAY="3")
    assert scheduled(harness, "delay level") == [1000, 10_000]
    harness.advance(10_000)
    assert scheduled(harness, "delay level") == []


def test_delivery_of_a_delayed_message_wakes_a_waiting_pull(harness: EngineHarness) -> None:
    """A waiting pull gets the message at the time of its delivery."""
    harness.topic("A")
    harness.send("A", b"late", DELAY="1")
    call = harness.pull("A", suspend_ms=15_000)
    harness.advance(999)
    assert call.outcome is None
    harness.advance(1)
    assert isinstance(call.outcome, PullResult)
    assert len(call.outcome.records) == 1


def test_configured_levels_replace_the_default_levels() -> None:
    """Another level string configures other levels, even more than the schedule topic has queues."""
    harness = make_harness(message_delay_level=" ".join(f"{n}s" for n in range(2, 22)))
    harness.topic("A")
    harness.send("A", b"first", DELAY="1")
    harness.send("A", b"last", DELAY="20")
    harness.advance(2000)
    assert stored_bodies(harness, "A") == [b"first"]
    harness.advance(19_000)
    assert stored_bodies(harness, "A") == [b"first", b"last"]


@pytest.mark.parametrize(("text", "delays"), [("1s", [1000]), ("3m 2h 1d ", [180_000, 7_200_000, 86_400_000])])
def test_delay_levels_are_parsed_in_seconds_minutes_hours_and_days(text: str, delays: list[int]) -> None:
    """Levels are whole numbers of seconds, minutes, hours or days."""
    assert parse_delay_levels(text) == delays


@pytest.mark.parametrize("text", ["", "  ", "1", "s", "1x", "1.5s", "1s 2S", "1s five", "1s  5s", " 1s"])
def test_an_invalid_message_delay_level_fails_the_start_of_the_broker(text: str) -> None:
    """An invalid level string fails the start of the broker with an error that names the key."""
    with pytest.raises(ConfigError, match="messageDelayLevel="):
        make_harness(message_delay_level=text)


def test_a_delayed_half_message_is_lost(harness: EngineHarness) -> None:
    """A delayed half message is lost, as in upstream, because no copy is stored in the half topic."""
    harness.topic("A")
    harness.send("A", DELAY="1", TRAN_MSG="true", PGROUP="PG")
    harness.advance(60_000)
    assert stored(harness, "RMQ_SYS_TRANS_HALF_TOPIC") == []
    assert stored(harness, "A") == []


def test_a_revived_message_with_a_level_is_delayed_again(harness: EngineHarness) -> None:
    """The retry copy of a popped message with a delay level is delayed again by that level."""
    harness.topic("A")
    harness.send("A", DELAY="2")
    harness.advance(5000)
    popped_at = harness.now_ms
    assert len(harness.popped("A", invisible_ms=2000)) == 1
    harness.advance(20_000)
    (retry,) = stored(harness, "%RETRY%G_A")
    late = retry.store_timestamp - popped_at - 2000
    assert 7000 <= late <= 9000
    assert retry.property_map()["REAL_TOPIC"] == "%RETRY%G_A"


def test_a_batch_message_with_an_invalid_level_is_revived_without_delay(harness: EngineHarness) -> None:
    """A batch bypasses the check of delay levels; its message with an invalid level is revived without delay."""
    harness.topic("A")
    properties = b"DELAY\x01x\x02"
    inner = pack(">iiii2sh", 0, 0, 0, 2, b"hi", len(properties)) + properties
    body = pack(">i", len(inner) + 4) + inner
    harness.engine.execute(
        harness.broker, SendMessage("PG", "A", 0, body, {}, ("10.0.0.1", 5000), harness.now_ms, batch=True)
    )
    assert len(harness.popped("A", invisible_ms=1000)) == 1
    harness.advance(10_000)
    assert stored_bodies(harness, "%RETRY%G_A") == [b"hi"]


def offsets(harness: EngineHarness) -> tuple[dict[int, int], int, int]:
    """Return the delivered offsets, their version, and its time (ms) since the start."""
    result = harness.ask(DelayOffsetsResult, GetAllDelayOffset())
    return result.offsets, result.version, result.changed_ms - START_MS


def test_delay_offsets_count_delivered_messages_from_the_first_check_on(harness: EngineHarness) -> None:
    """The offsets include a level from the first check after its first message; waiting messages do not count."""
    harness.topic("A")
    harness.advance(50)
    for level in ("1", "1", "2"):
        harness.send("A", DELAY=level)
    harness.advance(949)
    assert offsets(harness) == ({}, 0, 0)
    harness.advance(1)
    assert offsets(harness) == ({1: 0, 2: 0}, 0, 0)
    harness.advance(100)
    assert offsets(harness) == ({1: 2, 2: 0}, 0, 0)
    harness.advance(4_000)
    assert offsets(harness) == ({1: 2, 2: 1}, 0, 0)


def test_the_version_of_delay_offsets_increases_every_200th_check(harness: EngineHarness) -> None:
    """The version increases at every 200th check of levels that had a message, due or not."""
    harness.topic("A")
    for level in ("1", "2"):
        harness.send("A", DELAY=level)
    harness.advance(1_000 + 9_800)
    assert offsets(harness)[1:] == (0, 0)
    harness.advance(100)
    assert offsets(harness)[1:] == (1, 10_900)
    harness.broker.restart()
    assert offsets(harness) == ({}, 0, 10_900)
    harness.advance(1_000)
    assert offsets(harness)[0] == {1: 1, 2: 1}


def test_restored_delay_offsets_are_copied_and_do_not_change_with_later_deliveries(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A", DELAY="1")
    harness.advance(10_000)
    service = harness.broker.delays
    left = dict(service.dump_on_stop())
    before = dict(left)
    service.restore(left)
    harness.send("A", DELAY="1")
    harness.advance(10_000)
    assert service.dump_on_stop() != before
    assert left == before


@pytest.mark.parametrize("flushed", [0, 1])
def test_a_message_with_the_offset_of_a_lost_one_is_delivered_after_a_power_loss(flushed: int) -> None:
    """A start moves a written offset that is behind the end of its level to the end, also if the level is empty.

    Source: ScheduleMessageService.correctDelayOffset (5.3.3).
    """
    harness = make_harness(flush_commit_log_thorough_interval=60_000)
    harness.topic("A")
    for _ in range(flushed):
        harness.send("A", b"flushed", DELAY="1")
    harness.advance(120_000)
    for _ in range(3):
        harness.send("A", b"lost", DELAY="1")
    harness.advance(20_000)
    assert offsets(harness)[0][1] == flushed + 3

    harness.engine.crash(harness.broker)
    harness.send("A", b"new", DELAY="1")
    harness.advance(3000)

    assert stored_bodies(harness, "A") == [*[b"flushed"] * flushed, b"new"]
    assert offsets(harness)[0] == {1: flushed + 1}
