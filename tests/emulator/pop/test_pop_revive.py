"""Revive: the time at which check points are decided, and check points whose copies cannot be stored."""

import json
from itertools import pairwise

import pytest
from engine_harness import START_MS, EngineHarness, bodies, make_harness
from rocketmq_testkit.emulator.engine_cluster_control import EngineClusterControl
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.pop.check_point import CheckPoint
from rocketmq_testkit.remoting.client import batch_body
from stored import filled, scheduled, stored, stored_bodies

REVIVE = "rmq_sys_REVIVE_LOG_DefaultCluster"
RETRY = "%RETRY%G_A"
LONG_GROUP, LONG_TOPIC = "G" * 130, "T" * 127
"""The name of their retry topic is too long, so that no message can be stored there."""
LADDER_S = [10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]
HOUR_MS = 3_600_000


def write_check_point(
    harness: EngineHarness, offset: int, *, invisible_ms: int = 4000, readable_ms: int = 3000, queue: int = 0
) -> None:
    """Store a check point of one message of topic A; times are relative to now."""
    point = CheckPoint("A", "G", 0, offset, harness.now_ms, invisible_ms, harness.broker.name, [0])
    deliver_ms = str(harness.now_ms + readable_ms)
    harness.send(REVIVE, point.to_json(), queue=queue, TAGS="ck", TIMER_DELIVER_MS=deliver_ms)


def send_in_batch(harness: EngineHarness, topic: str, body: bytes, **properties: str) -> None:
    """Send a batch of one message, whose properties the broker does not check."""
    batch = batch_body([(body, properties)])
    harness.engine.execute(
        harness.broker, SendMessage("PG", topic, 0, batch, {}, ("10.0.0.1", 5000), harness.now_ms, batch=True)
    )


def points(harness: EngineHarness) -> list[dict[str, object]]:
    """Return the check points that the broker can read now, queue by queue."""
    records = [record for queue in range(8) for record in stored(harness, REVIVE, queue)]
    return [json.loads(record.body) for record in records if record.property_map()["TAGS"] == "ck"]


def test_a_check_point_delays_only_later_ones_of_its_own_revive_queue(harness: EngineHarness) -> None:
    """An expired check point waits behind one of an hour; a check point in another revive queue does not."""
    filled(harness)
    write_check_point(harness, 0, invisible_ms=HOUR_MS, readable_ms=500)
    write_check_point(harness, 1)
    write_check_point(harness, 2, queue=1)
    harness.advance(60_000)
    assert stored_bodies(harness, RETRY) == [b"2"]
    harness.advance(HOUR_MS)
    assert stored_bodies(harness, RETRY) == [b"2", b"0", b"1"]


def test_an_ack_without_check_point_delays_no_revive_decision() -> None:
    """An acknowledgement without check point delays no decision; one of another message of the batch does, by 1 s."""
    for known, late_ms in ((True, 3100), (False, 2100)):
        harness = make_harness(revive_queue_num=1)
        filled(harness, 2)
        receipt = harness.receipt(harness.popped("A", invisible_ms=10_000)[0])
        if not known:
            receipt.start_offset = 1
        harness.ack("A", receipt)
        harness.advance(10_000 + late_ms - 100)
        assert stored_bodies(harness, RETRY) == []
        harness.advance(100)
        assert stored_bodies(harness, RETRY) == ([b"1"] if known else [b"0", b"1"])


def test_a_forged_deliver_time_no_longer_affects_an_empty_revive_queue() -> None:
    """A forged deliver time in the far future no longer affects the queue once its check point is decided."""
    harness = make_harness(revive_queue_num=1)
    filled(harness, 2)
    point = CheckPoint("A", "G", 0, 0, harness.now_ms, 1000, harness.broker.name, [0]).to_json()
    send_in_batch(harness, REVIVE, point, TAGS="ck", TIMER_DELIVER_MS=str(harness.now_ms + HOUR_MS))
    harness.advance(200)
    assert stored_bodies(harness, RETRY) == [b"0"]
    write_check_point(harness, 1)
    harness.advance(6000)
    assert stored_bodies(harness, RETRY) == [b"0"]
    harness.advance(100)
    assert stored_bodies(harness, RETRY) == [b"0", b"1"]


@pytest.mark.parametrize("queue", [0, 1])
def test_a_check_point_without_deliver_time_waits_for_a_record_that_has_one(queue: int) -> None:
    """A client can send one. The clock of its revive queue is 0 until a record sets it (consumeReviveMessage)."""
    harness = make_harness(revive_queue_num=2)
    filled(harness)
    point = CheckPoint("A", "G", 0, 0, harness.now_ms, 1000, harness.broker.name, [0]).to_json()
    harness.send(REVIVE, point, TAGS="ck")
    harness.advance(HOUR_MS)
    assert stored_bodies(harness, RETRY) == []
    write_check_point(harness, 1, queue=queue)
    harness.advance(10_000)
    assert stored_bodies(harness, RETRY) == ([b"0", b"1"] if queue == 0 else [b"1"])


def test_decided_check_points_leave_no_clock_to_one_without_deliver_time() -> None:
    """Upstream reads its records again after the last decided one, so that the clock is 0 if only this one is left."""
    harness = make_harness(revive_queue_num=1)
    filled(harness)
    point = CheckPoint("A", "G", 0, 1, harness.now_ms, 60_000, harness.broker.name, [0]).to_json()
    write_check_point(harness, 0)
    harness.advance(5000)
    harness.send(REVIVE, point, TAGS="ck")
    harness.advance(HOUR_MS)
    assert stored_bodies(harness, RETRY) == [b"0"]


def test_a_check_point_that_cannot_be_revived_is_reput_with_growing_delays(harness: EngineHarness) -> None:
    """A check point that cannot be revived is re-put with growing delays, in the end every two hours."""
    harness.topic(LONG_TOPIC)
    harness.send(LONG_TOPIC)
    harness.popped(LONG_TOPIC, group=LONG_GROUP, invisible_ms=1000)
    harness.advance(1000 * sum(LADDER_S) + 3 * 7_200_000 - 10_000)
    found = points(harness)
    times = [int(str(point["it"])) // 1000 for point in found]
    assert [later - earlier for earlier, later in pairwise(times)] == [*LADDER_S, 7200, 7200]
    assert [point.get("rp") for point in found] == [None, *map(str, range(1, 20))]
    assert {(point["pt"], point["q"]) for point in found} == {(found[0]["pt"], 0)}


def test_a_check_point_is_dropped_after_17_reputs_if_configured() -> None:
    """With skipWhenCKRePutReachMaxTimes a check point is dropped after 17 re-puts."""
    harness = make_harness(skip_when_ck_re_put_reach_max_times=True)
    harness.topic(LONG_TOPIC)
    harness.send(LONG_TOPIC)
    harness.popped(LONG_TOPIC, group=LONG_GROUP, invisible_ms=1000)
    harness.advance(1000 * sum(LADDER_S) + 3 * 7_200_000)
    assert [point.get("rp") for point in points(harness)] == [None, *map(str, range(1, 18))]
    assert scheduled(harness, "revive") == []


def test_each_message_that_cannot_be_revived_gets_its_own_check_point(harness: EngineHarness) -> None:
    """Each unacknowledged message that cannot be revived gets its own check point; acknowledged ones get none."""
    harness.topic(LONG_TOPIC)
    for _ in range(3):
        harness.send(LONG_TOPIC)
    receipts = [harness.receipt(each) for each in harness.popped(LONG_TOPIC, group=LONG_GROUP, invisible_ms=1000)]
    harness.ack(LONG_TOPIC, receipts[1], LONG_GROUP)
    harness.advance(15_000)
    again = [(point["so"], point["d"], point["n"], point["bm"]) for point in points(harness) if "rp" in point]
    assert again == [(0, [0], 1, 0), (2, [0], 1, 0)]


def test_a_message_that_cannot_be_revived_stays_in_flight() -> None:
    """A message that cannot be revived stays in flight, so a queue with a limit stays blocked."""
    harness = make_harness(enable_pop_message_threshold=True, pop_inflight_message_threshold=0)
    for topic, group in ((LONG_TOPIC, LONG_GROUP), ("A", "G")):
        harness.topic(topic)
        harness.send(topic, b"one")
        harness.send(topic, b"two")
        assert bodies(harness.popped(topic, group=group, count=1, invisible_ms=1000)) == [b"one"]
    harness.advance(10_000)
    assert harness.popped(LONG_TOPIC, group=LONG_GROUP) == []
    assert sorted(bodies(harness.popped("A"))) == [b"one", b"two"]


def test_a_reput_message_is_redelivered_once_the_timer_accepts_its_delay(harness: EngineHarness) -> None:
    """A copy whose delay the timer rejects is redelivered after timerMaxDelaySec is raised."""
    harness.topic("A")
    send_in_batch(harness, "A", b"hi", TIMER_DELAY_SEC="345600")
    assert bodies(harness.popped("A", invisible_ms=1000)) == [b"hi"]
    harness.advance(10_000)
    assert stored_bodies(harness, RETRY) == []
    harness.broker.config.timer_max_delay_sec = 345_600
    harness.advance(10_000)
    assert stored_bodies(harness, RETRY) == []
    harness.advance(345_600_000)
    assert stored_bodies(harness, RETRY) == [b"hi"]


@pytest.mark.parametrize(
    ("full_at_ms", "redelivered"), [(69_000, [b"hi"]), (89_000, []), (99_000, [b"hi"])], ids=["before", "when", "after"]
)
def test_only_a_redelivery_that_is_due_while_the_disk_is_full_is_lost(
    harness: EngineHarness, full_at_ms: int, redelivered: list[bytes]
) -> None:
    """A broker loses a redelivery, due at 92 s, if it can store neither the copy nor a check point for another attempt.

    A check point that cannot be read yet, because the timer does not deliver it to the full disk, is decided later.
    Source: PopReviveService.rePutCK ignores the result of putMessage (5.3.3).
    """
    harness.topic("A")
    harness.advance(60_000)
    harness.send("A", b"hi")
    harness.popped("A", invisible_ms=30_000)
    harness.advance(START_MS + full_at_ms - harness.now_ms)
    harness.ask(Done, UpdateBrokerConfig({"diskUsedRatio": "95"}))
    harness.advance(10_000)
    harness.ask(Done, UpdateBrokerConfig({"diskUsedRatio": "0"}))
    harness.advance(HOUR_MS)

    assert stored_bodies(harness, RETRY) == redelivered


def test_a_blocked_revive_queue_continues_when_the_defect_ends() -> None:
    """While the defect is on, a check point whose time overflows blocks its revive queue, even after a restart."""
    harness = make_harness(revive_queue_num=1)
    blocking = EngineClusterControl(harness.engine).enable_defect("blocked_revive_queue")
    filled(harness)
    write_check_point(harness, 0, readable_ms=500)
    write_check_point(harness, 1, invisible_ms=(1 << 63) - 1, readable_ms=700)
    write_check_point(harness, 2, readable_ms=900)
    harness.advance(HOUR_MS)
    assert stored_bodies(harness, RETRY) == [b"0"]
    harness.engine.restart()
    harness.advance(HOUR_MS)
    assert stored_bodies(harness, RETRY) == [b"0"]
    blocking.end()
    harness.advance(1_000)
    assert stored_bodies(harness, RETRY) == [b"0", b"1", b"2"]


def test_with_a_stopped_timer_the_revive_time_advances_only_with_records() -> None:
    """A message popped for one second is not redelivered while the defect stops the timer of its broker."""
    harness = make_harness(revive_queue_num=1)
    harness.engine.defects.enable("timer_topic_stops_timer")
    filled(harness, 1)
    harness.send("rmq_sys_wheel_timer")
    harness.popped("A", invisible_ms=1000)
    harness.advance(60_000)
    assert stored_bodies(harness, RETRY) == []
