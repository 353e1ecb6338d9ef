"""Revive: the time at which check points are decided, and check points whose copies cannot be stored."""

import json
from itertools import pairwise

import pytest
from engine_world import START_MS, World, bodies, make_world
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
    world: World, offset: int, *, invisible_ms: int = 4000, readable_ms: int = 3000, queue: int = 0
) -> None:
    """Store a check point of one message of topic A; times are relative to now."""
    point = CheckPoint("A", "G", 0, offset, world.now_ms, invisible_ms, world.broker.name, [0])
    deliver_ms = str(world.now_ms + readable_ms)
    world.send(REVIVE, point.to_json(), queue=queue, TAGS="ck", TIMER_DELIVER_MS=deliver_ms)


def send_in_batch(world: World, topic: str, body: bytes, **properties: str) -> None:
    """Send a batch of one message, whose properties the broker does not check."""
    batch = batch_body([(body, properties)])
    world.engine.execute(
        world.broker, SendMessage("PG", topic, 0, batch, {}, ("10.0.0.1", 5000), world.now_ms, batch=True)
    )


def points(world: World) -> list[dict[str, object]]:
    """Return the check points that the broker can read now, queue by queue."""
    records = [record for queue in range(8) for record in stored(world, REVIVE, queue)]
    return [json.loads(record.body) for record in records if record.property_map()["TAGS"] == "ck"]


def test_a_check_point_delays_only_later_ones_of_its_own_revive_queue(world: World) -> None:
    """An expired check point waits behind one of an hour; a check point in another revive queue does not."""
    filled(world)
    write_check_point(world, 0, invisible_ms=HOUR_MS, readable_ms=500)
    write_check_point(world, 1)
    write_check_point(world, 2, queue=1)
    world.advance(60_000)
    assert stored_bodies(world, RETRY) == [b"2"]
    world.advance(HOUR_MS)
    assert stored_bodies(world, RETRY) == [b"2", b"0", b"1"]


def test_an_ack_without_check_point_delays_no_revive_decision() -> None:
    """An acknowledgement without check point delays no decision; one of another message of the batch does, by 1 s."""
    for known, late_ms in ((True, 3100), (False, 2100)):
        world = make_world(revive_queue_num=1)
        filled(world, 2)
        receipt = world.receipt(world.popped("A", invisible_ms=10_000)[0])
        if not known:
            receipt.start_offset = 1
        world.ack("A", receipt)
        world.advance(10_000 + late_ms - 100)
        assert stored_bodies(world, RETRY) == []
        world.advance(100)
        assert stored_bodies(world, RETRY) == ([b"1"] if known else [b"0", b"1"])


def test_a_forged_deliver_time_no_longer_affects_an_empty_revive_queue() -> None:
    """A forged deliver time in the far future no longer affects the queue once its check point is decided."""
    world = make_world(revive_queue_num=1)
    filled(world, 2)
    point = CheckPoint("A", "G", 0, 0, world.now_ms, 1000, world.broker.name, [0]).to_json()
    send_in_batch(world, REVIVE, point, TAGS="ck", TIMER_DELIVER_MS=str(world.now_ms + HOUR_MS))
    world.advance(200)
    assert stored_bodies(world, RETRY) == [b"0"]
    write_check_point(world, 1)
    world.advance(6000)
    assert stored_bodies(world, RETRY) == [b"0"]
    world.advance(100)
    assert stored_bodies(world, RETRY) == [b"0", b"1"]


def test_a_check_point_that_cannot_be_revived_is_reput_with_growing_delays(world: World) -> None:
    """A check point that cannot be revived is re-put with growing delays, in the end every two hours."""
    world.topic(LONG_TOPIC)
    world.send(LONG_TOPIC)
    world.popped(LONG_TOPIC, group=LONG_GROUP, invisible_ms=1000)
    world.advance(1000 * sum(LADDER_S) + 3 * 7_200_000 - 10_000)
    found = points(world)
    times = [int(str(point["it"])) // 1000 for point in found]
    assert [later - earlier for earlier, later in pairwise(times)] == [*LADDER_S, 7200, 7200]
    assert [point.get("rp") for point in found] == [None, *map(str, range(1, 20))]
    assert {(point["pt"], point["q"]) for point in found} == {(found[0]["pt"], 0)}


def test_a_check_point_is_dropped_after_17_reputs_if_configured() -> None:
    """With skipWhenCKRePutReachMaxTimes a check point is dropped after 17 re-puts."""
    world = make_world(skip_when_ck_re_put_reach_max_times=True)
    world.topic(LONG_TOPIC)
    world.send(LONG_TOPIC)
    world.popped(LONG_TOPIC, group=LONG_GROUP, invisible_ms=1000)
    world.advance(1000 * sum(LADDER_S) + 3 * 7_200_000)
    assert [point.get("rp") for point in points(world)] == [None, *map(str, range(1, 18))]
    assert scheduled(world, "revive") == []


def test_each_message_that_cannot_be_revived_gets_its_own_check_point(world: World) -> None:
    """Each unacknowledged message that cannot be revived gets its own check point; acknowledged ones get none."""
    world.topic(LONG_TOPIC)
    for _ in range(3):
        world.send(LONG_TOPIC)
    receipts = [world.receipt(each) for each in world.popped(LONG_TOPIC, group=LONG_GROUP, invisible_ms=1000)]
    world.ack(LONG_TOPIC, receipts[1], LONG_GROUP)
    world.advance(15_000)
    again = [(point["so"], point["d"], point["n"], point["bm"]) for point in points(world) if "rp" in point]
    assert again == [(0, [0], 1, 0), (2, [0], 1, 0)]


def test_a_message_that_cannot_be_revived_stays_in_flight() -> None:
    """A message that cannot be revived stays in flight, so a queue with a limit stays blocked."""
    world = make_world(enable_pop_message_threshold=True, pop_inflight_message_threshold=0)
    for topic, group in ((LONG_TOPIC, LONG_GROUP), ("A", "G")):
        world.topic(topic)
        world.send(topic, b"one")
        world.send(topic, b"two")
        assert bodies(world.popped(topic, group=group, count=1, invisible_ms=1000)) == [b"one"]
    world.advance(10_000)
    assert world.popped(LONG_TOPIC, group=LONG_GROUP) == []
    assert sorted(bodies(world.popped("A"))) == [b"one", b"two"]


def test_a_reput_message_is_redelivered_once_the_timer_accepts_its_delay(world: World) -> None:
    """A copy whose delay the timer rejects is redelivered after timerMaxDelaySec is raised."""
    world.topic("A")
    send_in_batch(world, "A", b"hi", TIMER_DELAY_SEC="345600")
    assert bodies(world.popped("A", invisible_ms=1000)) == [b"hi"]
    world.advance(10_000)
    assert stored_bodies(world, RETRY) == []
    world.broker.config.timer_max_delay_sec = 345_600
    world.advance(10_000)
    assert stored_bodies(world, RETRY) == []
    world.advance(345_600_000)
    assert stored_bodies(world, RETRY) == [b"hi"]


@pytest.mark.parametrize(
    ("full_at_ms", "redelivered"), [(69_000, [b"hi"]), (89_000, []), (99_000, [b"hi"])], ids=["before", "when", "after"]
)
def test_only_a_redelivery_that_is_due_while_the_disk_is_full_is_lost(
    world: World, full_at_ms: int, redelivered: list[bytes]
) -> None:
    """A broker loses a redelivery, due at 92 s, if it can store neither the copy nor a check point for another attempt.

    A check point that cannot be read yet, because the timer does not deliver it to the full disk, is decided later.
    Source: PopReviveService.rePutCK ignores the result of putMessage (5.3.3).
    """
    world.topic("A")
    world.advance(60_000)
    world.send("A", b"hi")
    world.popped("A", invisible_ms=30_000)
    world.advance(START_MS + full_at_ms - world.now_ms)
    world.ask(Done, UpdateBrokerConfig({"diskUsedRatio": "95"}))
    world.advance(10_000)
    world.ask(Done, UpdateBrokerConfig({"diskUsedRatio": "0"}))
    world.advance(HOUR_MS)

    assert stored_bodies(world, RETRY) == redelivered


def test_a_blocked_revive_queue_continues_when_the_defect_ends() -> None:
    """While the defect is on, a check point whose time overflows blocks its revive queue, even after a restart."""
    world = make_world(revive_queue_num=1)
    blocking = EngineClusterControl(world.engine).enable_defect("blocked_revive_queue")
    filled(world)
    write_check_point(world, 0, readable_ms=500)
    write_check_point(world, 1, invisible_ms=(1 << 63) - 1, readable_ms=700)
    write_check_point(world, 2, readable_ms=900)
    world.advance(HOUR_MS)
    assert stored_bodies(world, RETRY) == [b"0"]
    world.engine.restart()
    world.advance(HOUR_MS)
    assert stored_bodies(world, RETRY) == [b"0"]
    blocking.end()
    world.advance(1_000)
    assert stored_bodies(world, RETRY) == [b"0", b"1", b"2"]


def test_with_a_stopped_timer_the_revive_time_advances_only_with_records() -> None:
    """A message popped for one second is not redelivered while the defect stops the timer of its broker."""
    world = make_world(revive_queue_num=1)
    world.engine.defects.enable("timer_topic_stops_timer")
    filled(world, 1)
    world.send("rmq_sys_wheel_timer")
    world.popped("A", invisible_ms=1000)
    world.advance(60_000)
    assert stored_bodies(world, RETRY) == []
