"""At-least-once writes: a task is done when all its messages are acknowledged.

If Spark retries a task, its messages are sent again. The properties SPARK_QUERY_ID, SPARK_BATCH_ID, SPARK_PARTITION_ID
and SPARK_SEQ identify the copies.
"""

import logging
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from ..cluster.cluster import Cluster
from ..options.offsets import MessageQueue
from ..options.options import SinkOptions
from .messages import BATCH_ID, PARTITION_ID, QUERY_ID, RowReader
from .sending import Sender

_log = logging.getLogger("pyspark_rocketmq")


@dataclass
class TaskSent(WriterCommitMessage):
    """Result of a task: number of messages, in total and in each queue."""

    count: int = 0
    queues: dict[MessageQueue, tuple[int, int, int]] = field(default_factory=dict)
    """Of each queue, the first and the last offset of its messages and their number."""


class OptionRows(Protocol):
    """Rows that carry the options of a table in one of their columns."""

    def rows(self, batches: Iterable[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """Yield the rows without that column."""


class RocketMQBatchWriter(DataSourceArrowWriter):
    """Sends the rows of a batch. `table` is None if the options are those of the write itself."""

    def __init__(self, options: SinkOptions, table: OptionRows | None = None) -> None:
        self._options = options
        self._table = table

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskSent:
        """Send the rows of a task. Raises RowError, SendError, ClusterError."""
        return send_rows(self._options, iterator if self._table is None else self._table.rows(iterator))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Log a warning: messages already sent stay stored, since a broker cannot take them back."""
        warn_of_abort(messages)


class RocketMQStreamWriter(DataSourceStreamArrowWriter):
    """Sends the rows of a micro-batch."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskSent:
        """Send the rows of a task. Raises RowError, SendError, ClusterError."""
        return send_rows(self._options, iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """No-op: all messages are already acknowledged."""

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Log a warning: messages already sent stay stored, since a broker cannot take them back."""
        warn_of_abort(messages)


def send_rows(options: SinkOptions, batches: Iterator[pa.RecordBatch]) -> TaskSent:
    """Send rows; each Arrow batch is checked completely before any of its messages is sent."""
    with Cluster(options) as cluster:
        sender = Sender(cluster, options, first=task_number())
        rows = row_reader(options)
        for batch in batches:
            sender.send(rows.read(batch))
        sent = sender.finish()
    return TaskSent(sent.count, sent.queues)


def row_reader(options: SinkOptions, more: Mapping[str, str] | None = None) -> RowReader:
    """Create the row reader of this task, whose messages name query, batch and task. `more`: properties."""
    query_id, batch_id = stream_place()
    stamps = {QUERY_ID: query_id, BATCH_ID: batch_id, PARTITION_ID: str(task_number()), **(more or {})}
    return RowReader(
        options.topic,
        options.queue_selector == "hash",
        {name: value for name, value in stamps.items() if value},
        unique_ids(),
    )


def unique_ids() -> Iterator[str]:
    """Yield message ids of 32 digits, the length of other clients' ids, on which some clients rely."""
    prefix = uuid.uuid4().hex[:20].upper()
    for number in count():
        yield f"{prefix}{number:012X}"


def stream_place() -> tuple[str, str]:
    """Return the query and micro-batch of this task as strings; empty in a batch write."""
    context = TaskContext.get()
    if context is None:
        return "", ""
    return (
        context.getLocalProperty("sql.streaming.queryId") or "",
        context.getLocalProperty("streaming.sql.batchId") or "",
    )


def task_number() -> int:
    """Return the number of this task's partition."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def warn_of_abort(messages: Sequence[WriterCommitMessage | None]) -> None:
    """Log the number of stored messages of a failed batch."""
    stored = sum(each.count for each in messages if isinstance(each, TaskSent))
    _log.warning("the batch failed after %d of its messages were stored; the broker keeps them", stored)
