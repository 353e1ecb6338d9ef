"""Failed messages: sends them to the retry topic of the group with a delay level, or to its dead letter queue.

Source: AbstractSendMessageProcessor.consumerSendMsgBack, SendMessageProcessor.handleRetryAndDLQ (5.3.3).
"""

from ..assembly.handlers import handles
from ..client.queue_locks import QueueLocks
from ..config import BrokerConfig
from ..gate.call import Call
from ..group.broker_tables import BrokerTables
from ..kernel.errors import FAQ, EngineError
from ..kernel.random_streams import RandomStream
from ..kernel.response_code import ResponseCode
from ..message import names
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import MessageToStore
from ..message.message_copies import copy_of
from ..message.stored_record import Record
from ..operations.base import Done
from ..operations.groups import GroupConfig
from ..operations.send import SendMessage, SendMessageBack
from ..operations.topics import TopicConfig
from ..store.refusals import checked_record_at, refuse_to_store
from ..store.write_buffers import TransientStorePool
from ..topic.topic_table import HAS_UNIT_SUBSCRIBERS, PERM_WRITE

FIRST_RETRY_LEVEL = 3
"""Delay level after the first failure (10 s); each further failure uses the next level."""
DLQ_QUEUES = 1


class RetryService:
    """Chooses between retry topic and dead letter queue for one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        tables: BrokerTables,
        locks: QueueLocks,
        transient_store_pool: TransientStorePool,
        random: RandomStream,
    ) -> None:
        self._config = config
        self._store = tables.store
        self._topics = tables.topics
        self._groups = tables.groups
        self._locks = locks
        self._transient_store_pool = transient_store_pool
        self._random = random

    # a consumer sends a message back

    @handles(SendMessageBack)
    def send_back(self, call: Call, operation: SendMessageBack) -> Done:
        """Store a copy for a later retry, or in the dead letter queue after too many.

        If the group has no retry queues, the message is dropped and the response is SUCCESS. Errors:
        SUBSCRIPTION_GROUP_NOT_EXIST, NO_PERMISSION (broker or retry topic), SYSTEM_BUSY on a slave and if there are no
        write buffers (`TransientStorePool`). SYSTEM_ERROR if there is no such message, no origin topic for the dead
        letter queue, or the copy cannot be stored.
        """
        if not operation.through_proxy:
            self._transient_store_pool.refuse_to_send()
        group = self._group(operation.group)
        if not self._config.broker_permission & PERM_WRITE:
            ip = records.unpack_host(self._store.store_host)[0]
            raise EngineError(ResponseCode.NO_PERMISSION, f"the broker[{ip}] sending message is forbidden")
        if group.retry_queue_nums <= 0:
            return Done()
        unit = HAS_UNIT_SUBSCRIBERS if operation.unit_mode else 0
        name = names.retry_topic(operation.group)
        retry = self._topics.create_internal(name, group.retry_queue_nums, sys_flag=unit)
        queue_id = self._random.below(group.retry_queue_nums)
        self._check_writable(retry)
        stored = checked_record_at(self._store.log, operation.offset)
        if stored is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {operation.offset}")
        message = self._copy(records.decode(stored), operation, group, queue_id)
        try:
            refuse_to_store(self._config, self._store)
            put = self._store.put(message)
        except EngineError as refusal:
            raise EngineError(ResponseCode.SYSTEM_ERROR, refusal.code.name) from None
        came_from = message.properties[props.RETRY_TOPIC]
        by_name = self._store.stats.by_name
        by_name.count_sent_back(came_from, operation.group)
        if message.topic == names.SCHEDULE_TOPIC:
            by_name.count_delayed(message.queue_id, 1, put.size)
        else:
            by_name.count_dead_letter(operation.origin_topic, operation.group)
        return Done()

    def _copy(self, record: Record, operation: SendMessageBack, group: GroupConfig, queue_id: int) -> MessageToStore:
        message = copy_of(record)
        properties = message.properties
        properties.setdefault(props.RETRY_TOPIC, record.topic)
        properties[props.WAIT] = "false"
        properties.setdefault(
            props.ORIGIN_MESSAGE_ID, records.offset_message_id(record.store_host, record.physical_offset)
        )
        most = group.retry_max_times if operation.max_reconsume_times is None else operation.max_reconsume_times
        if record.reconsume_times >= most or operation.delay_level < 0:
            if operation.origin_topic is None:
                raise EngineError(ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")
            self._to_dead_letters(message, operation.group)
            properties[props.DELAY] = "0"
        else:
            message.topic, message.queue_id = names.retry_topic(operation.group), queue_id
            properties[props.DELAY] = str(operation.delay_level or FIRST_RETRY_LEVEL + record.reconsume_times)
        message.reconsume_times += 1
        return message

    # a producer or a consumer sends to a retry topic

    def redirect(self, message: MessageToStore, operation: SendMessage) -> None:
        """Redirect a message for a retry topic to the dead letter queue of its group if it must not be retried.

        It gets no delay then. It must not be retried after too many reconsumptions, nor while an orderly consumer of
        the group holds a lock.
        Errors: SUBSCRIPTION_GROUP_NOT_EXIST.
        """
        name = names.group_of_retry_topic(operation.topic)
        group = self._group(name)
        most = group.retry_max_times if operation.max_reconsume_times is None else operation.max_reconsume_times
        if operation.reconsume_times > most or self._locks.any_held(name):
            self._to_dead_letters(message, name)
            message.properties[props.DELAY] = "-1"
            self._store.stats.by_name.counters.dead_letters[operation.producer_group, operation.topic] += 1

    def _to_dead_letters(self, message: MessageToStore, group: str) -> None:
        topic = names.dlq_topic(group)
        self._topics.create_internal(topic, DLQ_QUEUES)
        message.topic, message.queue_id = topic, self._random.below(DLQ_QUEUES)

    def _group(self, name: str) -> GroupConfig:
        group = self._groups.find_or_create(name)
        if group is None:
            raise EngineError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {name} \n{FAQ}"
            )
        return group

    @staticmethod
    def _check_writable(topic: TopicConfig) -> None:
        if not topic.perm & PERM_WRITE:
            raise EngineError(ResponseCode.NO_PERMISSION, f"the topic[{topic.topic_name}] sending message is forbidden")
