"""Acknowledges popped messages and changes their invisible duration.

The broker checks neither owner nor expiry of a receipt handle: an acknowledgement that matches nothing succeeds without
effect. Source: AckMessageProcessor, ChangeInvisibleTimeProcessor (5.3.3).
"""

from collections.abc import Callable

from ..assembly.handlers import handles
from ..client.consumption import acknowledged_between
from ..config import BrokerConfig
from ..gate.call import Call
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..message.receipt import (
    ORDER_REVIVE_QUEUE,
    Receipt,
    broker_of,
    parse_extra_info,
    parse_for_record,
    real_topic,
    revive_queue_of,
)
from ..operations.base import DONE, Done
from ..operations.consume import (
    AckMessage,
    BatchAck,
    BatchAckMessage,
    ChangeInvisibleResult,
    ChangeInvisibleTime,
    RollBackPops,
)
from ..store.refusals import illegal_queue_id
from .check_point import Ack, CheckPoint
from .consumer_order_info import OrderInfoTable
from .pop_inflight_counter import PopInflightCounter
from .pop_kv_records import PopRecord
from .pop_kv_service import PopKvService, not_initialized
from .pop_merge_buffer import PopMergeBuffer
from .revive_log import ReviveLog

MAX_POP_TIME_AHEAD_MS = 1000
"""A receipt handle whose pop time is at least this far ahead of the clock is forged (ms)."""

WakePops = Callable[[str, str, int], None]
"""Called with topic, group and queue id to wake the pops that wait for the queue."""


class AckService:
    """Handles acknowledgements and changes of the invisible duration of one broker."""

    def __init__(  # noqa: PLR0913 - an acknowledgement may be in any record of messages in flight
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        tables: BrokerTables,
        orders: OrderInfoTable,
        log: ReviveLog,
        buffer: PopMergeBuffer,
        in_flight: PopInflightCounter,
        kv_service: PopKvService | None,
        wake_pops: WakePops,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = tables.store
        self._topics = tables.topics
        self._offsets = tables.offsets
        self._orders = orders
        self._log = log
        self._buffer = buffer
        self._in_flight = in_flight
        self._kv_service = kv_service
        self._wake_pops = wake_pops

    @handles(AckMessage)
    def ack(self, call: Call, operation: AckMessage) -> Done:
        """Acknowledge one message.

        Errors: TOPIC_NOT_EXIST, MESSAGE_ILLEGAL (queue id, offset that is not in the ordered batch), NO_MESSAGE (offset
        outside the queue), SYSTEM_ERROR (malformed handle).
        """
        topic, group = operation.topic, operation.consumer_group
        queue_id, offset = operation.queue_id, operation.offset
        self._check_queue(call, topic, queue_id)
        low, high = self._store.offsets_of(topic, queue_id)
        if not low <= offset <= high:
            raise EngineError(
                ResponseCode.NO_MESSAGE,
                f"offset is illegal, key:{topic}@{queue_id}, commit:{offset}, store:{low}~{high}",
            )
        parse = parse_for_record if self._config.pop_consumer_kv_service_enable else parse_extra_info
        receipt = parse(operation.extra_info)
        if receipt.revive_qid == ORDER_REVIVE_QUEUE:
            self._count_ordered(topic, group, 1)
            self._ack_ordered(call, operation, receipt)
        else:
            self._write(topic, group, queue_id, receipt, [offset], batch=False)
            self._in_flight.subtract((topic, group, queue_id), receipt.pop_time)
        return DONE

    @handles(BatchAckMessage)
    def batch_ack(self, call: Call, operation: BatchAckMessage) -> Done:
        """Acknowledge messages of several check points; skip offsets outside their queue.

        Errors: NO_MESSAGE (no entries), MESSAGE_ILLEGAL (offset that is not in the ordered batch), SYSTEM_ERROR (topic
        digit not 0, 1 or 2). Entries before the one with an error are acknowledged.
        """
        if not operation.acks:
            raise EngineError(ResponseCode.NO_MESSAGE, None)
        for entry in operation.acks:
            self._ack_entry(call, entry)
        return DONE

    def _ack_entry(self, call: Call, entry: BatchAck) -> None:
        topic = real_topic(entry.topic, entry.consumer_group, entry.retry)
        if self._topics.find(topic) is None:
            return
        low, high = self._store.min_offset(topic, entry.queue_id), self._store.max_offset(topic, entry.queue_id)
        offsets = acknowledged_between(entry.start_offset, entry.bits, low, high)
        if not offsets:
            return
        receipt = Receipt(
            entry.start_offset,
            entry.pop_time,
            entry.invisible_ms,
            entry.revive_qid,
            entry.retry,
            self._config.broker_name,
            entry.queue_id,
            -1,
        )
        if entry.revive_qid == ORDER_REVIVE_QUEUE:
            self._count_ordered(topic, entry.consumer_group, len(offsets))
            for offset in offsets:
                single = AckMessage(entry.consumer_group, topic, entry.queue_id, receipt.text(), offset)
                self._ack_ordered(call, single, receipt)
        else:
            self._write(topic, entry.consumer_group, entry.queue_id, receipt, offsets, batch=True)
            self._in_flight.subtract((topic, entry.consumer_group, entry.queue_id), receipt.pop_time, len(offsets))

    def _write(  # noqa: PLR0917 - once per acknowledgement; keywords would cost time
        self, topic: str, group: str, queue_id: int, receipt: Receipt, offsets: list[int], *, batch: bool
    ) -> None:
        stats = self._store.stats
        if len(offsets) == 1:
            stats.count_acknowledgement(topic, group)
        else:
            stats.by_name.count_acked(topic, group, len(offsets))
        if self._config.pop_consumer_kv_service_enable:
            for offset in offsets:
                self._require_kv_service().acknowledge(_record_of(topic, group, queue_id, receipt, offset=offset))
            return
        ack = Ack(topic, group, queue_id, receipt.start_offset, receipt.pop_time, receipt.broker_name, offsets)
        if self._buffer.acknowledge(ack):
            return
        revive_qid = receipt.revive_qid
        if not 0 <= revive_qid < self._config.revive_queue_num:
            return  # upstream stores it in a queue that no revive service reads
        self._log.write_ack(ack, revive_qid, receipt.next_visible_ms, self._scheduler.now_ms, batch=batch)

    def _count_ordered(self, topic: str, group: str, messages: int) -> None:
        """Count acknowledgements of ordered messages in the statistics, as upstream does only with KV records."""
        if self._config.pop_consumer_kv_service_enable:
            self._store.stats.by_name.count_acked(topic, group, messages)

    def _require_kv_service(self) -> PopKvService:
        if self._kv_service is None:
            raise not_initialized()
        return self._kv_service

    def _ack_ordered(self, call: Call, operation: AckMessage, receipt: Receipt) -> None:
        topic, group, queue_id = operation.topic, operation.consumer_group, operation.queue_id
        committed = self._offsets.query(group, topic, queue_id)
        if operation.offset < committed:
            return
        following = self._orders.acknowledge((topic, group, queue_id), receipt.pop_time, operation.offset)
        if following == OrderInfoTable.STALE:
            return
        if following == OrderInfoTable.UNKNOWN_OFFSET:
            address, port = call.channel.remote_address
            records_only = self._config.pop_consumer_kv_service_enable
            key = f"{group} {topic} {queue_id}" if records_only else f"{topic}@{group}@{queue_id}"
            raise EngineError(
                ResponseCode.MESSAGE_ILLEGAL,
                f"offset is illegal, key:{key}, old:{committed}, commit:{operation.offset}, next:-1, /{address}:{port}",
            )
        self._in_flight.subtract((topic, group, queue_id), receipt.pop_time)
        if self._offsets.pending_reset(group, topic, queue_id) is None:
            self._offsets.commit(group, topic, queue_id, following)
        if not self._orders.blocks((topic, group, queue_id), None, receipt.invisible_ms):
            self._wake_pops(topic, group, queue_id)

    @handles(ChangeInvisibleTime)
    def change_invisible(self, call: Call, operation: ChangeInvisibleTime) -> ChangeInvisibleResult:
        """Change the invisible duration of a message, counted from now.

        Stores a new check point first, then acknowledges the old one. Errors: TOPIC_NOT_EXIST, MESSAGE_ILLEGAL (queue
        id), NO_MESSAGE (offset outside the queue), SYSTEM_ERROR.
        """
        self._check_queue(call, operation.topic, operation.queue_id)
        topic, group, queue_id = operation.topic, operation.consumer_group, operation.queue_id
        low, high = self._store.min_offset(topic, queue_id), self._store.max_offset(topic, queue_id)
        if not low <= operation.offset < high:
            raise EngineError(ResponseCode.NO_MESSAGE, None)
        revive_qid = revive_queue_of(operation.extra_info)
        if revive_qid == ORDER_REVIVE_QUEUE:
            return self._change_ordered(operation, parse_extra_info(operation.extra_info))
        if self._config.pop_consumer_kv_service_enable:
            receipt = parse_extra_info(operation.extra_info)
            now = self._scheduler.now_ms
            self._require_kv_service().change(
                _record_of(topic, group, queue_id, receipt, offset=operation.offset),
                PopRecord(now, group, topic, queue_id, operation.invisible_ms, operation.offset),
            )
            return ChangeInvisibleResult(now, operation.invisible_ms, receipt.revive_qid)
        refusal = None
        pop_time = self._scheduler.now_ms
        try:
            receipt = parse_extra_info(operation.extra_info)
            # The injected clock may not advance between a pop and its changes; their check points must not share a key.
            if pop_time <= receipt.pop_time < pop_time + MAX_POP_TIME_AHEAD_MS:
                pop_time = receipt.pop_time + 1
        except EngineError as error:
            # Upstream parses the rest of the handle only after it has stored the new check point.
            refusal = EngineError(error.code, None)
        point = CheckPoint(
            topic,
            group,
            queue_id,
            operation.offset,
            pop_time,
            operation.invisible_ms,
            broker_of(operation.extra_info),
            [0],
        )
        is_revived = 0 <= revive_qid < self._config.revive_queue_num
        if is_revived and not self._log.write_check_point(point, revive_qid):
            raise EngineError(ResponseCode.SYSTEM_ERROR, None)
        self._store.stats.count_check_point(topic, group)
        if refusal is not None:
            raise refusal
        if is_revived:
            self._write(topic, group, queue_id, receipt, [operation.offset], batch=False)
        return ChangeInvisibleResult(pop_time, operation.invisible_ms, revive_qid)

    def _change_ordered(self, operation: ChangeInvisibleTime, receipt: Receipt) -> ChangeInvisibleResult:
        topic, group, queue_id = operation.topic, operation.consumer_group, operation.queue_id
        if operation.offset < self._offsets.query(group, topic, queue_id):
            return ChangeInvisibleResult(0, 0, 0)
        until = self._scheduler.now_ms + operation.invisible_ms
        self._orders.change((topic, group, queue_id), receipt.pop_time, operation.offset, until)
        return ChangeInvisibleResult(receipt.pop_time, until - receipt.pop_time, receipt.revive_qid)

    @handles(RollBackPops)
    def roll_back(self, call: Call, operation: RollBackPops) -> Done:
        """Convert each KV record into a check point of its own, in the revive queue message offset % reviveQueueNum.

        A receipt handle contains the offset at which its pop began to read, and only matches a check point that starts
        there. So of the messages of one pop, only the one at this offset can still be acknowledged.
        """
        for record in self._kv_service.take_all() if self._kv_service is not None else ():
            point = CheckPoint(
                record.topic,
                record.group,
                record.queue_id,
                record.offset,
                record.pop_time,
                record.invisible_ms,
                self._config.broker_name,
                [0],
            )
            self._log.write_check_point(point, record.offset % self._config.revive_queue_num)
        return DONE

    def _check_queue(self, call: Call, topic: str, queue_id: int) -> None:
        config = self._topics.get(topic)
        if not 0 <= queue_id < config.read_queue_nums:
            raise illegal_queue_id(call, queue_id, config, ResponseCode.MESSAGE_ILLEGAL)


def _record_of(topic: str, group: str, queue_id: int, receipt: Receipt, *, offset: int) -> PopRecord:
    return PopRecord(receipt.pop_time, group, topic, queue_id, receipt.invisible_ms, offset)
