"""Notifications (wait until a pop would find messages), peeks, and the count of waiting pops.

Source: NotificationProcessor, PeekMessageProcessor, PollingInfoProcessor (5.3.3).
"""

from collections.abc import Iterator

from ..assembly.broker_context import Complete
from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.call import Call
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..kernel.random_streams import RandomStream
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler, Timer
from ..message import stored_record as records
from ..message.names import pop_retry_topic
from ..message.receipt import topic_digit
from ..operations.base import PARKED, Parked, Result
from ..operations.consume import (
    Notification,
    NotificationResult,
    PeekMessage,
    PollingInfo,
    PollingInfoResult,
    PopMessage,
    PoppedMessage,
    PopResult,
    PullStatus,
)
from ..operations.topics import TopicConfig
from ..pull.queue_reader import QueueReader
from ..store.refusals import illegal_capacity, illegal_queue_id
from ..topic.topic_table import PERM_READ
from .consumer_order_info import OrderInfoTable
from .pop_long_polling import ParkOutcome, PopLongPolling
from .pop_merge_buffer import PopMergeBuffer

PEEKS_TO_RETRY_FIRST = 5
"""One in this many peeks reads the retry topic first (PeekMessageProcessor.processRequest, 5.3.3)."""
_READ_AGAIN = (PullStatus.OFFSET_TOO_SMALL, PullStatus.OFFSET_OVERFLOW_BADLY)
"""Read outcomes after which a peek reads once more from the corrected offset."""


class NotificationService:
    """Handles the NOTIFICATION, PEEK_MESSAGE and POLLING_INFO requests of one broker."""

    def __init__(  # noqa: PLR0913 - looks for messages exactly where a pop does
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        random: RandomStream,
        tables: BrokerTables,
        reader: QueueReader,
        orders: OrderInfoTable,
        buffer: PopMergeBuffer,
        pops: PopLongPolling[PopMessage],
        complete: Complete,
        polling: PopLongPolling[Notification],
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._random = random
        self._store = tables.store
        self._topics = tables.topics
        self._groups = tables.groups
        self._offsets = tables.offsets
        self._reader = reader
        self._orders = orders
        self._buffer = buffer
        self._pops = pops
        self._complete = complete
        self.polling = polling
        self._resume_waiting = self._resume
        """The bound method `_resume`, which all waiting notifications share to save memory."""

    @handles(Notification)
    def notify(self, call: Call, operation: Notification) -> Result | Parked:
        """Report that messages are available, or wait for them.

        Errors, in upstream's order of checks: NO_PERMISSION (broker), TOPIC_NOT_EXIST, NO_PERMISSION (topic),
        INVALID_PARAMETER (queue id), SUBSCRIPTION_GROUP_NOT_EXIST, NO_PERMISSION (group).
        """
        if operation.born_ms == 0:
            operation.born_ms = self._scheduler.now_ms
        topic = self._check(call, operation.topic, operation.consumer_group, operation.queue_id)
        if self._has_message(operation, topic):
            return NotificationResult(True)
        parked = self.polling.park(call, operation, None, operation.born_ms, resume=self._resume_waiting)
        if parked is ParkOutcome.WAITING:
            return PARKED
        return NotificationResult(False, polling_full=parked is ParkOutcome.FULL)

    def _resume(self, call: Call, operation: Notification) -> None:
        try:
            outcome: Result | Parked | EngineError = self.notify(call, operation)
        except EngineError as refusal:
            outcome = refusal.with_traceback(None)
        if not isinstance(outcome, Parked):
            self._complete(call, operation, outcome)

    def _has_message(self, operation: Notification, topic: TopicConfig) -> bool:
        # Upstream examines the retry topic first in one of five requests. The result does not depend on the order.
        group = operation.consumer_group
        config = self._config
        forms = [config.enable_retry_topic_v2]
        if config.enable_retry_topic_v2 and config.retrieve_message_from_pop_retry_topic_v1:
            forms.append(False)
        for v2 in forms:
            name = pop_retry_topic(operation.topic, group, v2=v2)
            retry = self._topics.find(name)
            if retry is not None and any(
                self._queue_has_message(operation, name, queue_id) for queue_id in range(retry.read_queue_nums)
            ):
                return True
        queue_ids = [operation.queue_id] if operation.queue_id >= 0 else range(topic.read_queue_nums)
        return any(self._queue_has_message(operation, operation.topic, queue_id) for queue_id in queue_ids)

    def _queue_has_message(self, operation: Notification, topic: str, queue_id: int) -> bool:
        group = operation.consumer_group
        # For the retry topic, too, upstream checks the ordered batch of the queue with this id in the normal topic.
        group_queue = (operation.topic, group, queue_id)
        if operation.order and self._orders.blocks(group_queue, operation.attempt_id, 0):
            return False
        offset = self._offset_of(group, topic, queue_id)
        if self._config.pop_consumer_kv_service_enable:
            offset = max(self._offsets.pull_offset(group, topic, queue_id), offset)
        else:
            offset = self._buffer.next_read_offset((topic, group, queue_id), offset)
        return self._store.max_offset(topic, queue_id) > offset

    def _offset_of(self, group: str, topic: str, queue_id: int) -> int:
        offset = self._offsets.query(group, topic, queue_id)
        return offset if offset >= 0 else self._store.min_offset(topic, queue_id)

    def delivering_poll_ends(self) -> Iterator[Timer]:
        """Yield the timers of long polls whose end will deliver messages that are already stored.

        A poll can wait although they are stored: no pop is woken by an offset reset, or by a message that becomes
        visible again, unless wakePollOnRedelivery is set.
        """
        known: dict[tuple[str, str, int], bool] = {}
        for polling in self._pops.waiting():
            pop = polling.operation
            group_queue = (pop.topic, pop.consumer_group, max(pop.queue_id, -1))
            if pop.order:
                found = self._ordered_pop_finds(pop)
            elif group_queue in known:
                found = known[group_queue]
            else:
                topic, group, queue_id = group_queue
                found = known[group_queue] = self._finds(Notification(group, topic, queue_id, 0, 0))
            if found and polling.timer is not None and polling.call.active:
                yield polling.timer
        for waiting in self.polling.waiting():
            if waiting.timer is not None and waiting.call.active and self._finds(waiting.operation):
                yield waiting.timer

    def _finds(self, operation: Notification) -> bool:
        topic = self._topics.find(operation.topic)
        return topic is not None and self._has_message(operation, topic)

    def _ordered_pop_finds(self, pop: PopMessage) -> bool:
        """True if an ordered pop would find a message; it does not read the retry topic."""
        topic = self._topics.find(pop.topic)
        asked = Notification(pop.consumer_group, pop.topic, pop.queue_id, 0, 0, order=True, attempt_id=pop.attempt_id)
        return topic is not None and any(
            self._queue_has_message(asked, pop.topic, queue_id)
            for queue_id in ([pop.queue_id] if pop.queue_id >= 0 else range(topic.read_queue_nums))
        )

    @handles(PeekMessage)
    def peek(self, call: Call, operation: PeekMessage) -> PopResult:
        """Return the messages that a pop would read, without taking them; with PULL_NOT_FOUND if there are none.

        Errors: those of a notification, SYSTEM_ERROR (negative number of messages).
        """
        topic = self._check(call, operation.topic, operation.consumer_group, operation.queue_id)
        if operation.max_msg_nums < 0:
            raise illegal_capacity(operation.max_msg_nums)
        draw = self._random.below(100)
        # Peek has its own probability; popFromRetryProbability applies to pops only.
        retry_first = draw % PEEKS_TO_RETRY_FIRST == 0
        name, group = operation.topic, operation.consumer_group
        retry = self._topics.find(pop_retry_topic(name, group, v2=self._config.enable_retry_topic_v2))
        found: list[PoppedMessage] = []
        rest = 0
        if retry_first and retry is not None:
            rest += self._peek_topic(operation, retry, draw, found)
        if operation.queue_id < 0:
            rest += self._peek_topic(operation, topic, draw, found)
        else:
            rest += self._peek_queue(operation, name, operation.queue_id, found)
        if not retry_first and retry is not None and len(found) < operation.max_msg_nums:
            rest += self._peek_topic(operation, retry, draw, found)
        if not found:
            return PopResult(
                ResponseCode.PULL_NOT_FOUND, 0, 0, 0, rest, [], remark=PullStatus.NO_MESSAGE_IN_QUEUE.value
            )
        self._reader.count_delivery(operation.topic, group, operation.queue_id)
        return PopResult(ResponseCode.SUCCESS, 0, 0, 0, rest, found, remark=PullStatus.FOUND.value)

    def _peek_topic(self, operation: PeekMessage, topic: TopicConfig, draw: int, found: list[PoppedMessage]) -> int:
        """Peek all queues of a topic, from a random one on. Returns the number of messages as `_peek_queue` does."""
        count = topic.read_queue_nums
        queue_ids = [(draw + step) % count for step in range(count)]
        return sum(self._peek_queue(operation, topic.topic_name, queue_id, found) for queue_id in queue_ids)

    def _peek_queue(self, operation: PeekMessage, name: str, queue_id: int, found: list[PoppedMessage]) -> int:
        """Add messages of a queue to `found` until it is full.

        Returns the number of messages after the offset of the group. The returned messages count as well, because peek
        takes nothing. The number is negative for an offset beyond the end.
        """
        group = operation.consumer_group
        offset = self._offset_of(group, name, queue_id)
        offset = self._buffer.next_read_offset((name, group, queue_id), offset)
        rest = self._store.max_offset(name, queue_id) - offset
        room = operation.max_msg_nums - len(found)
        if room <= 0:
            return rest
        read = self._reader.read(name, queue_id, offset, room, None, group)
        if read.status in _READ_AGAIN:
            offset = read.next_offset
            read = self._reader.read(name, queue_id, offset, room, None, group)
        for record, at, physical in zip(read.records, read.offsets, read.physical_offsets, strict=True):
            times = records.decode(record).reconsume_times
            found.append(PoppedMessage(record, topic_digit(name), queue_id, at, offset, physical, times))
        return rest

    @handles(PollingInfo)
    def polling_info(self, call: Call, operation: PollingInfo) -> PollingInfoResult:
        """Return the number of pops that wait for a topic, group and queue id. Errors: those of a notification."""
        self._check(call, operation.topic, operation.consumer_group, operation.queue_id)
        return PollingInfoResult(self._pops.count(operation.topic, operation.consumer_group, operation.queue_id))

    def _check(self, call: Call, topic_name: str, group: str, queue_id: int) -> TopicConfig:
        broker_ip = records.unpack_host(self._store.store_host)[0]
        if not self._config.broker_permission & PERM_READ:
            raise EngineError(ResponseCode.NO_PERMISSION, f"the broker[{broker_ip}] peeking message is forbidden")
        topic = self._topics.get(topic_name)
        if not topic.perm & PERM_READ:
            raise EngineError(ResponseCode.NO_PERMISSION, f"the topic[{topic_name}] peeking message is forbidden")
        if queue_id >= topic.read_queue_nums:
            raise illegal_queue_id(call, queue_id, topic, ResponseCode.INVALID_PARAMETER)
        self._groups.get_enabled(group)
        return topic
