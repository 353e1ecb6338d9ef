"""The message store: one commit log, the consume queues that index it, and listeners for new messages.

It must not know requests or clients. Source: DefaultMessageStore, CommitLog, HookUtils (5.3.3). Upstream dispatches
to the consume queues about 1 ms after the append; here both happen at once, which no client can notice.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, count
from typing import TYPE_CHECKING

from ..assembly.listeners import ArrivalListener, Hook, Listeners, PutHook, Watcher, add_watchers
from ..config import BrokerConfig
from ..history.events import TrimReason
from ..kernel.errors import EngineError
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..message import properties as props
from ..message import stored_record as records
from ..message.batch import LazyProperties, Part, are_well_formed, tags_of
from ..message.message import MessageToStore, StoredPosition
from ..message.names import TOPIC_MAX_LENGTH, is_lmq
from ..stats.broker_stats import BrokerStats
from ..stats.store_stats import StoreStats
from .commit_log import CommitLog
from .consume_queue import BatchConsumeQueue, ConsumeQueue, appending_batches_of, messages_in_record
from .disk import Disk
from .flush import FlushPosition
from .replication import Replication
from .store_time_index import StoreTimeIndex
from .tags_code import SHORT_TAG, code_of_short_tag, tags_code_of

if TYPE_CHECKING:
    from .shared_segment import SharedSegment

PROPERTIES_MAX_BYTES = 32767
OVERHEAD_BYTES = 2 * 65536
"""An upper bound of a record's size without its body."""
_SLAVE = "the message store is in slave mode, so putMessage is forbidden"
_FULL = "the message store is not writeable, so putMessage is forbidden"

_NOT_QUEUED = records.NOT_QUEUED
_HOOKED = frozenset({props.INNER_NUM})


@mypyc_attr(allow_interpreted_subclasses=True)
class MessageStore:
    """Stores messages and finds them again."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        clock: Scheduler,
        store_host: bytes,
        max_bytes: int,
        batched: Collection[str] = (),
        on_lost: Callable[[Iterable[bytes]], None] | None = None,
        on_trimmed: Callable[[TrimReason, int, int], None] | None = None,
    ) -> None:
        """`on_lost` is called with the records that a power loss is about to remove.

        `on_trimmed` is called after a deletion of the oldest records: reason, first physical offset before and after.
        """
        self._config = config
        self._scheduler = scheduler
        self._clock = clock
        """The broker's own clock, from which store timestamps are. Only faults make it differ from `scheduler`."""
        self.store_host = store_host
        self.max_message_size = config.max_message_size
        largest = config.max_message_size + OVERHEAD_BYTES
        room = min(max_bytes, config.store_disk_bytes or max_bytes)
        segment_bytes = max(min(config.mapped_file_size_commit_log, room // 8), largest)
        self._flush_position = FlushPosition(config, scheduler.now_ms, 0)
        self.log: CommitLog = CommitLog(segment_bytes, max_bytes, self._trimmed, self._file_is_full)
        self._time_index = StoreTimeIndex()
        self.queues: dict[tuple[str, int], ConsumeQueue] = {}
        self._of_topic: dict[str, dict[int, ConsumeQueue]] = {}
        self.empty_queues_read: dict[str, set[int]] = {}
        """Empty queues that were read, by topic: upstream creates queues on reads."""
        self._hooks: list[Hook] = []
        """Called in order with each message before `_put_hooks`: a hook may refuse it."""
        self._put_hooks: list[PutHook] = []
        """Called in order before each append, each hook with the messages of its properties and topics."""
        self._hooked_properties, self._hooked_topics = _HOOKED, frozenset[str]()
        """The properties and the topics of messages for which `put` has more to do than to append them."""
        self.arrivals: list[ArrivalListener] = []
        """Listeners called after each append."""
        self.watchers: dict[str, Watcher] = {}
        """By topic, a function called after each append to it with queue id, offset, properties and born time."""
        self._on_lost = on_lost
        self._on_trimmed = on_trimmed
        self._trimmed_to = 0
        self._trim_reason = TrimReason.LIMIT
        self.full_files: list[Callable[[], None]] = []
        """Called each time a segment of the log becomes full."""
        self.replication = Replication()
        self._receivers = self.replication.receivers
        self._lost_from: int | None = None
        """The offset from which a power loss removes all records while a fault loses flushes, else None."""
        self.is_slave = not config.is_master
        """True if the store is a slave's: it replicates its master's log and stores nothing else."""
        self.disk = Disk(config)
        self.stats = StoreStats(scheduler, partial(BrokerStats, config, scheduler))
        self.last_store_timestamp = 0
        self.batched = batched
        """Topics whose queues may hold several messages in one record."""

    @property
    def now_ms(self) -> int:
        """The store timestamp of a message stored now."""
        return self._clock.now_ms

    has_all_records = True
    """A slave's store has each record as soon as its master has it."""

    def bind(self, store_host: bytes) -> None:
        """Set the packed address that messages stored from now on contain."""
        self.store_host = store_host

    def begin_run(self, stats: StoreStats) -> None:
        """Begin a run of the broker, without listeners and with these counters."""
        self.stats = stats
        self.disk.begin_run()
        self._hooks.clear()
        self._put_hooks.clear()
        self._hooked_properties, self._hooked_topics = _HOOKED, frozenset()
        self.arrivals.clear()
        self.watchers.clear()
        self.full_files.clear()

    def listen(self, listeners: Listeners) -> None:
        """Add listeners for the rest of the run. Raises ValueError for a second watcher of a topic."""
        self._put_hooks += listeners.before_put
        self._hooked_properties = self._hooked_properties.union(*(hook.properties for hook in listeners.before_put))
        self._hooked_topics = self._hooked_topics.union(*(hook.topics for hook in listeners.before_put))
        self.arrivals += listeners.arrivals
        add_watchers(self.watchers, listeners.watchers)
        self.full_files += listeners.full_files

    # writing

    def put(self, message: MessageToStore, properties_text: str | None = None) -> StoredPosition:
        """Run the hooks on a message and store it. Raises as `prepare` and `append` do.

        `properties_text`: its properties, if they are already encoded. Hooks may change the properties.
        """
        if (
            self._hooked_properties.isdisjoint(message.properties)
            and message.topic not in self._hooked_topics
            and not message.sys_flag & records.SYS_INNER_BATCH
            and not self._hooks
        ):
            return self.append(message, properties_text)
        return self._append_inner_batch(message) if self.prepare(message) else self.append(message)

    def prepare(self, message: MessageToStore) -> bool:
        """Run the hooks on a message that is about to be stored.

        Returns True if it is an inner batch: a message whose body contains several messages. Raises MESSAGE_ILLEGAL for
        an inner batch in a topic without queues for batches, for the property INNER_NUM without the flag of an inner
        batch, and the errors of the hooks.
        """
        is_batch = props.INNER_NUM in message.properties or message.sys_flag & records.SYS_INNER_BATCH
        if is_batch and (not message.sys_flag & records.SYS_INNER_BATCH or message.topic not in self.batched):
            raise self._illegal()
        for hook in self._hooks:
            hook(message)
        for run, names, topics in self._put_hooks:
            if message.topic in topics or not names.isdisjoint(message.properties):
                run(message)
        return bool(is_batch)

    def _append_inner_batch(self, message: MessageToStore) -> StoredPosition:
        """Store an inner batch. In a queue of batches it takes as many offsets as it contains messages."""
        # A hook may have redirected it to a queue for delayed messages, which counts it as one message.
        number = messages_in_record(message.properties)
        with appending_batches_of(number, self._find_or_create_queue(message.topic, message.queue_id)):
            stored = self.append(message)
        self.stats.count_stored(message.topic, number - 1, 0, times=0)
        return stored

    def _find_or_create_queue(self, topic: str, queue_id: int) -> ConsumeQueue:
        queue = self.queues.get((topic, queue_id))
        if queue is None:
            queue = self.queues[topic, queue_id] = self._kind_of(topic)(topic, queue_id)
            self._of_topic.setdefault(topic, {})[queue_id] = queue
        return queue

    def _kind_of(self, topic: str) -> type[ConsumeQueue]:
        return BatchConsumeQueue if topic in self.batched else ConsumeQueue

    def append(self, message: MessageToStore, properties_text: str | None = None) -> StoredPosition:
        """Store a message unchanged, without the hooks. `properties_text`: its properties, if they are already encoded.

        A message with a bit of `records.NOT_QUEUED` is only in the log: no queue contains it, and its offset is 0. Half
        messages no longer have such a bit here. Raises MESSAGE_ILLEGAL, SERVICE_NOT_AVAILABLE (in the store of a
        slave, or with a full disk). Source: CommitLog.DefaultAppendMessageCallback,
        DefaultMessageStore.CommitLogDispatcherBuildConsumeQueue (5.3.3).
        """
        if self.is_slave or self.disk.full:
            raise EngineError(ResponseCode.SERVICE_NOT_AVAILABLE, _SLAVE if self.is_slave else _FULL)
        properties, body = message.properties, message.body
        text = (properties_text or props.encode(properties)).encode()
        if len(body) > self.max_message_size or len(text) > PROPERTIES_MAX_BYTES:
            raise self._illegal()
        topic, born_host, store_host = message.topic, message.born_host, self.store_host
        try:
            form = records.form_of_topic(topic, len(born_host), len(store_host))
        except ValueError:
            raise self._illegal() from None
        tags_code = message.tags_code
        if tags_code is None:
            tag = properties.get(props.TAGS)
            # `tags_code_of` for short tags, without the call: this runs for every message.
            tags_code = (code_of_short_tag(tag) if len(tag) <= SHORT_TAG else tags_code_of(tag)) if tag else 0
        queue_id = message.queue_id
        queued = not message.sys_flag & _NOT_QUEUED
        key = (topic, queue_id)
        queue = self.queues.get(key) if queued else None
        if queue is None and queued:
            queue = self._find_or_create_queue(topic, queue_id)
        size = form.empty_size + len(body) + len(text)
        now, timestamp = self._scheduler.now_ms, self._clock.now_ms
        if now >= self._flush_position.next_check_ms:
            self._flush_position.catch_up(now, self.log.max_offset)
        log = self.log
        physical_offset = log.max_offset
        if physical_offset + size > log.end_of_segment:
            physical_offset = log.reserve(size, timestamp)
        if timestamp != self._time_index.last_ms:
            self._time_index.add(timestamp, physical_offset)
        queue_offset = queue.append(physical_offset, size, tags_code) if queue is not None else 0
        record = records.encode(
            form,
            queue_id,
            message.flag,
            queue_offset,
            physical_offset,
            message.sys_flag,
            message.born_timestamp,
            born_host,
            timestamp,
            store_host,
            message.reconsume_times,
            message.prepared_transaction_offset,
            body,
            text,
        )
        log.append(record)
        if self._receivers:
            self.replication.replicate(record, tags_code)
        stats = self.stats
        if now >= stats.next_sample_ms:
            stats.catch_up()
        stats.tally[topic, size] += 1
        self.last_store_timestamp = timestamp
        watcher = self.watchers.get(topic) if queued else None
        if watcher is not None:
            watcher(queue_id, queue_offset, properties, message.born_timestamp)
        for on_message, waiting in self.arrivals:
            if waiting:
                on_message(topic, queue_id, queue_offset, tags_code, properties)
        return StoredPosition(queue_id, queue_offset, physical_offset, size, timestamp)

    def add_hook(self, hook: Hook) -> None:
        """Call a function with each message, before other hooks, until the end of the run. It may refuse messages."""
        self._hooks.insert(0, hook)

    def remove_hook(self, hook: Hook) -> None:
        """End the effect of `add_hook` in the same run."""
        self._hooks.remove(hook)

    @property
    def is_hooked(self) -> bool:
        """True if a hook gets each message."""
        return bool(self._hooks)

    def append_part(self, message: MessageToStore) -> StoredPosition:
        """Store one message of a batch."""
        return self.append(message)

    def can_append_batch(self, parts: Sequence[Part], whole: MessageToStore, reserved: Iterable[str]) -> bool:
        """True if a batch has no special feature, so that `append_batch` can store it.

        `whole` has all fields of its messages but body, flag and own properties. Its properties are added to each.
        `reserved`: names of properties that are added, or that no message keeps.
        """
        if self.is_slave or self.disk.full or whole.topic in self.watchers or whole.tags_code is not None:
            return False
        if whole.sys_flag & _NOT_QUEUED or len(whole.body) > self.max_message_size:
            return False
        if not parts or len(whole.topic.encode()) > TOPIC_MAX_LENGTH:
            return False
        texts = [text for _, _, text in parts]
        longest = max(map(len, texts)) + len(props.encode(whole.properties).encode())
        return longest <= PROPERTIES_MAX_BYTES and are_well_formed(texts, reserved)

    def append_batch(self, parts: Sequence[Part], whole: MessageToStore) -> tuple[int, list[int]]:
        """Store the messages of a batch as `append_part` would, with their encoded properties as sent.

        All are stored before a listener is called for the first one. Returns the first queue offset, and all physical
        offsets. Source: MessageExtEncoder.encode of batches (5.3.3).
        """
        queue = self._find_or_create_queue(whole.topic, whole.queue_id)
        now, timestamp = self._scheduler.now_ms, self._clock.now_ms
        if now >= self._flush_position.next_check_ms:
            self._flush_position.catch_up(now, self.log.max_offset)
        self.last_store_timestamp = timestamp
        added = props.encode(whole.properties).encode()
        common_tag = whole.properties.get(props.TAGS)
        tags = [common_tag] * len(parts) if common_tag else tags_of([text for _, _, text in parts])
        tags_codes = [tags_code_of(tag) if tag else 0 for tag in tags]
        copies = [(flag, body, text + added) for flag, body, text in parts]
        empty = records.encoded_size(whole.born_host, self.store_host, whole.topic.encode(), 0, 0)
        sizes = [empty + len(body) + len(text) for _, body, text in copies]
        first, physical_offsets = queue.max_offset, list[int]()
        while (at := len(physical_offsets)) < len(copies):
            physical_offset = self.log.reserve(sizes[at], timestamp)
            if timestamp != self._time_index.last_ms:
                self._time_index.add(timestamp, physical_offset)
            ends = [*accumulate(sizes[at:], initial=physical_offset)]
            # At least one record fits: no record is larger than a segment.
            run = slice(at, at + max(bisect_right(ends, physical_offset + self.log.free_bytes) - 1, 1))
            starts = ends[: run.stop - at]
            self._append_run(queue, whole, timestamp, copies[run], starts, sizes[run], tags_codes[run])
            physical_offsets += starts
        arrivals = [on_message for on_message, waiting in self.arrivals if waiting]
        if arrivals:
            for queue_offset, tags_code, (_, _, text) in zip(count(first), tags_codes, copies, strict=False):
                lazy = LazyProperties(text)
                for on_message in arrivals:
                    on_message(whole.topic, whole.queue_id, queue_offset, tags_code, lazy)
        return first, physical_offsets

    def _append_run(  # noqa: PLR0917 - once per batch; keywords would cost time
        self,
        queue: ConsumeQueue,
        whole: MessageToStore,
        timestamp: int,
        copies: Sequence[Part],
        physical_offsets: Sequence[int],
        sizes: Sequence[int],
        tags_codes: Sequence[int],
    ) -> None:
        """Append messages that are in one segment of the log."""
        block = records.encode_consecutive(
            whole.topic.encode(),
            whole.queue_id,
            queue.max_offset,
            physical_offsets[0],
            whole.sys_flag,
            whole.born_timestamp,
            whole.born_host,
            timestamp,
            self.store_host,
            whole.reconsume_times,
            whole.prepared_transaction_offset,
            copies,
        )
        self.log.append(block)
        self.stats.count_stored(whole.topic, len(copies), len(block))
        queue.extend(physical_offsets, sizes, tags_codes)
        self.replication.replicate_block(block, physical_offsets, sizes, tags_codes)

    def replicate(self, record: bytes, tags_code: int) -> None:
        """Store a record replicated from the master, and call the arrival listeners.

        If the master has deleted and recreated the topic, its queue restarts at 0. Units are ignored here until that
        queue is as long as this one. Source: DefaultHAClient, ConsumeQueue.putMessagePositionInfo (5.3.3).
        """
        now = self._scheduler.now_ms
        if now >= self._flush_position.next_check_ms:
            self._flush_position.catch_up(now, self.log.max_offset)
        if not records.is_readable(record):
            self._replicate_unreadable(record)
            return
        found = records.decode(record)
        physical_offset = self.log.reserve(len(record), self._clock.now_ms)
        if physical_offset != found.physical_offset:
            raise AssertionError(f"a record of offset {found.physical_offset} came to {physical_offset}")
        if found.store_timestamp != self._time_index.last_ms:
            self._time_index.add(found.store_timestamp, physical_offset)
        self.log.append(record)
        self.stats.count_replicated(len(record))
        self.last_store_timestamp = found.store_timestamp
        if not found.sys_flag & records.SYS_TRANSACTION_PREPARED:
            queue = self._find_or_create_queue(found.topic, found.queue_id)
            if queue.max_offset == 0:
                queue.first = found.queue_offset
            is_batch = found.sys_flag & records.SYS_INNER_BATCH
            with appending_batches_of(messages_in_record(found.property_map()) if is_batch else 1, queue):
                queue.append_replica(found.queue_offset, physical_offset, len(record), tags_code)
        properties = found.property_map()
        for on_message, _ in self.arrivals:
            on_message(found.topic, found.queue_id, found.queue_offset, tags_code, properties)

    def _replicate_unreadable(self, record: bytes) -> None:
        """Store a record that cannot be decoded: it is in the log, and in no queue."""
        self.log.reserve(len(record), self._clock.now_ms)
        self.log.append(record)
        self.stats.count_replicated(len(record))

    def tags_code_at(self, record: bytes) -> int:
        """Return the tags code of a stored record: that in the consume queue, or else the hash of its tag.

        It is 0 for a record that cannot be decoded.
        """
        if not records.is_readable(record):
            return 0
        found = records.decode(record)
        queue = self.queues.get((found.topic, found.queue_id))
        if queue is not None and queue.first <= found.queue_offset < queue.max_offset:
            physical_offset, _, tags_code = queue.unit(found.queue_offset)
            if physical_offset == found.physical_offset:
                return tags_code
        tag = found.property_map().get(props.TAGS)
        return tags_code_of(tag) if tag else 0

    def truncate(self, end: int) -> None:
        """Truncate log and queues at a physical offset."""
        if end < self.log.max_offset:
            self.log.truncate(end)
            self._time_index.truncate(end)
            for queue in self.queues.values():
                queue.truncate(end)
            self._flush_position = FlushPosition(self._config, self._scheduler.now_ms, end)

    def restore(
        self,
        segment_bytes: int,
        segments: dict[int, bytearray],
        full: dict[int, int],
        last_store_timestamp: int,
        *,
        queues: Iterable[ConsumeQueue],
        shared: "Mapping[int, SharedSegment] | None" = None,
    ) -> None:
        """Restore the content of another store (for the log see `CommitLog.restore`). The segment size stays the same.

        `shared`: the bytes that the store shares with other engines, see `SharedLog.restore`.
        Messages larger than a segment are refused, regardless of the current `maxMessageSize`.
        """
        if shared:
            from .shared_log import SharedLog

            log = SharedLog(segment_bytes, self.log.max_bytes, self._trimmed, self._file_is_full)
            log.restore(segment_bytes, segments, full, shared)
            self.log = log
        else:
            self.log.restore(segment_bytes, segments, full)
        self._trimmed_to = self.log.min_offset
        self._time_index = StoreTimeIndex()
        self.max_message_size = min(self.max_message_size, segment_bytes - OVERHEAD_BYTES)
        self.last_store_timestamp = last_store_timestamp
        for queue in queues:
            if queue.physical and queue.physical[0] < self.log.min_offset:
                queue.trim(self.log.min_offset)  # a changed snapshot may have units from before the log
            self.queues[queue.topic, queue.queue_id] = queue
            self._of_topic.setdefault(queue.topic, {})[queue.queue_id] = queue
        self.recover(power_loss=False)

    def _illegal(self) -> EngineError:
        return EngineError(
            ResponseCode.MESSAGE_ILLEGAL,
            "the message is illegal, maybe msg body or properties length not matched. "
            f"msg body length limit {self.max_message_size}B, msg properties length limit 32KB.",
        )

    def recover(self, *, power_loss: bool) -> None:
        """Recover after a crash: with `power_loss` without the records that were not flushed, else with all records."""
        if power_loss:
            end = max(self._flushed_end(), self.log.min_offset)
            if self._on_lost is not None:
                self._on_lost(record for _, record in self.log.records_from(end))
            self.truncate(end)
        self._flush_position = FlushPosition(self._config, self._scheduler.now_ms, self.log.max_offset)
        self.empty_queues_read.clear()

    @property
    def flush_behind_bytes(self) -> int:
        """The number of bytes of the log that a power loss would lose now."""
        return self.log.max_offset - self._flushed_end()

    def _flushed_end(self) -> int:
        end = self._flush_position.flushed(self._scheduler.now_ms, self.log.max_offset)
        return end if self._lost_from is None else min(end, self._lost_from)

    def lose_flushes(self) -> None:
        """Lose all records of flushes from now on at a power loss, although the flushes are reported as done."""
        self._lost_from = self._flushed_end()

    def keep_flushes(self) -> None:
        """Lose no flushes any more: a power loss keeps all records of the log now, and all that are flushed later."""
        self._lost_from = None

    # reading

    def queue(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """Return the consume queue, or None if nothing was ever stored in it."""
        return self.queues.get((topic, queue_id))

    def note_empty_read(self, topic: str, queue_id: int) -> None:
        """Record that an empty queue was read."""
        self.empty_queues_read.setdefault(topic, set()).add(queue_id)

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Return the first offset of a queue, 0 if the queue is unknown."""
        queue = self.queues.get((topic, queue_id))
        if queue is None:
            self.note_empty_read(topic, queue_id)
            return 0
        return queue.first

    def offsets_of(self, topic: str, queue_id: int) -> tuple[int, int]:
        """Return `min_offset` and `max_offset` of a queue."""
        queue = self.queues.get((topic, queue_id))
        if queue is None:
            self.note_empty_read(topic, queue_id)
            return 0, 0
        first = queue.first
        return first, first + len(queue.physical)

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Return the next offset of a queue, 0 if the queue is unknown."""
        queue = self.queues.get((topic, queue_id))
        return queue.max_offset if queue is not None else 0

    def record(self, topic: str, queue_id: int, offset: int) -> bytes | None:
        """Return the record at a logical offset, or None."""
        queue = self.queues.get((topic, queue_id))
        if queue is None or not queue.first <= offset < queue.max_offset:
            return None
        physical_offset, size, _ = queue.unit(offset)
        return self.log.read(physical_offset, size)

    def store_timestamp(self, queue: ConsumeQueue, offset: int) -> int:
        """Return the store timestamp of the message at an offset that must exist."""
        segment, at, _ = self.log.part_of(queue.unit(offset)[0])
        return records.store_timestamp(segment, at)

    def search(self, topic: str, queue_id: int, timestamp: int, *, upper: bool) -> int:
        """Find the offset at a store timestamp, with the boundaries of `StoreTimeIndex.search`."""
        queue = self.queues.get((topic, queue_id))
        if queue is None:
            self.note_empty_read(topic, queue_id)
            return 0
        return self._time_index.search(queue, timestamp, upper=upper, stored_at=partial(self.store_timestamp, queue))

    def queues_of(self, topic: str) -> Iterator[ConsumeQueue]:
        """Return the consume queues of a topic that contain or contained messages."""
        return iter(list(self._of_topic.get(topic, {}).values()))

    def delete_topic(self, topic: str) -> None:
        """Delete the queues of a topic; the records stay in the log until it is trimmed, as in upstream."""
        for queue_id in self._of_topic.pop(topic, ()):
            del self.queues[topic, queue_id]
        self.empty_queues_read.pop(topic, None)

    def delete_drained_queues(self, is_kept: Callable[[str], bool]) -> None:
        """Delete queues without remaining messages, unless `is_kept(topic)` is True. Source: ConsumeQueueStore."""
        for topic, queue_id in [key for key, queue in self.queues.items() if queue.is_drained and not is_kept(key[0])]:
            del self.queues[topic, queue_id]
            del self._of_topic[topic][queue_id]

    def delete_unknown_topics(self, find: Callable[[str], object], is_kept: Callable[[str], bool]) -> None:
        """Delete the queues of topics for which `find` returns None and `is_kept` False, except LMQs.

        Source: DefaultMessageStore.cleanUnusedTopic.
        """
        for topic in list(self._of_topic):
            if find(topic) is None and not is_kept(topic) and not is_lmq(topic):
                self.delete_topic(topic)

    def _file_is_full(self) -> None:
        for on_full in self.full_files:
            on_full()

    def delete_oldest_files(self, count: int, reason: TrimReason) -> None:
        """Delete the `count` oldest files of the log; the last one stays."""
        self._trim_reason = reason
        self.log.drop_oldest(count)
        self._trim_reason = TrimReason.LIMIT

    def _trimmed(self, min_physical_offset: int) -> None:
        before, self._trimmed_to = self._trimmed_to, min_physical_offset
        if self._on_trimmed is not None and before < min_physical_offset:
            self._on_trimmed(self._trim_reason, before, min_physical_offset)
        self._time_index.trim(min_physical_offset)
        for queue in self.queues.values():
            queue.trim(min_physical_offset)
