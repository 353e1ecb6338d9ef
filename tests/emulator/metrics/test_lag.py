"""Metrics of the lag of groups.

The keys of `values` are the labels `consumer_group`, `is_retry` and `topic`, joined by blanks: `G false A`.
"""

import pytest
from engine_harness import EngineHarness, make_harness
from measured import join, samples, values
from pull_operation import pull_of
from rocketmq_testkit.emulator.client.client_registry import SCAN_PERIOD_MS
from rocketmq_testkit.emulator.message.message import MessageToStore
from rocketmq_testkit.emulator.message.names import pop_retry_topic
from rocketmq_testkit.emulator.message.stored_record import pack_host
from rocketmq_testkit.emulator.metrics import lag_samples
from rocketmq_testkit.emulator.metrics.engine_samples import engine_samples
from rocketmq_testkit.emulator.operations.clients import UnregisterClient

LAG, READY = "rocketmq_consumer_lag_messages", "rocketmq_consumer_ready_messages"
AGE = "rocketmq_consumer_lag_latency"


def test_group_that_neither_registered_nor_sent_a_subscription_has_no_lag(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A")
    harness.broker.offsets.commit("G", "A", 0, 0)
    harness.engine.submit(harness.broker, pull_of("G", "A", expression=None))
    assert "G" in harness.broker.groups.table
    assert values(harness.engine, LAG) == {}


def test_lag_of_a_popping_group_stays_until_ten_minutes_after_its_last_pop(harness: EngineHarness) -> None:
    """It stays after the last consumer has left. Source: ConsumerLagCalculator.processAllGroup (5.3.3)."""
    harness.topic("A")
    join(harness, "c1", {"A": "*"}, pops=True)
    for _ in range(3):
        harness.send("A")
    harness.popped("A", group="G", count=1, invisible_ms=3_600_000)
    connected = values(harness.engine, LAG)
    harness.engine.submit(harness.broker, UnregisterClient("c1", consumer_group="G"), harness.channels["c1"])
    assert harness.broker.clients.consumers == {}
    assert values(harness.engine, LAG) == connected == {"G false A": 3, "G true A": 0}
    assert values(harness.engine, READY) == {"G false A": 2, "G true A": 0}
    harness.advance(600_000)
    assert values(harness.engine, LAG) == connected
    harness.advance(SCAN_PERIOD_MS)
    assert values(harness.engine, LAG) == {}


def test_lag_of_a_group_without_heartbeats_follows_its_last_request(harness: EngineHarness) -> None:
    """A pull with a subscription has its tag. A pull without one makes the group no popping one any more."""
    harness.topic("A")
    harness.broker.offsets.commit("G", "A", 0, 0)
    for tag in ("a", "b", "a"):
        harness.send("A", TAGS=tag)
    harness.pull("A", group="G", expression="a")
    assert values(harness.engine, LAG) == {"G false A": 2}
    harness.popped("A", group="G", count=1)
    assert set(values(harness.engine, LAG)) == {"G false A", "G true A"}
    harness.engine.submit(harness.broker, pull_of("G", "A", expression=None))
    assert set(values(harness.engine, LAG)) == {"G false A"}


def test_a_deleted_group_has_no_lag(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.pull("A", group="G")
    assert values(harness.engine, LAG) == {"G false A": 0}
    harness.broker.groups.delete("G")
    assert values(harness.engine, LAG) == {}


def test_lag_counts_messages_after_the_committed_offset(harness: EngineHarness) -> None:
    """Messages that were pulled but not committed are in flight, and the rest is ready."""
    harness.topic("A")
    for _ in range(5):
        harness.send("A")
    join(harness, "c1", {"A": "*"})
    harness.broker.offsets.commit("G", "A", 0, 1)
    harness.pull("A", 1, group="G", count=2)
    assert values(harness.engine, LAG) == {"G false A": 4}
    assert values(harness.engine, "rocketmq_consumer_inflight_messages") == {"G false A": 2}
    assert values(harness.engine, READY) == {"G false A": 2}


def test_age_of_the_lag_follows_the_clock_of_the_emulator(harness: EngineHarness) -> None:
    """It is the age of the first message that is not committed, and 0 without lag."""
    harness.topic("A")
    join(harness, "c1", {"A": "*"})
    harness.send("A")
    harness.advance(1_000)
    harness.send("A")
    harness.broker.offsets.commit("G", "A", 0, 0)
    harness.advance(60_000)
    assert values(harness.engine, AGE) == {"G false A": 61_000}
    harness.broker.offsets.commit("G", "A", 0, 1)
    assert values(harness.engine, AGE) == {"G false A": 60_000}
    harness.broker.offsets.commit("G", "A", 0, 2)
    assert values(harness.engine, AGE) == {"G false A": 0}


def test_lag_counts_only_messages_with_a_subscribed_tag(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.broker.offsets.commit("G", "A", 0, 0)
    for tag in ("a", "b", "a", "c"):
        harness.send("A", TAGS=tag)
    join(harness, "c1", {"A": "a || c"})
    assert values(harness.engine, LAG) == {"G false A": 3}


def test_lag_of_many_messages_is_estimated_from_the_first_matches(
    harness: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker reads until it has more matches than its limit, here 2. Three of the first four messages match.

    It estimates the same share for all six messages, rounded down: four.
    """
    monkeypatch.setattr(lag_samples, "MATCHES_MAX", 2)
    harness.topic("A")
    harness.broker.offsets.commit("G", "A", 0, 0)
    for tag in "aababb":
        harness.send("A", TAGS=tag)
    join(harness, "c1", {"A": "a"})
    assert values(harness.engine, LAG) == {"G false A": 4}


def test_lag_of_a_popping_group_counts_messages_in_flight_and_undelivered_ones(harness: EngineHarness) -> None:
    """A popping group has a second sample for its retry messages."""
    harness.topic("A")
    for _ in range(3):
        harness.send("A")
    join(harness, "c1", {"A": "*"}, pops=True)
    harness.popped("A", group="G", count=2, invisible_ms=10_000)
    assert values(harness.engine, LAG) == {"G false A": 3, "G true A": 0}
    assert values(harness.engine, READY) == {"G false A": 1, "G true A": 0}
    harness.advance(15_000)
    assert values(harness.engine, LAG) == {"G false A": 1, "G true A": 2}


@pytest.mark.parametrize(("v2", "permitted", "lag"), [(False, 6, 1), (False, 0, 0), (True, 6, 1), (True, 0, 2)])
def test_retry_topic_without_permissions_has_no_lag(v2: bool, permitted: int, lag: int) -> None:
    """With `enableRetryTopicV2` the retry topic of version 1, which here has two messages, is measured in its place.

    Source: ConsumerLagCalculator.processAllGroup (5.3.3).
    """
    harness = make_harness(enable_retry_topic_v2=v2)
    harness.topic("A")
    join(harness, "c1", {"A": "*"}, pops=True)
    retry = pop_retry_topic("A", "G", v2=v2)
    for topic, count in {pop_retry_topic("A", "G", v2=False): 2, retry: 1}.items():
        harness.broker.topics.create_internal(topic, 1, permitted if topic == retry else 6)
        harness.broker.offsets.commit("G", topic, 0, 0)
        for _ in range(count):
            harness.broker.store.put(MessageToStore(topic, 0, b"m", {}, 0, pack_host(("10.0.0.1", 5000))))
    assert values(harness.engine, LAG) == {"G false A": 0, "G true A": lag}


def test_topic_without_permissions_has_no_lag(harness: EngineHarness) -> None:
    harness.topic("A", perm=0)
    join(harness, "c1", {"A": "*", "missing": "*"})
    assert values(harness.engine, LAG) == {}


def test_a_read_of_many_metrics_pauses_after_each_part(harness: EngineHarness) -> None:
    """A part has at most 200 samples. The first one has the samples of the whole broker as well, fewer than 20."""
    for number in range(300):
        harness.topic(f"T{number}")
        harness.send(f"T{number}")
    for group in range(5):
        join(harness, f"c{group}", {f"T{number}": "*" for number in range(60)}, group=f"G{group}")
    run = longest = 0
    for each in engine_samples(harness.engine, {}):
        run = 0 if each is None else run + 1
        longest = max(longest, run)
    assert 0 < longest <= 220
    assert len(samples(harness.engine)) > 2_000


def test_reading_metrics_wakes_no_waiting_pop_and_changes_no_table(harness: EngineHarness) -> None:
    """Upstream, in contrast, executes a waiting pop again before it measures the lag."""
    harness.topic("A")
    join(harness, "c1", {"A": "*"}, pops=True)
    waiting = harness.pop("A", group="G", poll_ms=15_000)
    lines, stored = harness.engine.journal.written, harness.broker.store.log.max_offset
    before = samples(harness.engine)
    assert [(each.family.name, each.labels) for each in samples(harness.engine)] == [
        (each.family.name, each.labels) for each in before
    ]
    assert waiting.outcome is None
    assert (harness.engine.journal.written, harness.broker.store.log.max_offset) == (lines, stored)
