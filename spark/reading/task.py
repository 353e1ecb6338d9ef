"""A read task: reads its ranges and yields Arrow batches, in Spark's Python workers.

All its inputs are in the partition, so it contacts no name server unless a broker has moved.
"""

from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
from rocketmq_testkit.remoting.client import RemotingClient

from ..cluster.cluster import Cluster
from ..errors import ClusterError, DataLossError, RecordError
from ..options.offsets import Range
from ..options.options import SourceOptions
from ..options.schema import Wanted
from .arrow_columns import ColumnMaker
from .planning import RangePartition
from .range_reader import RangeReader

BATCH_ROWS = 8192
BATCH_BYTES = 4 << 20
"""Limits of an Arrow batch: rows, and bytes of its responses, regardless of the range's size."""


def read_ranges(partition: RangePartition, options: SourceOptions, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the messages of a partition, queue by queue in the order of offsets.

    Raises DataLossError, ClusterError, RecordError, each with topic, queue and offsets.
    """
    tags = tags_of(options)
    with Cluster(options) as cluster:
        cluster.addresses.update(partition.addresses)
        for each in partition.ranges:
            maker = ColumnMaker(each.queue, wanted, tags)
            batch = maker.batch
            broker = _Broker(cluster, each)
            for piece in RangeReader(each, options, broker.connect, broker.disconnect).pieces():
                try:
                    count = batch.add(piece.records, piece.low, piece.high)
                except RecordError as error:
                    raise RecordError(f"{each.queue}, offsets {piece.low} to {piece.high}: {error}") from None
                if piece.dense and count != piece.high - piece.low and options.fail_on_data_loss:
                    raise DataLossError(
                        f"{each.queue}: the broker gave {count} messages for offsets {piece.low} to {piece.high}"
                    )
                if len(batch) >= BATCH_ROWS or batch.bytes >= BATCH_BYTES:
                    yield maker.make()
            if len(batch):
                yield maker.make()


def tags_of(options: SourceOptions) -> frozenset[str] | None:
    """Return the tags of the broker's filter; None if it filters by SQL92 or not at all."""
    if options.expression_type != "TAG" or options.sub_expression == "*":
        return None
    return frozenset(tag.strip() for tag in options.sub_expression.split("||") if tag.strip())


class _Broker:
    """The connection to the broker of a range, which may have moved to another address."""

    def __init__(self, cluster: Cluster, wanted: Range) -> None:
        self._cluster = cluster
        self._queue = wanted.queue
        self._moved = False

    def connect(self) -> RemotingClient:
        if self._moved:
            self._moved = False
            with suppress(ClusterError):  # the broker may still have its old address
                self._cluster.route(self._queue.topic)
        return self._cluster.connections.to(self._cluster.address(self._queue.broker))

    def disconnect(self) -> None:
        self._cluster.connections.drop(self._cluster.address(self._queue.broker))
        self._moved = True
