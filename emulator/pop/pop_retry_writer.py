"""Writes a copy of a message that was popped and not acknowledged into the pop retry topic of its group.

Source: PopReviveService.reviveRetry, PopConsumerService.reviveRetry (5.3.3).
"""

from collections.abc import Callable

from ..config import BrokerConfig
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import MessageToStore, StoredPosition
from ..message.names import is_retry, pop_retry_topic
from ..schedule.delay_levels import delay_level

OnRedelivered = Callable[[str, str], None]


class PopRetryWriter:
    """Stores the copies of one broker; `on_redelivered` is called with topic and group of each."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        tables: BrokerTables,
        on_redelivered: OnRedelivered,
    ) -> None:
        self._config = config
        self._store = tables.store
        self._topics = tables.topics
        self._offsets = tables.offsets
        self._on_redelivered = on_redelivered

    def put(self, topic: str, group: str, queue_id: int, offset: int, *, pop_time: int) -> bool:
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
        message = MessageToStore(
            target,
            0,
            record.body,
            properties,
            record.born_timestamp,
            self._store.store_host,
            record.sys_flag & ~records.HOST_BITS,
            record.flag,
            record.reconsume_times + 1,
        )
        if not self._stored(message):
            return False
        self._on_redelivered(topic, group)
        return True

    def _stored(self, message: MessageToStore) -> bool:
        try:
            delay_level(message.properties)
        except EngineError:
            # A batch can contain a delay level that is not a number, which a single send rejects. Redelivering it at
            # once is better than never.
            put: Callable[[MessageToStore], StoredPosition] = self._store.append
        else:
            put = self._store.put
        try:
            put(message)
        except EngineError:
            return False
        return True
