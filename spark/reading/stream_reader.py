"""Stream reads: Spark's checkpoint alone determines the position.

Spark creates two readers. The first one lives in a process of Spark's driver as long as the query, and may keep state.
The second one is created where the query is planned, and its pickled copies read in executors. So a new reader holds no
connection, and `read` uses only its arguments and the options.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from ..cluster.cluster import Cluster
from ..cluster.connections import TemporaryError
from ..errors import ClusterError, DataLossError
from ..options.offsets import EARLIEST, LATEST, LATEST_OFFSET, MessageQueue, Offsets, Range, from_json, limited, to_json
from ..options.options import SourceOptions
from ..options.schema import Wanted
from .planning import RangePartition, plan
from .scan import find_queues, find_starts

PATTERN_SECONDS = 1.0
"""Minimum seconds between matches of a pattern against all topics, since an idle query requests offsets every 10 ms."""

_log = logging.getLogger("pyspark_rocketmq")


class RocketMQStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads queues from the checkpoint on. Offsets are those of the next message, by topic, broker and queue."""

    def __init__(self, options: SourceOptions, columns: Wanted) -> None:
        self._options = options
        self._columns = columns
        self._cluster: Cluster | None = None
        self._initial: Offsets | None = None
        self._start_is_pinned = False
        """True once the first batch after a start has its end."""
        self._target: Offsets | None = None
        """The ends at which a query with the trigger availableNow stops; None without that trigger."""
        self._seen: Offsets | None = None
        """The ends of the queues at the last `latestOffset`."""
        self._queues: tuple[MessageQueue, ...] = ()
        self._matched_at = 0.0

    # --- positions

    def initialOffset(self) -> dict[str, Any]:
        """Return the start of a query without checkpoint. Spark calls this twice; `latest` must not move in between."""
        if self._initial is None:
            cluster = self._connected()
            self._queues = self._find(cluster, {})
            self._initial = find_starts(cluster, self._options, self._queues, LATEST)
        return to_json(self._initial)

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of a micro-batch, set by maxOffsetsPerTrigger."""
        most = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the next micro-batch.

        The checkpoint stores only ends. So if the start of a query can move, its first batch is empty. If that batch
        had messages and failed, the start would be looked up again, and messages that arrived in between would be lost.

        Raises DataLossError, ClusterError.
        """
        known = from_json(start)
        if not self._start_is_pinned:
            self._start_is_pinned = True
            if known == self._initial and _start_may_move(self._options):
                self._seen = known
                return start
        cluster = self._connected()
        self._queues = self._find(cluster, known)
        high = cluster.max_offsets(self._queues)
        self._check(known, high)
        begin = self._begin(cluster, known, high)
        self._seen = {**known, **high}
        end = dict(high)
        if self._target is not None:
            end = {queue: min(offset, self._target.get(queue, begin[queue])) for queue, offset in high.items()}
            # An end is never before the start of its batch, which may be beyond the target.
            end = {queue: max(offset, min(begin[queue], high[queue])) for queue, offset in end.items()}
        if isinstance(limit, ReadMaxRows):
            end = limited(begin, end, limit.max_rows)
        return to_json({**known, **end})

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return the ends of all queues as `latestOffset` has just seen them, for Spark's metrics."""
        return None if self._seen is None else to_json(self._seen)

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the end of the query: messages that arrive from now on are not read."""
        cluster = self._connected()
        self._target = cluster.max_offsets(self._find(cluster, {}))

    # --- reading

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Plan the tasks of a micro-batch: the same range on every call. Raises ClusterError."""
        known, ends = from_json(start), from_json(end)
        new = [queue for queue in ends if queue not in known]
        cluster = self._connected()
        starts = {**known, **cluster.min_offsets(self._routed(cluster, new))} if new else known
        ranges = [Range(queue, starts[queue], offset) for queue, offset in ends.items() if starts[queue] < offset]
        self._routed(cluster, [each.queue for each in ranges])
        return [
            RangePartition(task, {each.queue.broker: cluster.address(each.queue.broker) for each in task})
            for task in plan(ranges, self._options.min_partitions, self._options.max_partitions)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of a task as Arrow batches; it runs in executors."""
        from .task import read_ranges  # not loaded in the planning process

        if isinstance(partition, RangePartition):
            yield from read_ranges(partition, self._options, self._columns)

    def commit(self, end: dict[str, Any]) -> None:
        """Commit progress to brokers if enabled: one batch late, ignored by restarts, and harmless if it fails."""
        if not self._options.commit_offsets_to_broker:
            return
        offsets = from_json(end)
        try:
            cluster = self._connected()
            self._routed(cluster, list(offsets))
            cluster.commit(self._options.consumer_group, offsets)
        except ClusterError as error:
            _log.warning("committing progress to the broker failed: %s", error)

    def stop(self) -> None:
        """Close connections; Spark kills the process instead."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    # --- cluster

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._options)
        return self._cluster

    def _find(self, cluster: Cluster, known: Mapping[MessageQueue, int]) -> tuple[MessageQueue, ...]:
        """Return the current queues. A known queue may be missing while its broker restarts."""
        options = self._options
        if options.topics_pattern is not None:
            if self._queues and time.monotonic() - self._matched_at < PATTERN_SECONDS:
                return self._queues
            self._matched_at = time.monotonic()
        if not options.fail_on_data_loss:
            try:
                return find_queues(cluster, options)
            except ClusterError:
                if not known:
                    raise
                return tuple(queue for queue in self._queues if queue in known)

        def all_that_are_known() -> tuple[MessageQueue, ...]:
            try:
                found = find_queues(cluster, options)
            except ClusterError as error:
                raise TemporaryError(str(error)) from error
            gone = set(known).difference(found)
            if gone:
                raise TemporaryError(f"{min(gone)} is gone: its broker is down, or the queue or its topic was removed")
            return found

        return cluster.connections.with_retries("the queues of the stream cannot be read", all_that_are_known)

    def _check(self, known: Mapping[MessageQueue, int], high: Mapping[MessageQueue, int]) -> None:
        for queue, offset in known.items():
            if high.get(queue, offset) < offset and self._options.fail_on_data_loss:
                raise DataLossError(
                    f"{queue} ends at {high[queue]}, but was read up to {offset}; the topic was created again or its "
                    "broker has lost messages; with failOnDataLoss=false the stream continues with the remaining "
                    "messages"
                )

    def _begin(self, cluster: Cluster, known: Offsets, high: Offsets) -> Offsets:
        """Return the start of the next micro-batch in each queue; new queues start at their first message."""
        new = [queue for queue in high if queue not in known]
        return {**known, **cluster.min_offsets(new)} if new else known

    def _routed(self, cluster: Cluster, queues: list[MessageQueue]) -> list[MessageQueue]:
        """Look up the unknown brokers of queues: after a restart Spark plans tasks before it requests any offset."""
        for topic in {queue.topic for queue in queues if queue.broker not in cluster.addresses}:
            cluster.route(topic)
        return queues


def _start_may_move(options: SourceOptions) -> bool:
    """True if the start may differ in another lookup."""
    if options.starting_timestamp is not None or options.starting_offsets_by_timestamp is not None:
        return True
    start = options.starting_offsets
    return LATEST_OFFSET in start.values() if isinstance(start, dict) else start != EARLIEST
