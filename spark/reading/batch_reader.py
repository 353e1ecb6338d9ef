"""Batch reads: Spark plans the start and end offsets once."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from ..cluster.cluster import Cluster
from ..errors import ClusterError
from ..options.offsets import MessageQueue, Range
from ..options.options import SourceOptions
from ..options.schema import Wanted
from .planning import RangePartition, plan
from .pushdown import Pushed
from .scan import find_ends, find_queues, find_starts


class RocketMQBatchReader(DataSourceReader):
    """Reads the messages between two offsets of each queue. It is pickled, so it holds no connection."""

    def __init__(self, options: SourceOptions, columns: Wanted) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        """Plan the tasks. Raises OptionError, ClusterError, DataLossError."""
        options = self._options
        with Cluster(options) as cluster:
            found = find_queues(cluster, options)
            if not found and options.topics_pattern is not None:
                raise ClusterError(f"option topicsPattern: no topic matches {options.topics_pattern.pattern}")
            queues = self._chosen(found)
            starts = find_starts(cluster, options, queues, "earliest")
            ends = find_ends(cluster, options, queues)
            ranges = [self._cut(cluster, Range(queue, starts[queue], ends[queue])) for queue in queues]
            return [
                RangePartition(task, {each.queue.broker: cluster.address(each.queue.broker) for each in task})
                for task in plan(ranges, options.min_partitions, options.max_partitions)
            ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of a task as Arrow batches; nothing for the empty partition that Spark may add."""
        from .task import read_ranges  # not loaded in the planning process

        if isinstance(partition, RangePartition):
            yield from read_ranges(partition, self._options, self._columns)

    def _chosen(self, queues: tuple[MessageQueue, ...]) -> tuple[MessageQueue, ...]:
        return queues

    def _cut(self, cluster: Cluster, whole: Range) -> Range:
        return whole


class FilteringBatchReader(RocketMQBatchReader):
    """Batch reader with filter pushdown; Spark accepts it only if its configuration enables that."""

    def __init__(self, options: SourceOptions, columns: Wanted) -> None:
        super().__init__(options, columns)
        self._pushed = Pushed()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Use the supported filters and return all of them, so that Spark applies them as well."""
        self._pushed.note(filters)
        expression = self._pushed.expression()
        if expression is not None and self._options.sub_expression == "*":
            self._options = replace(self._options, sub_expression=expression, expression_type="TAG")
        return filters

    def _chosen(self, queues: tuple[MessageQueue, ...]) -> tuple[MessageQueue, ...]:
        return tuple(queue for queue in queues if self._pushed.wants(queue))

    def _cut(self, cluster: Cluster, whole: Range) -> Range:
        return self._pushed.cut(cluster, whole)
