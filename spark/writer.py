"""Writing, at least once: a task is done when every message of it is acknowledged.

A task that Spark runs again sends its messages again; the properties SPARK_QUERY_ID, SPARK_BATCH_ID, SPARK_PARTITION_ID
and SPARK_SEQ tell the copies.
"""

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from .cluster import Cluster
from .messages import BATCH_ID, PARTITION_ID, QUERY_ID, RowReader
from .offsets import MessageQueue
from .options import SinkOptions
from .sending import Sender

if TYPE_CHECKING:
    from .tables import TableWrite

_log = logging.getLogger("pyspark_rocketmq")


@dataclass
class TaskSent(WriterCommitMessage):
    """What a task has sent: how many messages in each queue, with the first and last offset."""

    count: int = 0
    queues: dict[MessageQueue, tuple[int, int, int]] = field(default_factory=dict)


class RocketMQBatchWriter(DataSourceArrowWriter):
    """Sends the rows of a batch. `table` is None if the options are those of the write itself."""

    def __init__(self, options: SinkOptions, table: "TableWrite | None" = None) -> None:
        self._options = options
        self._table = table

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskSent:
        """Send the rows of a task. Errors: RowError, SendError, ClusterError."""
        return send_rows(self._options, iterator if self._table is None else self._table.rows(iterator))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """What was sent stays sent: a broker takes nothing back."""
        warn_of_abort(messages)


class RocketMQStreamWriter(DataSourceStreamArrowWriter):
    """Sends the rows of a micro-batch."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskSent:
        """Send the rows of a task. Errors: RowError, SendError, ClusterError."""
        return send_rows(self._options, iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """All is acknowledged already."""

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """What was sent stays sent: a broker takes nothing back."""
        warn_of_abort(messages)


def send_rows(options: SinkOptions, batches: Iterator[pa.RecordBatch]) -> TaskSent:
    """Send rows; each Arrow batch is looked at whole before any message of it goes out."""
    with Cluster(options) as cluster:
        sender = Sender(cluster, options, first=task_number())
        rows = row_reader(options)
        for batch in batches:
            sender.send(rows.read(batch))
        sent = sender.finish()
    return TaskSent(sent.count, sent.queues)


def row_reader(options: SinkOptions, more: Mapping[str, str] | None = None) -> RowReader:
    """A reader of rows for this task: its messages tell which query, batch and task made them. `more`: properties."""
    query_id, batch_id = stream_place()
    stamps = {QUERY_ID: query_id, BATCH_ID: batch_id, PARTITION_ID: str(task_number()), **(more or {})}
    return RowReader(
        options.topic,
        options.queue_selector == "hash",
        {name: value for name, value in stamps.items() if value},
        unique_ids(),
    )


def unique_ids() -> Iterator[str]:
    """Ids for messages: 32 digits, as long as those of other clients, which some of them rely on."""
    prefix = uuid.uuid4().hex[:20].upper()
    for number in count():
        yield f"{prefix}{number:012X}"


def stream_place() -> tuple[str, str]:
    """The query and micro-batch that this task belongs to, as texts; empty in a batch write."""
    context = TaskContext.get()
    if context is None:
        return "", ""
    return (
        context.getLocalProperty("sql.streaming.queryId") or "",
        context.getLocalProperty("streaming.sql.batchId") or "",
    )


def task_number() -> int:
    """The number of this task's partition."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def warn_of_abort(messages: Sequence[WriterCommitMessage | None]) -> None:
    """Say how many messages of a batch that failed are stored."""
    stored = sum(each.count for each in messages if isinstance(each, TaskSent))
    _log.warning("the batch failed after %d messages of it were stored; they stay", stored)
