"""Pop: reads the queues in upstream's order, delivers messages and records them in check points.

Source: PopMessageProcessor (5.3.3).
"""

from ..assembly.broker_context import Complete
from ..assembly.handlers import handles
from ..client.client_registry import ClientRegistry
from ..config import BrokerConfig
from ..filter.message_filter import (
    SQL92,
    MessageFilter,
    SqlError,
    build_subscription,
    filter_of,
    is_tag_type,
    parse_failed,
)
from ..gate.call import Call
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..kernel.java_numbers import LONG_MIN, long_sum
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.random_streams import RandomStream
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..message import stored_record as records
from ..message.names import pop_retry_topic
from ..message.receipt import ORDER_REVIVE_QUEUE, RETRY_V1, RETRY_V2, Receipt, topic_digit
from ..operations.base import PARKED, Parked, Result
from ..operations.consume import PopMessage, PoppedMessage, PopResult, PullStatus
from ..operations.topics import TopicConfig
from ..pull.queue_reader import QueueReader, Read
from ..store.refusals import illegal_capacity, illegal_queue_id
from ..topic.topic_table import PERM_READ
from .check_point import CheckPoint
from .consumer_order_info import OrderInfoTable
from .pop_batch import READ_AGAIN, PopBatch, reconsume_times_of, with_receipt
from .pop_inflight_counter import PopInflightCounter
from .pop_init_offset import PopInitOffsets
from .pop_kv_service import PopKvService, not_initialized
from .pop_long_polling import ParkOutcome, PopLongPolling
from .pop_merge_buffer import PopMergeBuffer
from .pop_wake_ups import WakeUps

MAX_MESSAGES = 32
TOO_OLD_MS = 500
"""A request that arrives more than this long after the end of its poll time is rejected."""
_PROGRESSED = (PullStatus.NO_MATCHED_MESSAGE, PullStatus.OFFSET_FOUND_NULL, PullStatus.MESSAGE_WAS_REMOVING)
"""Read outcomes without messages after which the offset of the group advances."""


@mypyc_attr(allow_interpreted_subclasses=True)
class PopService:
    """Handles the pop requests of one broker."""

    def __init__(  # noqa: PLR0913 - a pop enters its messages in every record of messages in flight
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        random: RandomStream,
        tables: BrokerTables,
        clients: ClientRegistry,
        init_offsets: PopInitOffsets,
        reader: QueueReader,
        orders: OrderInfoTable,
        buffer: PopMergeBuffer,
        in_flight: PopInflightCounter,
        kv_service: PopKvService | None,
        complete: Complete,
        polling: PopLongPolling[PopMessage],
        wake_ups: WakeUps,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._random = random
        self._store = tables.store
        self._topics = tables.topics
        self._groups = tables.groups
        self._clients = clients
        self._offsets = tables.offsets
        self._init_offsets = init_offsets
        self._reader = reader
        self._orders = orders
        self._buffer = buffer
        self._in_flight = in_flight
        self._kv_service = kv_service
        self._complete = complete
        self.wake_ups = wake_ups
        self._revive_turn = -1
        self.polling = polling
        self._resume_waiting = self._resume
        """The bound method `_resume`, which all waiting pops share to save memory."""

    @handles(PopMessage)
    def pop(self, call: Call, operation: PopMessage) -> Result | Parked:
        """Take messages, or wait for some. Errors, in upstream's order of checks:

        POLLING_TIMEOUT (the request is too old), NO_PERMISSION (broker), INVALID_PARAMETER (more than 32 messages),
        SYSTEM_ERROR (no timer wheel), TOPIC_NOT_EXIST, NO_PERMISSION (topic), INVALID_PARAMETER (queue id),
        SUBSCRIPTION_GROUP_NOT_EXIST, NO_PERMISSION (group), SUBSCRIPTION_PARSE_FAILED, SYSTEM_ERROR (negative number of
        messages).
        """
        now = self._scheduler.now_ms
        if operation.born_ms == 0:
            operation.born_ms = now
        topic = self._check(call, operation, now)
        message_filter = self._filter(operation)
        return self._pop_or_park(call, operation, topic, message_filter)

    def _resume(self, call: Call, operation: PopMessage) -> None:
        """Retry a waiting pop; it keeps waiting if there is time left and it finds nothing."""
        try:
            topic = self._topics.get(operation.topic)
            self._groups.get_enabled(operation.consumer_group)
            outcome: Result | Parked | EngineError = self._pop_or_park(call, operation, topic, self._filter(operation))
        except EngineError as refusal:
            outcome = refusal.with_traceback(None)
        if not isinstance(outcome, Parked):
            self._complete(call, operation, outcome)

    def _check(self, call: Call, operation: PopMessage, now: int) -> TopicConfig:
        config = self._config
        late_ms = now - operation.born_ms - operation.poll_ms
        # Upstream's difference wraps around as a Java long. The first comparison saves most pops the call.
        if not LONG_MIN <= late_ms <= TOO_OLD_MS and long_sum(late_ms, 0) > TOO_OLD_MS:
            raise self._refusal(ResponseCode.POLLING_TIMEOUT, "pop message is timeout too much")
        if not config.broker_permission & PERM_READ:
            raise self._refusal(ResponseCode.NO_PERMISSION, "pop message is forbidden")
        if operation.max_msg_nums > MAX_MESSAGES:
            raise self._refusal(ResponseCode.INVALID_PARAMETER, f"pop message's num is greater than {MAX_MESSAGES}")
        if not config.timer_wheel_enable:
            # PopMessageProcessor returns this error, while it throws all others with this code.
            raise self._refusal(
                ResponseCode.SYSTEM_ERROR, "pop message is forbidden because timerWheelEnable is false", answered=True
            )
        topic = self._topics.get(operation.topic)
        if not topic.perm & PERM_READ:
            raise EngineError(ResponseCode.NO_PERMISSION, f"the topic[{operation.topic}] peeking message is forbidden")
        if operation.queue_id >= topic.read_queue_nums:
            raise illegal_queue_id(call, operation.queue_id, topic, ResponseCode.INVALID_PARAMETER)
        self._groups.get_enabled(operation.consumer_group)
        return topic

    def _refusal(self, code: ResponseCode, text: str, **details: bool) -> EngineError:
        broker_ip = records.unpack_host(self._store.store_host)[0]
        return EngineError(code, f"the broker[{broker_ip}] {text}", **details)

    def _filter(self, operation: PopMessage) -> MessageFilter | None:
        group, topic = operation.consumer_group, operation.topic
        retry = pop_retry_topic(topic, group, v2=self._config.enable_retry_topic_v2)
        if not operation.exp:
            self._clients.compensate_pop(group, build_subscription(topic, "*"), retry)
            return None
        try:
            subscription = build_subscription(topic, operation.exp, operation.exp_type)
        except ValueError:
            raise parse_failed() from None
        # Upstream records the subscription of the group (compensateSubscribeData) even if it does not compile.
        self._clients.compensate_pop(group, subscription, retry)
        if not is_tag_type(operation.exp_type) and operation.exp_type != SQL92:
            raise parse_failed()
        try:
            return filter_of(subscription)
        except SqlError:
            raise parse_failed() from None

    # one pop

    def _pop_or_park(
        self, call: Call, operation: PopMessage, topic: TopicConfig, message_filter: MessageFilter | None
    ) -> Result | Parked:
        batch = self._collect(operation, topic, message_filter)
        # One read examines a limited number of entries of the consume queue, so that it can find nothing although
        # matching messages remain. A pop that may wait reads again at once.
        waits = (
            not batch.messages
            and operation.max_msg_nums > 0
            and self._scheduler.now_ms < long_sum(operation.born_ms, operation.poll_ms)
        )
        while waits and batch.rest_num > 0 and not batch.messages:
            before = self._read_so_far(operation, topic)
            batch = self._collect(operation, topic, message_filter)
            # If no offset has moved, the remaining messages are withheld, such as those of a queue with too many in
            # flight. Upstream would go on reading.
            waits = self._read_so_far(operation, topic) != before
        if batch.messages:
            if batch.rest_num > 0:
                self.wake_ups.wake_next(operation.topic, operation.consumer_group, operation.queue_id)
            self._reader.count_delivery(operation.topic, operation.consumer_group, operation.queue_id)
            return self._result(ResponseCode.SUCCESS, batch, "FOUND")
        parked = self.polling.park(call, operation, message_filter, operation.born_ms, resume=self._resume_waiting)
        if parked is ParkOutcome.WAITING:
            return PARKED
        code = ResponseCode.POLLING_FULL if parked is ParkOutcome.FULL else ResponseCode.POLLING_TIMEOUT
        return self._result(code, batch, "NO_MESSAGE_IN_QUEUE")

    def _read_so_far(self, operation: PopMessage, topic: TopicConfig) -> list[tuple[int, int]]:
        """Return, for each queue of the topic, the offset at which the group reads next and its pull offset."""
        group, name = operation.consumer_group, topic.topic_name
        return [
            (
                self._buffer.next_read_offset((name, group, queue_id), self._offsets.query(group, name, queue_id)),
                self._offsets.pull_offset(group, name, queue_id),
            )
            for queue_id in range(topic.read_queue_nums)
        ]

    def _collect(self, operation: PopMessage, topic: TopicConfig, message_filter: MessageFilter | None) -> PopBatch:
        """Read the queues in upstream's order: the retry topic first with a certain probability, else last."""
        config = self._config
        if operation.max_msg_nums < 0:
            raise illegal_capacity(operation.max_msg_nums)
        if config.pop_consumer_kv_service_enable:
            return self._collect_records(operation, topic, message_filter)
        draw = self._random.below(100)
        if operation.order:
            revive_qid = ORDER_REVIVE_QUEUE
        else:
            self._revive_turn += 1
            revive_qid = self._revive_turn % config.revive_queue_num
        batch = PopBatch(operation, message_filter, self._scheduler.now_ms, revive_qid)
        retry_first = draw < config.pop_from_retry_probability and not operation.order
        if retry_first:
            self._collect_retry(batch, draw)
        digit = topic_digit(operation.topic)
        if operation.queue_id < 0:
            for step in range(topic.read_queue_nums):
                self._collect_queue(batch, topic.topic_name, (draw + step) % topic.read_queue_nums, digit)
        else:
            self._collect_queue(batch, topic.topic_name, operation.queue_id, digit)
        if not retry_first and not operation.order and batch.free_slots > 0:
            self._collect_retry(batch, draw)
        return batch

    def _collect_records(
        self, operation: PopMessage, topic: TopicConfig, message_filter: MessageFilter | None
    ) -> PopBatch:
        if self._kv_service is None:
            raise not_initialized()
        revive_qid = ORDER_REVIVE_QUEUE if operation.order else 0
        batch = PopBatch(operation, message_filter, self._scheduler.now_ms, revive_qid)
        self._kv_service.collect(batch, topic)
        return batch

    def _collect_retry(self, batch: PopBatch, draw: int) -> None:
        config, operation = self._config, batch.operation
        v2 = config.enable_retry_topic_v2
        if v2 and config.retrieve_message_from_pop_retry_topic_v1 and draw % 2 == 0:
            v2 = False
        name = pop_retry_topic(operation.topic, operation.consumer_group, v2=v2)
        retry = self._topics.find(name)
        if retry is None:
            return
        digit = RETRY_V2 if v2 else RETRY_V1
        for step in range(retry.read_queue_nums):
            self._collect_queue(batch, name, (draw + step) % retry.read_queue_nums, digit)

    def _collect_queue(self, batch: PopBatch, topic: str, queue_id: int, digit: int) -> None:
        operation = batch.operation
        group = operation.consumer_group
        offset = self._read_offset(topic, group, queue_id, operation.init_mode)
        group_queue = (topic, group, queue_id)
        if self._in_flight.exceeds_threshold(group_queue):
            batch.rest_num += max(self._store.max_offset(topic, queue_id) - offset, 0)
            return
        if operation.order:
            if self._orders.blocks(group_queue, operation.attempt_id, operation.invisible_ms):
                return
            self._in_flight.clear(group_queue)
        if batch.free_slots <= 0:
            batch.rest_num += max(self._store.max_offset(topic, queue_id) - offset, 0)
            return
        read = batch.read(self._reader, topic, queue_id, offset)
        if read.status in READ_AGAIN:
            self._offsets.commit(group, topic, queue_id, read.next_offset)
            read = batch.read(self._reader, topic, queue_id, read.next_offset)
        if read.status is PullStatus.FOUND:
            self._deliver(batch, topic, queue_id, digit, offset, read)
        elif read.status in _PROGRESSED and operation.order:
            self._offsets.commit(group, topic, queue_id, read.next_offset)
        elif read.status in _PROGRESSED:
            self._buffer.advance_offset(group_queue, read.next_offset)
        batch.rest_num += max(read.max_offset - read.next_offset, 0)

    def _read_offset(self, topic: str, group: str, queue_id: int, init_mode: int) -> int:
        """Return the offset at which the group reads next.

        A pending offset reset is applied; the start offset of a new group is committed.
        """
        reset = self._init_offsets.take_reset(topic, group, queue_id)
        if reset is not None:
            self._buffer.clear((topic, group, queue_id))
            return reset
        offset = self._offsets.query(group, topic, queue_id)
        if offset < 0:
            offset = self._init_offsets.init_offset(topic, group, queue_id, init_mode)
        return self._buffer.next_read_offset((topic, group, queue_id), offset)

    def _deliver(self, batch: PopBatch, topic: str, queue_id: int, digit: int, start_offset: int, read: Read) -> None:  # noqa: PLR0917 - once per queue of a pop; keywords would cost time
        operation = batch.operation
        group = operation.consumer_group
        if operation.order:
            entries = self._orders.record_batch(
                (topic, group, queue_id),
                batch.pop_time,
                operation.invisible_ms,
                list(read.offsets),
                attempt_id=operation.attempt_id,
            )
            batch.counts += [f"{digit} {entry}" for entry in entries]
            self._offsets.commit(group, topic, queue_id, start_offset)
        else:
            point = CheckPoint(
                topic,
                group,
                queue_id,
                start_offset,
                batch.pop_time,
                operation.invisible_ms,
                self._config.broker_name,
                [offset - start_offset for offset in read.offsets],
            )
            self._store.stats.count_check_point(operation.topic, group)
            if not self._buffer.add(point, batch.revive_qid, read.next_offset):
                return  # without a check point the messages are not delivered and the offset stays
        self._in_flight.add((topic, group, queue_id), len(read.offsets))
        batch.add_header_info(queue_id, digit, start_offset, read)
        changes_topic = topic != operation.topic and not self._config.pop_response_return_actual_retry_topic
        add = batch.messages.append
        for record, offset, physical in zip(read.records, read.offsets, read.physical_offsets, strict=True):
            times = reconsume_times_of(record)
            if changes_topic:
                receipt = Receipt(
                    start_offset,
                    batch.pop_time,
                    operation.invisible_ms,
                    batch.revive_qid,
                    str(digit),
                    self._config.broker_name,
                    queue_id,
                    offset,
                )
                record = with_receipt(record, operation.topic, receipt)
            add(PoppedMessage(record, digit, queue_id, offset, start_offset, physical, times))

    def _result(self, code: ResponseCode, batch: PopBatch, remark: str) -> PopResult:
        operation, records_only = batch.operation, self._config.pop_consumer_kv_service_enable
        return PopResult(
            code,
            batch.pop_time,
            operation.invisible_ms,
            batch.revive_qid,
            batch.rest_num,
            batch.messages,
            ";".join(batch.starts),
            ";".join(batch.offsets),
            ";".join(batch.counts) if operation.order and (batch.counts or not records_only) else None,
            remark,
        )
