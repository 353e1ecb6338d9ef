"""Replays recorded messages: to another cluster or topic, in the original order, at the original or another pace.

The input consists of rows with the columns of the data source `rocketmq`, read from topics or stored as Parquet:

    recorded = spark.read.format("rocketmq").options(nameServer=..., topic="orders", includeMetadata="true").load()
    recorded.write.parquet("orders.parquet")
    replay(spark.read.parquet("orders.parquet"), {"nameServer": "127.0.0.1:9876", "topic": "again"}, speed=10)

One task sends all messages of a queue, in the order of their offsets, to one queue. With `keep="key"` one task sends
all messages of a sharding key. A message keeps its body, keys, tag, sharding key and properties, but has a new id; the
old one is its property REPLAYED_MSG_ID. Delayed messages are not delayed again. If Spark retries a task, its messages
are sent again.

With `keep="queue"` the recording is read twice, the first time to find its queues. Store a growing topic as Parquet
first, or limit it with `endingOffsets`.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F
from rocketmq_testkit.emulator.message import properties as props

from ..cluster.cluster import Cluster
from ..errors import ClusterError, OptionError, SchemaError
from ..options.options import SinkOptions, sink_options
from ..writing.sending import Sender
from ..writing.writer import row_reader, task_number

NEEDED = ("topic", "body", "properties", "brokerName", "queueId", "queueOffset", "storeTimestamp")
"""The columns of the data source that a replay needs."""
MSG_ID = "REPLAYED_MSG_ID"
"""Property with the id of the recorded message."""
LEAD_S = 2.0
"""Seconds from the end of sorting until the first message is due, so that all tasks have started by then."""
QUEUE: Final = "queue"
KEY: Final = "key"
OrderUnit = Literal["queue", "key"]

_DUE = "due_us"
_ARROW = {"properties": pa.map_(pa.string(), pa.string()), "queueId": pa.int32(), "shardingKey": pa.string()}
BATCH_ROWS = 1000
"""Number of rows that are checked before the first of them is sent."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """Result of a replay: number of messages and tasks, and the largest delay of a message."""

    messages: int
    tasks: int
    late_s: float


def replay(
    recorded: DataFrame,
    options: Mapping[str, str],
    *,
    speed: float | None = None,
    keep: OrderUnit = QUEUE,
    tasks: int | None = None,
) -> Replayed:
    """Send recorded messages again, with the options of a write.

    `speed` 1 is the recorded pace, by `storeTimestamp`; 10 is ten times as fast; None means no pacing. `keep` selects
    the order that is preserved: all messages of a queue, or all of a sharding key (messages without one go anywhere).
    `tasks`: number of parallel senders, by default as many as Spark runs at once. With `speed` there may be no
    more. Raises OptionError, SchemaError, ClusterError; RowError and SendError inside Spark's PythonException.
    """
    checked = sink_options(dict(options))
    if speed is not None and not speed > 0:
        raise OptionError(f"speed={speed}: not a speed; a speed is a number above 0, or None for no pace; use speed=1")
    if keep not in (QUEUE, KEY):
        raise OptionError(f"keep={keep!r}: there is no such order; it can be {QUEUE!r} or {KEY!r}; use keep={QUEUE!r}")
    if checked.txn_log_path is not None:
        raise OptionError("deliveryGuarantee=transactional: for streams alone; a replay is no stream; leave it out")
    parallel = recorded.sparkSession.sparkContext.defaultParallelism
    count = parallel if tasks is None else tasks
    if count < 1:
        raise OptionError(
            f"tasks={tasks}: not a number of tasks; a number of tasks is a whole number from 1 on; use tasks=1"
        )
    if speed is not None and count > parallel:
        raise OptionError(
            f"tasks={tasks}: more than Spark runs at once; a pace needs all tasks at once; use tasks={parallel}"
        )
    unit_of_order = ("topic", "lane")
    rows = (
        _rows(recorded, checked, keep)
        .repartition(count, *unit_of_order)
        .sortWithinPartitions(_DUE, *unit_of_order, "queueOffset")
    )
    rows = rows.drop("lane", "queueOffset")
    if speed is None:
        return _run_tasks(rows, _task(checked, 0, 0.0, None))
    # Rows are sorted before the clock starts.
    rows = rows.persist(StorageLevel.DISK_ONLY)
    try:
        first = rows.agg(F.min(_DUE)).first()
        first_us = first[0] if first is not None and first[0] is not None else 0
        return _run_tasks(rows, _task(checked, first_us, time.time() + LEAD_S, speed))
    finally:
        rows.unpersist()


def _run_tasks(rows: DataFrame, task: "Task") -> Replayed:
    sent = rows.rdd.mapPartitions(task).collect()
    return Replayed(
        sum(messages for messages, _ in sent),
        sum(messages > 0 for messages, _ in sent),
        max((late_s for _, late_s in sent), default=0.0),
    )


def _rows(recorded: DataFrame, options: SinkOptions, keep: OrderUnit) -> DataFrame:
    """Return rows as the sink expects them, with `due_us`, `lane` (the unit of order) and `queueOffset`."""
    types = dict(recorded.dtypes)
    missing = [name for name in NEEDED if name not in types]
    if missing:
        raise SchemaError(f"a replay needs the columns of the data source rocketmq; {', '.join(missing)} is missing")
    if types["storeTimestamp"] != "timestamp":
        raise SchemaError(f"storeTimestamp is {types['storeTimestamp']}; the data source returns it as timestamp")
    queue = ("topic", "brokerName", "queueId")
    # A queue keeps its order even if its broker's clock was set back.
    until_here = Window.partitionBy(*queue).orderBy("queueOffset").rowsBetween(Window.unboundedPreceding, 0)
    rows = recorded.select(
        *queue,
        "queueOffset",
        "body",
        F.max(F.unix_micros("storeTimestamp")).over(until_here).alias(_DUE),
        _properties(types["properties"]).alias("properties"),
    )
    if keep == QUEUE:
        targets = F.broadcast(_targets(recorded, options))
        rows = rows.join(targets, list(queue)).withColumn("lane", F.concat_ws("/", "brokerName", "queueId"))
        rows = rows.drop("brokerName", "queueId").withColumnRenamed("target", "queueId")
    else:
        key = F.col("properties")[props.SHARDING_KEY]
        own = F.concat_ws("/", "brokerName", "queueId", "queueOffset")
        rows = rows.withColumn("lane", F.coalesce(key, own)).withColumn("shardingKey", key)
        rows = rows.drop("brokerName", "queueId")
    old = F.create_map(F.lit(MSG_ID), F.col("properties")[props.UNIQ_KEY])
    kept = F.map_filter("properties", lambda name, _: ~name.isin(MSG_ID, *props.DELAYS))
    return rows.withColumn("properties", F.map_concat(kept, old))


def _properties(type_: str) -> Column:
    """Return the properties as a map, in whichever form they were read."""
    column = F.col("properties")
    return column if type_.startswith("map") else F.from_json(column, "map<string,string>")


def _targets(recorded: DataFrame, options: SinkOptions) -> DataFrame:
    """Return the target queue for the messages of each queue. Raises ClusterError."""
    queues = sorted(tuple(row) for row in recorded.select("topic", "brokerName", "queueId").distinct().collect())
    taken: dict[str, int] = {}
    found = []
    with Cluster(options) as cluster:
        writable = {
            name: _writable(cluster, options, name) for name in {options.topic or topic for topic, *_ in queues}
        }
    for topic, broker, queue_id in queues:
        name = options.topic or topic
        found.append((topic, broker, queue_id, taken.get(name, 0) % writable[name]))
        taken[name] = taken.get(name, 0) + 1
    return recorded.sparkSession.createDataFrame(found, "topic string, brokerName string, queueId int, target int")


def _writable(cluster: Cluster, options: SinkOptions, topic: str) -> int:
    """Return the number of writable queues of a topic. Raises ClusterError."""
    route = cluster.route(topic)
    if route is None or not route.writable:
        servers = ", ".join(options.name_server)
        raise ClusterError(f"topic {topic} has no queue to write: name servers {servers} know none; create it first")
    return len(route.writable)


class Pace:
    """Due times of messages, whose recorded times are microseconds since the epoch.

    A message recorded at `first_us` is due at `begin_s` of `clock`. Others are due later by the distance of their
    recorded times, divided by `speed`. Without `speed` all messages are due at once.
    """

    def __init__(
        self,
        first_us: int,
        begin_s: float,
        speed: float | None,
        clock: Callable[[], float] = time.time,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._first_us = first_us
        self._begin_s = begin_s
        self._speed = speed
        self._clock = clock
        self._sleep = sleep
        self.late_s = 0.0
        """The largest delay of a message."""

    def wait(self, dues_us: Sequence[int], at: int) -> int:
        """Wait until the message at an index is due; returns the index of the next message that is not due yet."""
        if self._speed is None:
            return len(dues_us)
        left = self._due_s(dues_us[at]) - self._clock()
        if left > 0:
            self._sleep(left)
        now = self._clock()
        self.late_s = max(self.late_s, now - self._due_s(dues_us[at]))
        end = at + 1
        while end < len(dues_us) and self._due_s(dues_us[end]) <= now:
            end += 1
        return end

    def _due_s(self, due_us: int) -> float:
        assert self._speed is not None
        return self._begin_s + (due_us - self._first_us) / 1e6 / self._speed


Task = Callable[[Iterable[Row]], Iterator[tuple[int, float]]]


def _task(options: SinkOptions, first_us: int, begin_s: float, speed: float | None) -> Task:
    """Return the function of a task: it sends its rows, and returns their number and the largest delay.

    Rows are processed one by one, because functions over Arrow batches need pandas, which nothing else here does.
    """

    def send(rows: Iterable[Row]) -> Iterator[tuple[int, float]]:
        pace = Pace(first_us, begin_s, speed)
        with Cluster(options) as cluster:
            sender = Sender(cluster, options, first=task_number())
            reader = row_reader(options)
            for some in _in_batches(rows):
                dues_us = [row[_DUE] for row in some]
                messages = reader.read(_batch(some))
                at = 0
                while at < len(messages):
                    end = pace.wait(dues_us, at)
                    sender.send(messages[at:end])
                    at = end
            sent = sender.finish()
        yield sent.count, pace.late_s

    return send


def _in_batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    left = iter(rows)
    while some := list(islice(left, BATCH_ROWS)):
        yield some


def _batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Convert rows into the form that the sink's reader expects."""
    names = [name for name in rows[0].__fields__ if name != _DUE]
    return pa.RecordBatch.from_arrays(
        [pa.array([_plain(row[name]) for row in rows], _ARROW.get(name)) for name in names], names=names
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return list(value.items())
    return bytes(value) if isinstance(value, bytearray) else value
