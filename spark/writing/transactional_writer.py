"""Writes a stream with half messages, which are invisible until the driver commits the micro-batch.

Tasks store half messages and report their positions to Spark's driver. The driver logs the positions, which decides the
batch, and then commits each half message. A crash before the batch is decided leaves half messages that brokers
eventually discard. After a later crash, the next run of the batch finishes the commit. Brokers do not detect that a
transaction is ended twice: a message whose end was not acknowledged may be delivered twice. Source:
TransactionalMessageServiceImpl, EndTransactionProcessor (5.3.3).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ..cluster.cluster import BUSY, Cluster, describe_error
from ..cluster.connections import LOST, TemporaryError
from ..errors import RowError, SendError
from ..options.offsets import MessageQueue
from ..options.options import SinkOptions
from .messages import Outgoing
from .sending import Sender
from .transaction_log import Half, TransactionLog
from .writer import row_reader, stream_place, task_number

COMMIT = records.SYS_TRANSACTION_COMMIT
ROLLBACK = records.SYS_TRANSACTION_ROLLBACK

_Requests = list[tuple[dict[str, object], bytes]]

PORTION = 256
"""Number of transactions that are ended together and logged together."""


@dataclass
class TaskHalves(WriterCommitMessage):
    """The half messages of a task; none if the batch was already decided."""

    query_id: str
    halves: list[Half] = field(default_factory=list)


class TransactionalStreamWriter(DataSourceStreamArrowWriter):
    """Sends the rows of a micro-batch as half messages, and commits them with the batch."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskHalves:
        """Store the rows of a task as half messages. Raises RowError, SendError, ClusterError."""
        query_id, batch_id = stream_place()
        return self.store(query_id, int(batch_id), iterator)

    def store(self, query_id: str, batch_id: int, batches: Iterator[pa.RecordBatch]) -> TaskHalves:
        """Store the rows of a batch of a query as half messages, unless the batch is decided."""
        made = TaskHalves(query_id)
        if self._log(query_id).has(batch_id):
            return made

        def stored(queue: MessageQueue, messages: list[Outgoing], response: RemotingCommand) -> None:
            made.halves.append(half_message(queue, messages[0], response))

        stamps = {props.TRANSACTION_PREPARED: "true", props.PRODUCER_GROUP: self._options.producer_group}
        rows = row_reader(self._options, stamps)
        with Cluster(self._options) as cluster:
            sender = Sender(
                cluster,
                self._options,
                first=task_number(),
                on_stored=stored,
                sys_flag=records.SYS_TRANSACTION_PREPARED,
            )
            for batch in batches:
                messages = rows.read(batch)
                if any(each.delayed for each in messages):
                    raise RowError("a half message cannot be delayed; leave out delayLevel and deliverTimeMs")
                sender.send(messages)
            sender.finish()
        return made

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Decide the batch, then commit its half messages. Raises SendError, ClusterError, RocketMQError."""
        tasks = [each for each in messages if isinstance(each, TaskHalves)]
        if not tasks:
            return
        log = self._log(tasks[0].query_id)
        if not log.has(batchId):
            log.decide(batchId, [half for task in tasks for half in task.halves])
        left = log.uncommitted(batchId)
        with Cluster(self._options) as cluster:
            for start in range(0, len(left), PORTION):
                portion = left[start : start + PORTION]
                end_transactions(cluster, self._options, portion, COMMIT)
                log.mark_committed(batchId, portion)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Roll back, unless the batch is decided: Spark also aborts after a failed commit."""
        tasks = [each for each in messages if isinstance(each, TaskHalves)]
        if not tasks or self._log(tasks[0].query_id).has(batchId):
            return
        with Cluster(self._options) as cluster:
            end_transactions(cluster, self._options, [half for task in tasks for half in task.halves], ROLLBACK)

    def _log(self, query_id: str) -> TransactionLog:
        assert self._options.txn_log_path is not None  # the options are checked
        return TransactionLog(self._options.txn_log_path, query_id)


def half_message(queue: MessageQueue, message: Outgoing, response: RemotingCommand) -> Half:
    """Return the position of a half message, from its acknowledgement. Raises SendError."""
    fields = response.ext_fields or {}
    position = records.physical_offset_of(fields.get("msgId", ""))
    if position is None or "queueOffset" not in fields:
        raise SendError(f"{queue} acknowledged a half message without its position: {fields}")
    return Half(queue.broker, queue.topic, int(fields["queueOffset"]), position, uniq_key=message.uniq_key)


def end_transactions(cluster: Cluster, options: SinkOptions, halves: Sequence[Half], verdict: int) -> None:
    """Commit or roll back half messages, with a response for each. Raises SendError, ClusterError."""
    by_broker: dict[str, list[Half]] = {}
    for half in halves:
        by_broker.setdefault(half.broker, []).append(half)
    for broker, some in by_broker.items():
        requests: _Requests = [(_end(options, half, verdict), b"") for half in some]

        def end(
            broker: str = broker, topic: str = some[0].topic, requests: _Requests = requests
        ) -> list[RemotingCommand]:
            if broker not in cluster.addresses:
                cluster.route(topic)
            if broker not in cluster.addresses:
                raise TemporaryError("no route names it")  # a broker that has just started is not registered yet
            address = cluster.address(broker)
            try:
                client = cluster.connections.to(address)
                responses = [client.collect(each) for each in client.submit_many(RequestCode.END_TRANSACTION, requests)]
            except LOST:
                cluster.connections.drop(address)
                raise
            if any(each.code in BUSY for each in responses):
                raise TemporaryError(describe_error(next(each for each in responses if each.code in BUSY)))
            return responses

        responses = cluster.connections.with_retries(f"broker {broker} did not end transactions", end)
        for half, response in zip(some, responses, strict=True):
            if response.code != ResponseCode.SUCCESS:
                where = f"half message {half.uniq_key} of topic {half.topic} on {broker}"
                raise SendError(f"the {where} cannot be ended: {describe_error(response)}")


def _end(options: SinkOptions, half: Half, verdict: int) -> dict[str, object]:
    return {
        "topic": half.topic,
        "producerGroup": options.producer_group,
        "tranStateTableOffset": half.table_offset,
        "commitLogOffset": half.log_offset,
        "commitOrRollback": verdict,
        "fromTransactionCheck": False,
        "msgId": half.uniq_key,
        "transactionId": half.uniq_key,
        "bname": half.broker,
    }
