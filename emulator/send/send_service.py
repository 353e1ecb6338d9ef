"""Sending: checks in upstream's order, the properties that the broker adds, and batches.

Source: AbstractSendMessageProcessor, SendMessageProcessor (5.3.3).
"""

from collections.abc import Callable
from functools import lru_cache

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..faults.defects import Defects
from ..gate.call import Call
from ..kernel.errors import FAQ, EngineError
from ..kernel.human_time import human_time
from ..kernel.java_numbers import parse_integer
from ..kernel.random_streams import RandomStream
from ..kernel.response_code import ResponseCode
from ..kernel.value_class import value
from ..message import names
from ..message import properties as props
from ..message import stored_record as records
from ..message.batch import Part, properties_of, split_batch
from ..message.message import MessageToStore, StoredPosition
from ..operations.base import Parked, Result
from ..operations.send import SendMessage, SendResult, WholeBatchSendResult
from ..operations.topics import TopicConfig
from ..overload.request_pools import BrokerRequestPools
from ..schedule.delay_levels import delay_level
from ..stats.sent_messages import NORMAL, TYPED, message_type
from ..store.message_store import MessageStore
from ..store.refusals import refuse_to_store
from ..store.sync_replication import SYNC_MASTER, SyncReplication
from ..store.write_buffers import TransientStorePool
from ..topic.topic_table import HAS_UNIT_SUBSCRIBERS, PERM_WRITE, UNIT, TopicTable
from ..transaction.half_message import is_half

SLAVE, SYNC_FLUSH = "SLAVE", "SYNC_FLUSH"
_SPECIAL = TYPED.union(
    *(props.DELAYS, props.SET_AT_SEND, props.REMOVED_AT_SEND),
    {props.TRANSACTION_PREPARED, props.INNER_NUM, props.INNER_MULTI_DISPATCH, props.INNER_MULTI_QUEUE_OFFSET},
)
"""Properties with which a send does more than to add the broker's own properties and to store the message."""

HalfStored = Callable[[Call, str, int], None]
"""Called with the request, the topic and the physical offset of a stored half message."""


@value
class SendHooks:
    """Callbacks into other services before a message is stored, and after a half message was stored."""

    prepare_transaction: Callable[[MessageToStore, SendMessage], None]
    """Turn a message into a half message."""
    redirect_retry: Callable[[MessageToStore, SendMessage], None]
    """Choose between a retry topic and the dead letter queue of its group."""
    recall_handle: Callable[[MessageToStore, str], str | None]
    """Return the recall handle of a timed message, given its unique key; None if it cannot be recalled."""
    half_stored: HalfStored
    """Record that the client has to end a transaction."""


class SendService:
    """Handles the sends of one broker."""

    def __init__(  # noqa: PLR0913 - a send touches most parts of a broker
        self,
        *,
        config: BrokerConfig,
        defects: Defects,
        store: MessageStore,
        topics: TopicTable,
        transient_store_pool: TransientStorePool,
        random: RandomStream,
        hooks: SendHooks,
        request_pools: BrokerRequestPools,
        sync_replication: SyncReplication,
    ) -> None:
        self._config = config
        self._defects = defects
        self._store = store
        self._transient_store_pool = transient_store_pool
        self._topics = topics
        self._special = topics.special
        self._random = random
        self._hooks = hooks
        self._request_pools = request_pools
        self._sync_replication = sync_replication
        self._unique_count = 0
        self._unique_host = store.store_host[:-4].hex().upper()

    @handles(SendMessage)
    def send(self, call: Call, operation: SendMessage) -> Result | Parked:
        """Store a message or a batch.

        Errors: INVALID_PARAMETER (topic name, queue id), NO_PERMISSION (system topics), TOPIC_NOT_EXIST,
        MESSAGE_ILLEGAL (sizes, batches to retry topics), SUBSCRIPTION_GROUP_NOT_EXIST (retry topics), SYSTEM_BUSY on a
        slave and if there are no write buffers (`TransientStorePool`); SERVICE_NOT_AVAILABLE with a full disk, and
        through the proxy on a slave.
        """
        config = self._config
        if operation.through_proxy:
            if self._request_pools.is_active:
                self._request_pools.refuse_to_store()
        elif config.broker_role == SLAVE or config.transient_store_pool_enable:
            self._transient_store_pool.refuse_to_send()
        queue_id = self.check_and_choose_queue(call, operation)
        sent = (self._send_batch if operation.batch else self._send_single)(call, operation, queue_id)
        if config.broker_role == SYNC_MASTER or config.flush_disk_type == SYNC_FLUSH:
            return self._sync_replication.wait_for_send(call, operation, sent)
        return sent

    def check_and_choose_queue(self, call: Call, operation: SendMessage) -> int:
        """Check the topic of a message, creating it if allowed, and return the queue id. Errors: those of a send."""
        serves_from = self._config.start_accept_send_request_time_stamp
        if serves_from and self._store.now_ms < serves_from:
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"broker unable to service, until {human_time(serves_from)}")
        topic = operation.topic
        config = self._topics.table.get(topic)
        if config is None or topic in names.NOT_ALLOWED_SEND_TOPICS:
            config = self._check_topic(operation)
        if not self._config.broker_permission & PERM_WRITE and config.order:
            raise EngineError(
                ResponseCode.NO_PERMISSION, f"the broker[{self._broker_ip()}] sending message is forbidden"
            )
        queue_id = operation.queue_id
        return queue_id if 0 <= queue_id < config.write_queue_nums else self._queue_id(call, queue_id, config)

    def _check_topic(self, operation: SendMessage) -> TopicConfig:
        topic = operation.topic
        names.check_topic(topic)
        if topic in names.NOT_ALLOWED_SEND_TOPICS and not (
            # TopicValidator.isNotAllowedSendTopic does not contain the timer's topic.
            self._defects.timer_topic_stops_timer and topic == names.TIMER_TOPIC
        ):
            raise EngineError(ResponseCode.NO_PERMISSION, f"Sending message to topic[{topic}] is forbidden.")
        lmq_topic = self._topics.find(topic)
        if lmq_topic is not None:
            return lmq_topic
        unit = 0 if not operation.unit_mode else HAS_UNIT_SUBSCRIBERS if names.is_retry(topic) else UNIT
        created = self._topics.create_on_send(topic, operation.default_topic, operation.default_topic_queue_nums, unit)
        if created is None:
            raise EngineError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please!\n{FAQ}")
        return created

    def _queue_id(self, call: Call, queue_id: int, config: TopicConfig) -> int:
        if queue_id >= config.write_queue_nums and queue_id >= config.read_queue_nums:
            address, port = call.channel.remote_address
            raise EngineError(
                ResponseCode.INVALID_PARAMETER,
                f"request queueId[{queue_id}] is illegal, {describe_topic(config)} Producer: {address}:{port}",
            )
        if queue_id < 0:
            if config.write_queue_nums <= 0:
                raise EngineError(ResponseCode.SYSTEM_ERROR, "java.lang.ArithmeticException: / by zero")
            return self._random.below(config.write_queue_nums)
        return queue_id

    def _send_single(self, call: Call, operation: SendMessage, queue_id: int) -> SendResult:
        properties = operation.properties
        unique_key = properties.get(props.UNIQ_KEY)
        if not unique_key:
            unique_key = properties[props.UNIQ_KEY] = self._unique_key()
        if self._special and operation.topic in self._topics.compacted and not properties.get(props.KEYS, "").strip():
            raise EngineError(ResponseCode.MESSAGE_ILLEGAL, "Required message key is missing")
        if _SPECIAL.isdisjoint(properties) and not operation.topic.startswith(names.RETRY_PREFIX):
            return self._send_usual(operation, queue_id, unique_key)
        self._set_broker_properties(properties)
        body = operation.take_body()
        message = self._message(operation, queue_id, body, properties)
        if names.is_retry(operation.topic):
            self._hooks.redirect_retry(message, operation)
        prepared = is_half(properties)
        if prepared and not (message.reconsume_times > 0 and _number(properties.get(props.DELAY, "0")) > 0):
            if self._config.reject_transaction_message:
                raise EngineError(
                    ResponseCode.NO_PERMISSION,
                    f"the broker[{self._broker_ip()}] sending transaction message is forbidden",
                )
            self._hooks.prepare_transaction(message, operation)
        refuse_to_store(self._config, self._store)
        stored = self._store.put(message)
        operation.properties_length = stored.size - len(body)
        if prepared:
            self._store.stats.by_name.counters.half[operation.topic] += 1
            self._hooks.half_stored(call, operation.topic, stored.physical_offset)
        return self._send_result(SendResult, message, queue_id, unique_key, stored)

    def _send_usual(self, operation: SendMessage, queue_id: int, unique_key: str) -> SendResult:
        """Store a message that nothing redirects: its topic is no retry topic, and no property is special."""
        config, store, properties = self._config, self._store, operation.properties
        own, own_text = _own_properties(config.broker_cluster_name, config.region_id, config.trace_on)
        text = props.encode(properties) + own_text
        properties |= own
        body, operation.body = operation.body, b""
        message = self._message(operation, queue_id, body, properties)
        if store.disk.full or config.broker_role == SLAVE:
            refuse_to_store(config, store)
        stored = store.put(message, text)
        size, physical_offset = stored.size, stored.physical_offset
        operation.properties_length = size - len(body)
        store.stats.by_name.sent_tally[message.topic, NORMAL, size, queue_id] += 1
        msg_id = records.offset_message_id(store.store_host, physical_offset)
        return SendResult(ResponseCode.SUCCESS, msg_id, queue_id, stored.queue_offset, unique_key, physical_offset)

    def _send_result(  # noqa: PLR0917 - once per send; keywords would cost time
        self, kind: type[SendResult], message: MessageToStore, queue_id: int, unique_key: str, stored: StoredPosition
    ) -> SendResult:
        """Return the response to a send whose message was stored as one record."""
        self._count(message, queue_id, stored)
        return kind(
            ResponseCode.SUCCESS,
            records.offset_message_id(self._store.store_host, stored.physical_offset),
            queue_id,
            stored.queue_offset,
            unique_key,
            stored.physical_offset,
            self._hooks.recall_handle(message, unique_key) if props.TIMER_OUT_MS in message.properties else None,
        )

    def _count(self, message: MessageToStore, queue_id: int, stored: StoredPosition) -> None:
        by_name = self._store.stats.by_name
        topic = message.topic
        kind = NORMAL if TYPED.isdisjoint(message.properties) else message_type(message.properties)
        by_name.sent_tally[topic, kind, stored.size, queue_id] += 1
        if topic == names.SCHEDULE_TOPIC:
            by_name.count_delayed(message.queue_id, 1, stored.size)

    def _send_batch(self, _call: Call, operation: SendMessage, queue_id: int) -> SendResult:
        topic, shared = operation.topic, operation.properties
        if names.is_retry(topic):
            group = topic
            raise EngineError(ResponseCode.MESSAGE_ILLEGAL, f"batch request does not support retry group {group}")
        if topic in self._topics.batched and props.UNIQ_KEY in shared:
            return self._send_as_one_record(operation, queue_id)
        if delay_level(shared) > 0 or operation.sys_flag & records.SYS_TRANSACTION_MASK:
            raise self._illegal()
        body = operation.take_body()
        if len(body) > self._config.max_message_size:
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                "java.lang.RuntimeException: message body size exceeded, "
                "org.apache.rocketmq.store.MessageExtEncoder.encode(MessageExtEncoder.java:290)",
            )
        unique_key = shared.get(props.UNIQ_KEY)
        parts = split_batch(body)
        # The hooks see only the batch as a whole. Properties of its messages, such as a delay, have no effect.
        whole = self._message(operation, queue_id, body, dict(shared))
        refuse_to_store(self._config, self._store)
        self._store.prepare(whole)
        stats = self._store.stats
        bytes_before = stats.put_bytes
        first, physical_offsets = self._store_parts(operation, whole, parts)
        if not physical_offsets:
            raise self._illegal()
        sent, kind = stats.by_name.sent, NORMAL if TYPED.isdisjoint(shared) else message_type(shared)
        sent.note_queue(whole.topic, queue_id)
        sent.add(whole.topic, kind, len(parts), stats.put_bytes - bytes_before)
        return SendResult(
            ResponseCode.SUCCESS,
            records.offset_message_ids(self._store.store_host, physical_offsets),
            queue_id,
            first,
            unique_key,
            physical_offsets[0],
            self._hooks.recall_handle(whole, unique_key or "") if props.TIMER_OUT_MS in whole.properties else None,
        )

    def _store_parts(self, operation: SendMessage, whole: MessageToStore, parts: list[Part]) -> tuple[int, list[int]]:
        """Store the messages of a batch; return the first queue offset and the physical offsets.

        Upstream merges the request's own properties into every message of the batch.
        """
        common = self._message(operation, whole.queue_id, whole.body, dict(whole.properties))
        common.topic = whole.topic
        self._set_broker_properties(common.properties)
        if self._store.can_append_batch(parts, common, (*common.properties, *whole.properties, *props.REMOVED_AT_SEND)):
            return self._store.append_batch(parts, common)
        stored: list[StoredPosition] = []
        for flag, body, text in parts:
            merged = properties_of(text) | whole.properties
            self._set_broker_properties(merged)
            message = self._message(operation, whole.queue_id, body, merged)
            message.topic = whole.topic
            message.flag = flag
            stored.append(self._store.append_part(message))
        return stored[0].queue_offset if stored else 0, [each.physical_offset for each in stored]

    def _send_as_one_record(self, operation: SendMessage, queue_id: int) -> SendResult:
        """Store a batch as one record, which takes one queue offset for each message of the batch."""
        body = operation.take_body()
        properties = dict(operation.properties)
        self._set_broker_properties(properties)
        properties[props.INNER_NUM] = str(len(split_batch(body)))
        message = self._message(operation, queue_id, body, properties)
        message.sys_flag |= records.SYS_NEED_UNWRAP | records.SYS_INNER_BATCH
        refuse_to_store(self._config, self._store)
        return self._send_result(
            WholeBatchSendResult, message, queue_id, properties[props.UNIQ_KEY], self._store.put(message)
        )

    def _set_broker_properties(self, properties: dict[str, str]) -> None:
        properties.pop(props.POP_CK, None)
        config = self._config
        properties |= _own_properties(config.broker_cluster_name, config.region_id, config.trace_on)[0]

    def _message(
        self, operation: SendMessage, queue_id: int, body: bytes, properties: dict[str, str]
    ) -> MessageToStore:
        sys_flag = operation.sys_flag
        born_host = records.pack_host(operation.born_host)
        if sys_flag:
            # The broker decides the host format. Upstream trusts the client's flag, and then the record cannot be
            # decoded (MessageExtEncoder.encode).
            if self._defects.unreadable_host_flag:
                sys_flag &= ~records.required_host_bits(born_host, self._store.store_host)
            else:
                sys_flag &= ~records.HOST_BITS
        if self._special and operation.topic in self._topics.multi_tag:
            sys_flag |= records.SYS_MULTI_TAGS
        return MessageToStore(
            operation.topic,
            queue_id,
            body,
            properties,
            operation.born_timestamp,
            born_host,
            sys_flag,
            operation.flag,
            operation.reconsume_times,
        )

    def _unique_key(self) -> str:
        """Return a unique id for a message without one: host, a number from the seeded random stream, a counter."""
        self._unique_count += 1
        return f"{self._unique_host}{self._random.bits() & 0xFFFFFFFFFFFF:012X}{self._unique_count & 0xFFFFFFFFFF:012X}"

    def _broker_ip(self) -> str:
        return records.unpack_host(self._store.store_host)[0]

    def _illegal(self) -> EngineError:
        return EngineError(
            ResponseCode.MESSAGE_ILLEGAL,
            "the message is illegal, maybe msg body or properties length not matched. "
            f"msg body length limit {self._config.max_message_size}B, msg properties length limit 32KB.",
        )


@lru_cache(maxsize=64)
def _own_properties(cluster: str, region: str, trace_on: bool) -> tuple[dict[str, str], str]:
    """Return the properties that a broker sets in each message that it receives, and their encoding."""
    own = {props.CLUSTER: cluster, props.MSG_REGION: region, props.TRACE_ON: "true" if trace_on else "false"}
    return own, props.encode(own)


def _number(text: str) -> int:
    try:
        return parse_integer(text)
    except ValueError:
        raise EngineError(
            ResponseCode.SYSTEM_ERROR, f'java.lang.NumberFormatException: For input string: "{text}"'
        ) from None


def describe_topic(config: TopicConfig) -> str:
    """Format a topic as upstream's TopicConfig.toString does in remarks."""
    perm = f"{'R' if config.perm & 4 else '-'}{'W' if config.perm & 2 else '-'}{'X' if config.perm & 1 else '-'}"
    attributes = ", ".join(f"{name}={value}" for name, value in config.attributes.items())
    return (
        f"TopicConfig [topicName={config.topic_name}, readQueueNums={config.read_queue_nums}, "
        f"writeQueueNums={config.write_queue_nums}, perm={perm}, topicFilterType={config.topic_filter_type}, "
        f"topicSysFlag={config.topic_sys_flag}, order={'true' if config.order else 'false'}, "
        f"attributes={{{attributes}}}]"
    )
