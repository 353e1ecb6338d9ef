"""Metrics of stored and delivered messages, by topic, message type and group."""

from engine_harness import EngineHarness
from measured import measured, values
from rocketmq_testkit.emulator.stats.histogram import Histogram

IN, OUT = "rocketmq_messages_in_total", "rocketmq_messages_out_total"


def test_sends_count_by_topic_and_type(harness: EngineHarness) -> None:
    """A message with a sharding key counts as FIFO, even with a delay; a message with only a delay counts as DELAY."""
    harness.topic("A")
    harness.send("A")
    harness.send("A")
    harness.send("A", __SHARDINGKEY="key")
    harness.send("A", __SHARDINGKEY="key", DELAY="0")
    harness.send("A", DELAY="0")
    assert values(harness.engine, IN) == {"normal A": 2, "fifo A": 2, "delay A": 1}


def test_half_message_counts_for_the_half_topic(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A", TRAN_MSG="true", PGROUP="PG")
    assert values(harness.engine, IN) == {"transaction RMQ_SYS_TRANS_HALF_TOPIC": 1}
    assert values(harness.engine, "rocketmq_half_messages") == {"A": 1}


def test_message_to_a_retry_topic_does_not_count(harness: EngineHarness) -> None:
    harness.topic("%RETRY%G")
    harness.send("%RETRY%G")
    assert values(harness.engine, IN) == {}


def test_delivered_delayed_message_counts_in_again_and_out_of_the_schedule_topic(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A", DELAY="1")
    assert values(harness.engine, IN) == {"delay SCHEDULE_TOPIC_XXXX": 1}
    harness.advance(3_000)
    assert values(harness.engine, IN) == {"delay SCHEDULE_TOPIC_XXXX": 1, "delay A": 1}
    assert values(harness.engine, OUT) == {"SCHEDULE_CONSUMER SCHEDULE_TOPIC_XXXX": 1}


def test_sizes_are_in_the_bucket_of_their_record(harness: EngineHarness) -> None:
    """A record of exactly a bound is in the bucket of that bound."""
    harness.topic("A")
    harness.send("A", b"")
    small = harness.broker.store.stats.put_bytes
    harness.send("A", b"x" * (1024 - small))
    harness.send("A", b"x" * (1025 - small))
    found = measured(harness.engine, "rocketmq_message_size")["normal A"]
    assert isinstance(found, Histogram)
    assert found.counts == [2, 1, 0, 0, 0, 0, 0]
    assert found.sum == small + 1024 + 1025


def test_messages_of_pulls_and_pops_are_counted_separately(harness: EngineHarness) -> None:
    """Only counters of pops have a label for messages from a retry topic."""
    harness.topic("A")
    harness.send("A")
    harness.pull("A", group="G")
    harness.popped("A", group="G")
    assert values(harness.engine, OUT) == {"G A": 1, "G false A": 1}


def test_redelivered_message_counts_as_of_its_topic(harness: EngineHarness) -> None:
    """A message that a pop reads from the retry topic counts for the topic of the request."""
    harness.topic("A")
    harness.send("A")
    harness.popped("A", group="G", invisible_ms=10_000)
    harness.advance(15_000)
    assert values(harness.engine, "rocketmq_pop_revive_retry_messages_total") == {"G PUT_OK A": 1}
    harness.popped("A", group="G")
    assert values(harness.engine, OUT)["G true A"] == 1


def test_counters_restart_at_0_with_their_broker(harness: EngineHarness) -> None:
    """The number of open half messages is counted again from the log."""
    harness.topic("A")
    harness.send("A")
    harness.send("A", TRAN_MSG="true", PGROUP="PG")
    harness.broker.restart()
    assert values(harness.engine, IN) == {}
    assert values(harness.engine, "rocketmq_half_messages") == {"A": 1}
