"""Writes a copy of a message that was popped and not acknowledged into the pop retry topic of its group.

Source: PopReviveService.reviveRetry, PopConsumerService.reviveRetry (5.3.3).
"""

from collections.abc import Callable

from ..config import BrokerConfig
from ..group.offset_table import Offsets
from ..kernel.errors import EngineError
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import Message, Stored
from ..message.names import is_retry, pop_retry_topic
from ..schedule.delay_levels import delay_level
from ..store.message_store import MessageStore
from ..topic.topic_table import Topics

Redelivered = Callable[[str, str], None]


class Redelivery:
    """Stores the copies of one broker; `redelivered` is called with topic and group of each."""

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        topics: Topics,
        offsets: Offsets,
        redelivered: Redelivered,
    ) -> None:
        self._config = config
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._redelivered = redelivered

    def put(self, topic: str, group: str, queue_id: int, offset: int, pop_time: int) -> bool:
        """Store a copy of one message. Returns False if it cannot be stored; a deleted message counts as done."""
        stored = self._store.record(topic, queue_id, offset)
        if stored is None:
            return True
        record = records.decode(stored)
        properties = record.property_map()
        if record.reconsume_times == 0 or props.FIRST_POP_TIME not in properties:
            properties[props.FIRST_POP_TIME] = str(pop_time)
        target = topic if is_retry(topic) else pop_retry_topic(topic, group, v2=self._config.enable_retry_topic_v2)
        if self._topics.find(target) is None:
            self._topics.create_internal(target, 1)
        if self._offsets.query(group, target, 0) < 0:
            self._offsets.commit(group, target, 0, 0)
        message = Message(
            target,
            0,
            record.body,
            properties,
            record.born_timestamp,
            self._store.store_host,
            record.sys_flag & ~(records.SYS_BORN_HOST_V6 | records.SYS_STORE_HOST_V6),
            record.flag,
            record.reconsume_times + 1,
        )
        if not self._stored(message):
            return False
        self._redelivered(topic, group)
        return True

    def _stored(self, message: Message) -> bool:
        try:
            delay_level(message.properties)
        except EngineError:
            # A batch can contain a delay level that is not a number, which a single send rejects. Redelivering it at
            # once is better than never.
            put: Callable[[Message], Stored] = self._store.append
        else:
            put = self._store.put
        try:
            put(message)
        except EngineError:
            return False
        return True
