"""Transactions: stores half messages and handles commit and rollback.

A half message stays in RMQ_SYS_TRANS_HALF_TOPIC and is never changed there. A commit stores a copy in its real topic.
Commit and rollback both record its offset in an op message. A producer can end a transaction twice, and each commit
stores a copy.
Source: TransactionalMessageBridge, EndTransactionProcessor (5.3.3).
"""

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.java_numbers import parse_long
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import MessageToStore
from ..message.message_copies import copy_of, restore_original_queue
from ..message.names import HALF_TOPIC
from ..message.stored_record import Record
from ..operations.base import NO_RESPONSE, Done, NoResponse, Parked, Result
from ..operations.send import EndTransaction, ResumeCheckHalfMessage
from ..stats.metric_counters import MetricCounters
from ..store.message_store import MessageStore
from ..store.refusals import checked_record_at
from ..store.sync_replication import SyncReplication
from .op_queue import OpQueue

UNKNOWN = 0
COMMIT = records.SYS_TRANSACTION_COMMIT
ROLLBACK = records.SYS_TRANSACTION_ROLLBACK

NO_REMARK = "not set any response code"
"""Upstream's remark if none was set."""


def immunity_ms(text: str, transaction_time_out: int) -> int:
    """Return the age (ms) up to which a producer may end a half message that has an immunity time.

    `text` is the immunity time in seconds; if it is not a number, it counts as 0. The result is at least
    `transaction_time_out`. Source: TransactionalMessageUtil.getImmunityTime (5.3.3).
    """
    try:
        asked = parse_long(text) * 1000
    except ValueError:
        asked = 0
    return max(asked, transaction_time_out)


class TransactionService:
    """Handles half messages and ends of transactions of one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        store: MessageStore,
        op_queue: OpQueue,
        sync_replication: SyncReplication,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._op_queue = op_queue
        self._sync_replication = sync_replication

    @staticmethod
    def prepare(message: MessageToStore) -> None:
        """Turn a message into a half message, before it is stored."""
        unique_key = message.properties.get(props.UNIQ_KEY)
        if unique_key:
            message.properties[props.TRANSACTION_ID] = unique_key
        message.sys_flag &= ~records.SYS_TRANSACTION_MASK
        message.redirect(HALF_TOPIC, 0)

    @handles(EndTransaction)
    def end(self, call: Call, operation: EndTransaction) -> Result | Parked:
        """Commit or roll back; a state that is still unknown gets no response.

        Errors: SLAVE_NOT_AVAILABLE, SYSTEM_ERROR (no half message at the offset, or a different one), ILLEGAL_OPERATION
        (immunity time over and not a reply to a check), MESSAGE_ILLEGAL and SERVICE_NOT_AVAILABLE (the committed
        message cannot be stored).
        """
        result = self._end(operation)
        if self._sync_replication.waits and self._waits(operation):
            return self._sync_replication.wait_for_append(call, operation, result)
        return result

    def _end(self, operation: EndTransaction) -> Done | NoResponse:
        if self._config.broker_role == "SLAVE":
            raise EngineError(ResponseCode.SLAVE_NOT_AVAILABLE, NO_REMARK)
        if operation.commit_or_rollback == UNKNOWN:
            return NO_RESPONSE
        if operation.commit_or_rollback not in (COMMIT, ROLLBACK):
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                "org.apache.rocketmq.remoting.exception.RemotingCommandException: commitOrRollback field wrong",
            )
        half = self._checked_half(operation)
        if operation.commit_or_rollback == COMMIT:
            self._commit(half)
            remark = None
        else:
            remark = NO_REMARK
            topic = half.property_map().get(props.REAL_TOPIC, "")
            self._counters.rolled_back[topic] += 1
            self._counters.half[topic] -= 1
        self._op_queue.add(half.queue_offset)
        return Done(remark)

    def _waits(self, operation: EndTransaction) -> bool:
        """Return True if an end stored a message that waits for slaves; the half message's WAIT property decides."""
        stored = self._store.log.record_at(operation.commit_log_offset)
        if operation.commit_or_rollback != COMMIT or stored is None:
            return False
        return records.decode(stored).property_map().get(props.WAIT) != "false"

    @handles(ResumeCheckHalfMessage)
    def resume_check(self, call: Call, operation: ResumeCheckHalfMessage) -> Done:
        """Append a message of any topic as a half message with a check count of 0.

        Errors: SYSTEM_ERROR (no such message, or the copy cannot be stored).
        Source: AdminBrokerProcessor.resumeCheckHalfMessage (5.3.3).
        """
        physical_offset = records.physical_offset_of(operation.message_id or "")
        stored = None if physical_offset is None else self._store.log.record_at(physical_offset)
        if stored is None:
            raise EngineError(
                ResponseCode.SYSTEM_ERROR, f"Exception was thrown when putting message back to {HALF_TOPIC}."
            )
        message = copy_of(records.decode(stored))
        message.properties[props.TRANSACTION_CHECK_TIMES] = "0"
        message.topic, message.queue_id = HALF_TOPIC, 0
        try:
            self._store.put(message)
        except EngineError:
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"Put message back to {HALF_TOPIC} failed.") from None
        return Done()

    def _checked_half(self, operation: EndTransaction) -> Record:
        stored = checked_record_at(self._store.log, operation.commit_log_offset)
        if stored is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
        half = records.decode(stored)
        properties = half.property_map()
        if not operation.from_transaction_check and self._is_too_late(half, properties):
            raise EngineError(ResponseCode.ILLEGAL_OPERATION, NO_REMARK)
        group = properties.get(props.PRODUCER_GROUP)
        if group is None:  # not a half message: upstream calls equals on null
            raise EngineError(ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")
        if group != operation.producer_group:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "The producer group wrong")
        if half.queue_offset != operation.tran_state_table_offset:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "The transaction state table offset wrong")
        return half

    def _is_too_late(self, half: Record, properties: dict[str, str]) -> bool:
        asked = properties.get(props.CHECK_IMMUNITY_TIME_IN_SECONDS)
        if not asked:
            return False
        age = self._scheduler.now_ms - half.born_timestamp
        return age > immunity_ms(asked, self._config.transaction_time_out)

    def _commit(self, half: Record) -> None:
        """Store a copy in the real topic; it still contains TRAN_MSG, REAL_TOPIC, REAL_QID and PGROUP."""
        message = copy_of(half)
        if not restore_original_queue(message):
            raise EngineError(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
        message.sys_flag = message.sys_flag & ~records.SYS_TRANSACTION_MASK | COMMIT
        message.prepared_transaction_offset = half.physical_offset
        if self._store.disk.full:
            raise EngineError(ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now.")
        self._store.put(message)
        counters, topic = self._counters, message.topic
        counters.committed[topic] += 1
        counters.half[topic] -= 1
        counters.finish_seconds[topic].record((self._scheduler.now_ms - half.born_timestamp) // 1000)

    @property
    def _counters(self) -> MetricCounters:
        return self._store.stats.by_name.counters
