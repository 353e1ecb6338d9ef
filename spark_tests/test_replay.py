"""Tests of replays: complete, in order, and at the requested pace."""

from collections import defaultdict

import pytest
from pyspark.sql import DataFrame
from pyspark_rocketmq.errors import ClusterError, OptionError, SchemaError
from pyspark_rocketmq.replay.resend import LEAD_S, MSG_ID, Pace, replay
from pyspark_rocketmq.testing import SparkRocketMQ
from rocketmq_testkit.fixtures.inspect.messages import Message


class FakeClock:
    """A clock that moves when the code sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Move the clock by `seconds`."""
        self.slept.append(seconds)
        self.now += seconds


def recorded(spark_rocketmq: SparkRocketMQ, topic: str = "orders") -> DataFrame:
    """Store the messages of a topic, and return them."""
    path = str(spark_rocketmq.folder / f"{topic}.parquet")
    spark_rocketmq.read(topic, includeMetadata=True).write.parquet(path)
    return spark_rocketmq.spark.read.parquet(path)


def by_queue(messages: list[Message]) -> dict[int, list[str]]:
    """Return the bodies in the order of offsets, by queue."""
    found: dict[int, list[str]] = defaultdict(list)
    for each in sorted(messages, key=lambda each: each.queue_offset):
        found[each.queue_id].append(each.body.decode())
    return found


def test_a_paced_message_waits_until_it_is_due() -> None:
    """A paced message waits for its distance from the first one, divided by the speed; due ones are sent together."""
    clock = FakeClock()
    pace = Pace(5_000_000, 1002.0, 2.0, lambda: clock.now, sleep=clock.sleep)
    dues_us = [5_000_000, 5_000_000, 7_000_000, 7_100_000]
    assert pace.wait(dues_us, 0) == 2
    assert pace.wait(dues_us, 2) == 3
    clock.now = 1003.25
    assert pace.wait(dues_us, 3) == 4
    assert clock.slept == [2.0, 1.0]
    assert pace.late_s == pytest.approx(0.2)


def test_without_a_speed_all_messages_are_due_at_once() -> None:
    clock = FakeClock()
    pace = Pace(0, 0.0, None, lambda: clock.now, sleep=clock.sleep)
    assert pace.wait([1, 9_000_000], 0) == 2
    assert (clock.slept, pace.late_s) == ([], 0.0)


def test_each_queue_is_replayed_to_one_queue_in_its_order(spark_rocketmq: SparkRocketMQ) -> None:
    """Each queue is replayed to one queue in its order; bodies, keys, tags and properties are unchanged."""
    emulator = spark_rocketmq.emulator
    orders = emulator.topic("orders", queues=3)
    emulator.topic("again", queues=2)
    for number in range(60):
        orders.send(f"{number}", tag="tea", keys=[f"k{number}"], properties={"shop": "north"})
    old = {each.message_id: each for each in orders.messages}

    done = replay(recorded(spark_rocketmq), spark_rocketmq.options(topic="again"))

    assert (done.messages, done.late_s) == (60, 0.0)
    sent = emulator.messages("again")
    for each in sent:
        before = old.pop(each.properties[MSG_ID])
        assert (each.body, each.tag, each.keys) == (before.body, before.tag, before.keys)
        assert each.properties["shop"] == "north"
        assert each.message_id != before.message_id
    assert old == {}
    queues = by_queue(orders.messages)
    # Queues 0 and 2 share one queue; each of them is still in order.
    for target in by_queue(sent).values():
        for bodies in queues.values():
            of_one = [body for body in target if body in bodies]
            assert of_one in ([], bodies)


def test_messages_of_a_sharding_key_are_replayed_in_order(spark_rocketmq: SparkRocketMQ) -> None:
    """Messages of a sharding key are replayed in order to the queue of a normal send; others go anywhere."""
    emulator = spark_rocketmq.emulator
    orders = emulator.topic("orders", queues=4)
    again = emulator.topic("again", queues=3)
    for number in range(40):
        orders.send(f"{number}", message_group=f"table-{number % 5}")
    orders.send("alone")

    done = replay(recorded(spark_rocketmq), spark_rocketmq.options(topic="again"), keep="key", tasks=2)

    assert done.messages == 41
    for group in range(5):
        sent = [each for each in again.messages if each.message_group == f"table-{group}"]
        assert len({each.queue_id for each in sent}) == 1
        [bodies] = by_queue(sent).values()
        assert bodies == [f"{number}" for number in range(40) if number % 5 == group]
        assert again.send("next", message_group=f"table-{group}").queue_id == sent[0].queue_id
    assert [each.message_group for each in again.messages if each.body == b"alone"] == [None]


def test_a_replay_keeps_a_scaled_pace(spark_rocketmq: SparkRocketMQ) -> None:
    """At 600 times the pace, messages ten minutes apart are sent one second apart."""
    emulator = spark_rocketmq.emulator
    orders = emulator.topic("orders", queues=1)
    again = emulator.topic("again", queues=1)
    for number in range(3):
        orders.send(f"{number}")
        emulator.clock.advance("10m", wait=None)

    rows = recorded(spark_rocketmq)
    before_ms = emulator.clock.now_ms
    done = replay(rows, spark_rocketmq.options(topic="again"), speed=600)

    assert (done.messages, done.tasks) == (3, 1)
    assert [each.body for each in again.messages] == [b"0", b"1", b"2"]
    for number, each in enumerate(again.messages):
        # The emulator's clock returns whole milliseconds.
        assert each.stored_at_ms >= before_ms + (LEAD_S + number) * 1000 - 1


def test_a_delayed_message_is_replayed_without_delay(spark_rocketmq: SparkRocketMQ) -> None:
    """A delayed message is replayed without delay, and a replay of a replay has the id of the last one."""
    emulator = spark_rocketmq.emulator
    orders = emulator.topic("orders", queues=1)
    again = emulator.topic("again", queues=1)
    thrice = emulator.topic("thrice", queues=1)
    orders.send("level", properties={"DELAY": "3"})
    orders.send("timer", properties={"TIMER_DELAY_SEC": "20"})
    emulator.clock.advance("1m", wait=None)

    replay(recorded(spark_rocketmq), spark_rocketmq.options(topic="again"))
    replay(recorded(spark_rocketmq, "again"), spark_rocketmq.options(topic="thrice"))

    assert [each.body for each in again.messages] == [b"level", b"timer"]
    assert [each.properties[MSG_ID] for each in thrice.messages] == [each.message_id for each in again.messages]


def test_an_invalid_replay_is_refused_before_anything_is_sent(spark_rocketmq: SparkRocketMQ) -> None:
    """An invalid speed, order, number of tasks, column or topic is rejected by name, before anything is sent."""
    emulator = spark_rocketmq.emulator
    emulator.topic("orders", queues=1).send("tea")
    emulator.topic("again", queues=1)
    rows = recorded(spark_rocketmq)
    options = spark_rocketmq.options(topic="again")
    with pytest.raises(OptionError, match="speed=0: not a speed"):
        replay(rows, options, speed=0)
    with pytest.raises(OptionError, match="keep='tag': there is no such order; it can be 'queue' or 'key'"):
        replay(rows, options, keep="tag")  # type: ignore[arg-type]  # a caller without a type checker may pass it
    with pytest.raises(OptionError, match="tasks=0: not a number of tasks"):
        replay(rows, options, tasks=0)
    with pytest.raises(OptionError, match="tasks=99: more than Spark runs at once"):
        replay(rows, options, speed=1, tasks=99)
    with pytest.raises(OptionError, match="deliveryGuarantee=transactional: for streams alone"):
        replay(rows, {**options, "deliveryGuarantee": "transactional", "txnLogPath": "/tmp/x"})
    with pytest.raises(SchemaError, match="storeTimestamp is missing"):
        replay(rows.drop("storeTimestamp"), options)
    with pytest.raises(SchemaError, match="storeTimestamp is bigint"):
        replay(rows.withColumn("storeTimestamp", rows.queueOffset), options)
    with pytest.raises(ClusterError, match="topic nowhere has no queue to write"):
        replay(rows, spark_rocketmq.options(topic="nowhere"))
    assert emulator.messages("again") == []
