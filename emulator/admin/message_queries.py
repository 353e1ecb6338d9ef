"""Queries of stored messages: by physical offset, by key, by queue and index.

The key index is built on demand, from where the last build ended, so that sends need not maintain it.
Source: QueryMessageProcessor, IndexService, AdminBrokerProcessor.queryConsumeQueue (5.3.3).
"""

from ..assembly.handlers import handles
from ..client.client_registry import ClientRegistry
from ..config import BrokerConfig
from ..filter.message_filter import SqlError, filter_of
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..message import properties as props
from ..message import stored_record as records
from ..operations.message_queries import (
    MessagesResult,
    QueryConsumeQueue,
    QueryConsumeQueueResult,
    QueryMessage,
    QueueUnit,
    ViewMessage,
)
from ..store.message_store import MessageStore
from ..store.refusals import illegal_capacity, raw_bytes_at

SECOND_MS = 1000


class KeyIndex:
    """Physical offsets and store times (ms) by (topic, key); keys are UNIQ_KEY and each word of KEYS.

    A store time is that of the first indexed message plus whole seconds: the seconds since then are rounded down.
    Source: IndexFile.putKey (5.3.3).
    """

    def __init__(self, config: BrokerConfig, store: MessageStore) -> None:
        self._config = config
        self._enabled = config.message_index_enable
        self._store = store
        self._next = 0
        self._first = 0
        self._positions: dict[tuple[str, str], list[tuple[int, int]]] = {}
        self._begin_ms: int | None = None
        self.last_timestamp = 0
        self.last_physical_offset = 0

    def update(self) -> None:
        """Index the messages stored since the last call, and remove those that were deleted from the log."""
        log = self._store.log
        if self._first < log.min_offset:
            self._first = log.min_offset
            self._delete_before(self._first)
        if not self._enabled:
            self._next = log.max_offset
            return
        for position, record in log.records_from(self._next):
            self._next = position + len(record)
            if not records.is_readable(record):
                continue
            parts = records.decode(record)
            if parts.sys_flag & records.SYS_TRANSACTION_MASK != records.SYS_TRANSACTION_ROLLBACK:
                found = parts.property_map()
                keys = set(found.get(props.KEYS, "").split(" ")) | {found.get(props.UNIQ_KEY, "")}
                for key in keys - {""}:
                    if self._begin_ms is None:
                        self._begin_ms = parts.store_timestamp
                    passed_ms = max(parts.store_timestamp - self._begin_ms, 0)
                    stored_ms = self._begin_ms + passed_ms - passed_ms % SECOND_MS
                    self._positions.setdefault((parts.topic, key), []).append((position, stored_ms))
                    self.last_timestamp, self.last_physical_offset = parts.store_timestamp, position

    def apply_config(self) -> None:
        """Apply a change of `messageIndexEnable`; messages stored before are indexed according to the old value."""
        if self._enabled != self._config.message_index_enable:
            self.update()
            self._enabled = self._config.message_index_enable

    def _delete_before(self, physical_offset: int) -> None:
        for key, positions in list(self._positions.items()):
            kept = [position for position in positions if position[0] >= physical_offset]
            if kept:
                self._positions[key] = kept
            else:
                del self._positions[key]

    def find(self, topic: str, key: str, begin_ms: int, end_ms: int) -> list[int]:
        """Return the physical offsets of messages with a key, oldest first.

        `begin_ms` and `end_ms` limit the store times of the index, which are up to 1 s too early.
        """
        self.update()
        first = self._store.log.min_offset
        return [
            position
            for position, stored_ms in self._positions.get((topic, key), [])
            if position >= first and begin_ms <= stored_ms <= end_ms
        ]


class MessageQueries:
    """Handles the message queries of one broker."""

    def __init__(self, config: BrokerConfig, store: MessageStore, clients: ClientRegistry) -> None:
        self._config = config
        self._store = store
        self._clients = clients
        self.index = KeyIndex(config, store)

    @handles(ViewMessage)
    def view(self, call: Call, operation: ViewMessage) -> MessagesResult:
        """Return the bytes at a physical offset as a record; offset 0 means the first stored record.

        Errors: SYSTEM_ERROR.
        Source: CommitLog.getData, which uses the first file for offset 0 if the file that began there was deleted.
        """
        log = self._store.log
        record = raw_bytes_at(log, operation.offset or log.min_offset)
        if record is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {operation.offset}")
        return MessagesResult([record])

    @handles(QueryMessage)
    def query(self, call: Call, operation: QueryMessage) -> MessagesResult:
        """Return the newest messages with a key, oldest first.

        Their number is at most `max_num` (by unique key: `defaultQueryMaxNum`) and at most `maxMsgsNumBatch`.
        Errors: QUERY_NOT_FOUND, SYSTEM_ERROR (`max_num` below 0).
        """
        wanted = self._config.default_query_max_num if operation.unique_key else operation.max_num
        wanted = min(wanted, self._config.max_msgs_num_batch)
        if wanted < 0:
            raise illegal_capacity(wanted)
        physical_offsets = self.index.find(
            operation.topic, operation.key, operation.begin_timestamp, operation.end_timestamp
        )
        found = [
            self._store.log.record_at(physical_offset)
            for physical_offset in (physical_offsets[-wanted:] if wanted else [])
        ]
        present = [record for record in found if record is not None]
        if not present:
            raise EngineError(ResponseCode.QUERY_NOT_FOUND, "can not find message, maybe time range not correct")
        return MessagesResult(present, self.index.last_timestamp, self.index.last_physical_offset)

    @handles(QueryConsumeQueue)
    def query_consume_queue(self, call: Call, operation: QueryConsumeQueue) -> QueryConsumeQueueResult:
        """Return units of a consume queue, one for each message, from the queue offset `index` on.

        If the request names a group, its subscription decides which units match. Without a group or a subscription, and
        with an SQL expression that cannot be parsed, all units match.
        Errors: SYSTEM_ERROR for a queue in which no message was ever stored and which no client has tried to read.
        """
        topic, queue_id = operation.topic, operation.queue_id
        queue = self._store.queue(topic, queue_id)
        if queue is None and queue_id not in self._store.empty_queues_read.get(topic, ()):
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"{queue_id}@{topic} is not exist!")
        low, high = (0, 0) if queue is None else (queue.min_offset, queue.max_offset)
        if queue is None or not low <= operation.index < high:
            return QueryConsumeQueueResult(
                None, low, high, f"Index {operation.index} of {queue_id}@{topic} is not exist!"
            )
        message_filter = None
        if operation.consumer_group:
            subscription = self._clients.subscription(operation.consumer_group, topic)
            if subscription is not None:
                try:
                    message_filter = filter_of(subscription)
                except SqlError:
                    message_filter = None
        units = []
        for offset in range(operation.index, min(high, operation.index + operation.count)):
            physical_offset, size, tags_code = queue.unit(offset)
            matched, text = True, None
            if message_filter is not None:
                parts = records.decode(self._store.log.read(physical_offset, size))
                matched = message_filter.may_match_tag(tags_code)
                matched = matched and message_filter.matches_properties(parts.property_map())
                text = parts.properties
            units.append(QueueUnit(physical_offset, size, tags_code, matched, msg=text))
        return QueryConsumeQueueResult(units, low, high)
