"""Tests of the stream reader, called like by Spark: its results determine if a restart loses or repeats messages."""

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from many_messages import fill
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark_rocketmq.cluster.cluster import Cluster
from pyspark_rocketmq.errors import ClusterError, DataLossError
from pyspark_rocketmq.options.offsets import MessageQueue, from_json
from pyspark_rocketmq.options.options import sink_options, source_options
from pyspark_rocketmq.reading.planning import RangePartition
from pyspark_rocketmq.reading.stream_reader import RocketMQStreamReader
from pyspark_rocketmq.writing.transactional_writer import TransactionalStreamWriter
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient

ALL = ReadAllAvailable()
WANTED = (("queueId", "int"), ("queueOffset", "bigint"))


def reader(emulator: Emulator, **options: str) -> RocketMQStreamReader:
    """Create a reader of the topic `orders`, as a starting query does."""
    given = {
        "nameServer": emulator.namesrv,
        "topic": "orders",
        "fetchOffset.retryIntervalMs": "10",
        "fetchOffset.numRetries": "1",
        **options,
    }
    return RocketMQStreamReader(source_options(given).of_stream(), WANTED)


def offsets(by_queue: dict[str, int]) -> dict[str, Any]:
    """Return offsets of the topic's queues in Spark's format."""
    return {"orders": {"broker-a": by_queue}}


def got(found: RocketMQStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[tuple[int, int]]:
    """Return queue and offset of a micro-batch's messages, read by a pickled copy as in an executor."""
    executor = pickle.loads(pickle.dumps(RocketMQStreamReader(found._options, WANTED)))
    rows = [
        (row["queueId"], row["queueOffset"])
        for partition in pickle.loads(pickle.dumps(found.partitions(start, end)))
        for batch in executor.read(partition)
        for row in batch.to_pylist()
    ]
    return sorted(rows)


def test_a_stream_without_checkpoint_starts_at_latest(rocketmq: Emulator) -> None:
    """Repeated requests for the start return the first result, although messages have arrived."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 5)
    found = reader(rocketmq)

    first = found.initialOffset()
    fill(rocketmq, "orders", [b"x"] * 5)

    assert first == found.initialOffset() == offsets({"0": 5})


@pytest.mark.recovery
def test_a_start_that_moves_is_pinned_by_an_empty_batch(rocketmq: Emulator) -> None:
    """A start that can move is pinned by an empty first batch, so that the checkpoint contains it before any read.

    A query that fails in the following batch restarts from the checkpoint and misses nothing.
    """
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 5)
    found = reader(rocketmq)
    start = found.initialOffset()
    fill(rocketmq, "orders", [b"x"] * 3)

    pinned = found.latestOffset(start, ALL)
    end = found.latestOffset(pinned, ALL)
    again = reader(rocketmq)

    assert pinned == start
    assert found.partitions(start, pinned) == []
    assert end == again.latestOffset(pinned, ALL) == offsets({"0": 8})
    assert got(again, pinned, end) == [(0, 5), (0, 6), (0, 7)]


@pytest.mark.parametrize("start", ["earliest", '{"orders":{"broker-a":{"0":2}}}'])
def test_a_start_that_does_not_move_is_not_pinned(rocketmq: Emulator, start: str) -> None:
    """A start that cannot move is not pinned, so that the first batch may have messages."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 5)
    found = reader(rocketmq, startingOffsets=start)

    assert found.latestOffset(found.initialOffset(), ALL) == offsets({"0": 5})


def test_the_end_of_an_available_now_run_does_not_move(rocketmq: Emulator) -> None:
    """With AvailableNow, later messages and queues are not read, and the end stays the same."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 5)
    found = reader(rocketmq, startingOffsets="earliest")
    found.prepareForTriggerAvailableNow()
    start = found.initialOffset()
    rocketmq.topic("orders", queues=2)
    for queue in (0, 1):
        fill(rocketmq, "orders", [b"x"] * 5, queue)

    end = found.latestOffset(start, ALL)

    assert from_json(end)[MessageQueue("orders", "broker-a", 0)] == 5
    assert got(found, start, end) == [(0, at) for at in range(5)]
    assert found.latestOffset(end, ALL) == end


def test_a_limited_available_now_run_reads_everything_once(rocketmq: Emulator) -> None:
    """A limited AvailableNow run reads everything once, step by step."""
    rocketmq.topic("orders", queues=2)
    fill(rocketmq, "orders", [b"x"] * 50, 0)
    fill(rocketmq, "orders", [b"x"] * 10, 1)
    found = reader(rocketmq, startingOffsets="earliest", maxOffsetsPerTrigger="7")
    found.prepareForTriggerAvailableNow()
    at, steps, rows = found.initialOffset(), 0, []
    limit = found.getDefaultReadLimit()
    assert limit == ReadMaxRows(7)

    while (end := found.latestOffset(at, limit)) != at:
        part = got(found, at, end)
        assert len(part) <= 7
        rows += part
        at, steps = end, steps + 1

    assert steps == 9
    assert sorted(rows) == [(0, at) for at in range(50)] + [(1, at) for at in range(10)]


def test_the_reported_latest_offset_is_the_last_one_seen(rocketmq: Emulator) -> None:
    """The latest offset for Spark's metrics is the last one seen, without a further request."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 5)
    found = reader(rocketmq, startingOffsets="earliest", maxOffsetsPerTrigger="2")
    assert found.reportLatestOffset() is None

    found.latestOffset(found.initialOffset(), ReadMaxRows(2))
    fill(rocketmq, "orders", [b"x"] * 5)

    assert found.reportLatestOffset() == offsets({"0": 5})


def test_the_same_range_has_the_same_messages_after_a_restart(rocketmq: Emulator) -> None:
    """The same range returns the same messages after a restart, although more have arrived."""
    rocketmq.topic("orders", queues=2)
    for queue in (0, 1):
        fill(rocketmq, "orders", [b"x"] * 20, queue)
    found = reader(rocketmq, startingOffsets="earliest")
    start = json.loads(json.dumps(found.initialOffset()))
    end = json.loads(json.dumps(found.latestOffset(start, ALL)))
    before = got(found, start, end)
    fill(rocketmq, "orders", [b"x"] * 20)

    assert got(reader(rocketmq), start, end) == before == [(queue, at) for queue in (0, 1) for at in range(20)]


def test_empty_and_reversed_ranges_have_no_task(rocketmq: Emulator) -> None:
    """An empty or reversed range, which Spark may request at a restart, has no task."""
    rocketmq.topic("orders", queues=1)
    found = reader(rocketmq)

    assert found.partitions(offsets({"0": 5}), offsets({"0": 5})) == []
    assert found.partitions(offsets({"0": 5}), offsets({"0": 3})) == []


def test_a_new_queue_is_read_from_its_first_message(rocketmq: Emulator) -> None:
    """A new queue is read from its first message, even if the query started at latest."""
    rocketmq.topic("orders", queues=1)
    found = reader(rocketmq)
    start = found.initialOffset()
    at = found.latestOffset(start, ALL)
    rocketmq.topic("orders", queues=2)
    fill(rocketmq, "orders", [b"x"] * 3, 1)

    end = found.latestOffset(at, ALL)

    assert end == offsets({"0": 0, "1": 3})
    assert got(found, at, end) == [(1, 0), (1, 1), (1, 2)]


def test_a_pattern_finds_new_topics(rocketmq: Emulator) -> None:
    """A pattern finds new topics, even if there was none at the start of the query."""
    given = {"nameServer": rocketmq.namesrv, "topicsPattern": "orders-.*"}
    found = RocketMQStreamReader(source_options(given).of_stream(), WANTED)
    start = found.initialOffset()
    assert found.latestOffset(start, ALL) == start == {}
    rocketmq.topic("orders-new", queues=1)
    fill(rocketmq, "orders-new", [b"x"] * 3)

    end = found.latestOffset(start, ALL)

    assert end == {"orders-new": {"broker-a": {"0": 3}}}
    assert got(found, start, end) == [(0, 0), (0, 1), (0, 2)]


def test_a_missing_queue_fails_the_query_or_keeps_its_offset(rocketmq: Emulator) -> None:
    """A missing queue fails the query; with failOnDataLoss=false its offset is kept."""
    rocketmq.topic("orders", queues=2)
    fill(rocketmq, "orders", [b"x"] * 5)
    at = offsets({"0": 2, "1": 0})
    rocketmq.topic("orders", queues=1)

    with pytest.raises(ClusterError, match="queue 1 of topic orders on broker-a is gone"):
        reader(rocketmq).latestOffset(at, ALL)
    assert reader(rocketmq, failOnDataLoss="false").latestOffset(at, ALL) == offsets({"0": 5, "1": 0})


def test_a_queue_that_ends_before_the_read_offset_is_a_data_loss(rocketmq: Emulator) -> None:
    """A queue that ends before the offset already read is a data loss; failOnDataLoss=false continues there."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 5)
    at = offsets({"0": 50})

    with pytest.raises(DataLossError, match="queue 0 of topic orders on broker-a ends at 5, but was read up to 50"):
        reader(rocketmq).latestOffset(at, ALL)
    found = reader(rocketmq, failOnDataLoss="false")
    end = found.latestOffset(at, ALL)
    assert end == offsets({"0": 5})
    assert found.partitions(at, end) == []


@pytest.mark.recovery
def test_a_reader_reconnects_after_a_broker_restart(rocketmq: Emulator) -> None:
    """A reader reconnects after a broker restart between two micro-batches."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 5)
    found = reader(rocketmq, startingOffsets="earliest")
    at = found.latestOffset(found.initialOffset(), ALL)
    rocketmq.restart()
    fill(rocketmq, "orders", [b"x"] * 5)

    end = found.latestOffset(at, ALL)

    assert got(found, at, end) == [(0, each) for each in range(5, 10)]


@pytest.mark.recovery
def test_a_broker_that_stays_away_fails_the_query(rocketmq: Emulator) -> None:
    """A broker that stays away fails the query, which names it and later continues from its checkpoint."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 5)
    found = reader(rocketmq, startingOffsets="earliest")
    at = found.latestOffset(found.initialOffset(), ReadMaxRows(2))
    rocketmq.stop_broker("broker-a")

    with pytest.raises(ClusterError, match=r"the queues of the stream cannot be read.*topic orders has no route"):
        found.latestOffset(at, ALL)
    rocketmq.start_broker("broker-a")
    assert reader(rocketmq).latestOffset(at, ALL) == offsets({"0": 5})


def committed(emulator: Emulator, group: str) -> dict[int, int]:
    """Return the committed offsets of a group in the topic."""
    given = source_options({"nameServer": emulator.namesrv, "topic": "orders"})
    with Cluster(given) as cluster:
        route = cluster.route("orders")
        assert route is not None
        return {queue.queue_id: at for queue, at in cluster.group_offsets(group, route.readable).items()}


@pytest.mark.since("5.0.0", "it treats setZeroIfNotFound as true: a group without an offset is at 0")
def test_progress_is_committed_to_the_group_if_enabled(rocketmq: Emulator) -> None:
    """Progress is committed as offsets of the group if enabled; the start of a stream does not depend on it."""
    rocketmq.topic("orders", queues=2)
    rocketmq.group("readers")
    found = reader(rocketmq, consumerGroup="readers", commitOffsetsToBroker="true")

    found.commit(offsets({"0": 7, "1": 3}))
    reader(rocketmq, consumerGroup="others").commit(offsets({"0": 7, "1": 3}))

    assert committed(rocketmq, "readers") == {0: 7, 1: 3}
    assert committed(rocketmq, "others") == {}


@pytest.mark.since("5.0.0", "it accepts offsets of unknown groups")
@pytest.mark.rocketmq(config={"autoCreateSubscriptionGroup": False})
def test_a_commit_for_an_unknown_group_only_logs_a_warning(
    rocketmq: Emulator, caplog: pytest.LogCaptureFixture
) -> None:
    """A commit for an unknown group logs a warning, and raises no error."""
    rocketmq.topic("orders", queues=1)

    reader(rocketmq, consumerGroup="nobody", commitOffsetsToBroker="true").commit(offsets({"0": 7}))

    assert "committing progress to the broker failed" in caplog.text


def test_a_stream_may_start_at_the_offsets_of_a_group(rocketmq: Emulator) -> None:
    """A stream may start at a group's offsets; queues without an offset start at earliest."""
    rocketmq.topic("orders", queues=2)
    rocketmq.group("readers")
    for queue in (0, 1):
        fill(rocketmq, "orders", [b"x"] * 10, queue)
    found = reader(rocketmq, consumerGroup="readers", commitOffsetsToBroker="true", startingOffsets="group")
    found.commit(offsets({"1": 6}))

    assert found.initialOffset() == offsets({"0": 0, "1": 6})


def test_delayed_and_transactional_messages_are_read_once_visible(rocketmq: Emulator, tmp_path: Path) -> None:
    """Delayed and transactional messages are read once they become visible, and no offset is skipped for them."""
    topic = rocketmq.topic("orders", queues=1)
    found = reader(rocketmq, startingOffsets="earliest")
    start = found.initialOffset()
    given = {"nameServer": rocketmq.namesrv, "topic": "orders", "txnLogPath": str(tmp_path)}
    writer = TransactionalStreamWriter(sink_options({**given, "deliveryGuarantee": "transactional"}))
    halves = writer.store("q", 0, iter([pa.RecordBatch.from_pydict({"body": [b"half"]})]))
    topic.send(b"later", properties={"DELAY": "3"})
    topic.send(b"now")

    first = found.latestOffset(start, ALL)
    writer.commit([halves], 0)
    second = found.latestOffset(first, ALL)
    rocketmq.clock.advance("11s")
    third = found.latestOffset(second, ALL)

    assert [first, second, third] == [offsets({"0": end}) for end in (1, 2, 3)]
    assert got(found, start, third) == [(0, 0), (0, 1), (0, 2)]
    assert [each.body for each in topic.messages] == [b"now", b"half", b"later"]


def test_many_small_queues_are_one_task(rocketmq: Emulator) -> None:
    """Many small queues share a task, because a task costs more than reading some messages."""
    rocketmq.topic("orders", queues=16)
    for queue in range(16):
        fill(rocketmq, "orders", [b"x"] * 3, queue)
    found = reader(rocketmq, startingOffsets="earliest")
    start = found.initialOffset()

    [task] = found.partitions(start, found.latestOffset(start, ALL))

    assert isinstance(task, RangePartition)
    assert len(task.ranges) == 16


def test_a_stopped_reader_closes_its_connections(rocketmq: Emulator) -> None:
    """A stopped reader closes its connections, although Spark kills the process instead."""
    rocketmq.topic("orders", queues=1)
    found = reader(rocketmq)
    found.initialOffset()

    found.stop()
    found.stop()

    with RemotingClient(rocketmq.broker) as client:
        assert client.request(30, {"topic": "orders", "queueId": 0}).code == 0
