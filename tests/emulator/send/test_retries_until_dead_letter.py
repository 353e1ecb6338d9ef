"""A message whose consumption always fails, in an engine without network."""

import time
from collections.abc import Callable

import pytest
from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.message.names import dlq_topic, retry_topic
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.send import SendMessage, SendMessageBack
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig

START_MS = 1_700_000_000_000
RETRIES = 16


def fail_until_dead() -> tuple[int, int]:
    """Return the number of deliveries, and the simulated time from the send to the dead letter queue in ms."""
    engine = Engine(now_ms=START_MS)
    [broker] = engine.brokers
    engine.execute(broker, CreateTopic(TopicConfig("orders", 1, 1)))
    engine.execute(broker, CreateGroup(GroupConfig("g")))
    engine.execute(broker, SendMessage("p", "orders", 0, b"bad", {}, ("127.0.0.1", 1), START_MS))
    topic, offset, deliveries = "orders", 0, 0
    while broker.store.queue(dlq_topic("g"), 0) is None:
        pulled = engine.execute(broker, pull_of("g", topic, offset=offset, count=1))
        assert isinstance(pulled, PullResult)
        [stored] = pulled.records
        deliveries += 1
        engine.execute(broker, SendMessageBack("g", records.decode(stored).physical_offset, 0, origin_topic="t"))
        topic, offset = retry_topic("g"), deliveries - 1
        due_ms = engine.scheduler.next_deadline_ms()
        if due_ms is not None:
            engine.scheduler.advance_to(due_ms)
    return deliveries, engine.scheduler.now_ms - START_MS


def test_sixteen_retries_at_the_delay_levels_take_4_h_45_min_40_s() -> None:
    """A message dies after 16 retries; levels 3 to 18 add up to 4 h 45 min 40 s, plus at most 100 ms each."""
    deliveries, took_ms = fail_until_dead()
    levels_ms = ((4 * 60 + 45) * 60 + 40) * 1000
    assert deliveries == RETRIES + 1
    assert levels_ms <= took_ms <= levels_ms + 100 * RETRIES


@pytest.mark.alone
def test_sixteen_retries_through_the_engine_take_less_than_50_ms(tell_figure: Callable[[str], None]) -> None:
    """The best of five runs takes less than 50 ms."""
    seconds = []
    for _ in range(5):
        begun = time.perf_counter()
        fail_until_dead()
        seconds.append(time.perf_counter() - begun)
    tell_figure(f"sixteen retries through the engine API: {min(seconds) * 1000:.1f} ms")
    assert min(seconds) < 0.05, seconds
