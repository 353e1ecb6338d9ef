"""Pop with KV records (`popConsumerKVServiceEnable`): a record for each message in flight, instead of check points.

Clients can notice these differences. The revive queue id is 0. Redelivery comes at most 0.6 s after the end of the
invisible duration (check points: 2 to 5 s). Retry messages carry the name of the retry topic. Exactly every fifth pop
reads the retry topic first. Queues are read in rotation.

The group's offset is the start of the last read of a queue. After a crash the group therefore reads those messages
again, acknowledged or not. Source: PopConsumerService (5.3.3).

Deliberate difference: upstream loses a message if the changed invisible duration ends at the same millisecond as the
old one; the emulator keeps it.
"""

from collections.abc import Iterator

from ..config import BrokerConfig
from ..group.offset_table import OffsetTable
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.switch import Switch
from ..message.names import pop_retry_topic
from ..message.receipt import NORMAL, RETRY_V1, RETRY_V2, Receipt
from ..operations.consume import PoppedMessage, PullStatus
from ..operations.topics import TopicConfig
from ..pull.queue_reader import QueueReader, Read
from ..store.message_store import MessageStore
from .consumer_order_info import OrderInfoTable
from .pop_batch import READ_AGAIN, PopBatch, reconsume_times_of, with_receipt
from .pop_init_offset import PopInitOffsets
from .pop_kv_cache import PopKvCache
from .pop_kv_records import DueRecordScan, PopRecord, PopRecords
from .pop_retry_writer import PopRetryWriter

PREFER_RETRY_INTERVAL = 5
BACK_OFF_S = (10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""Seconds added to the invisible duration after each failed redelivery of a message."""


class PopKvService:
    """Pops, acknowledges and redelivers messages by records."""

    def __init__(  # noqa: PLR0913 - one service pops, records and redelivers
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        store: MessageStore,
        offsets: OffsetTable,
        init_offsets: PopInitOffsets,
        reader: QueueReader,
        orders: OrderInfoTable,
        records: PopRecords,
        retry_writer: PopRetryWriter,
        switch: Switch,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._offsets = offsets
        self._init_offsets = init_offsets
        self._reader = reader
        self._orders = orders
        self._retry_writer = retry_writer
        self._request_counts: dict[tuple[str, str], int] = {}
        self._switch = switch
        self._scan = DueRecordScan(scheduler, records, self._revive, switch)
        self._cache: PopKvCache | None = None
        if config.enable_pop_buffer_merge:
            self._cache = PopKvCache(
                config=config, scheduler=scheduler, offsets=offsets, revive=self._revive_cached, store=self._scan.write
            )

    # pops

    def collect(self, batch: PopBatch, topic: TopicConfig) -> None:
        """Read the queues of a pop into its batch and write the records."""
        operation = batch.operation
        name, order = topic.topic_name, operation.order
        turn = self._request_counts.get((operation.consumer_group, name), 0)
        self._request_counts[operation.consumer_group, name] = turn + 1
        retry_first = turn % PREFER_RETRY_INTERVAL == 0
        found: list[tuple[int, list[PopRecord]]] = []
        if retry_first and not order:
            found += self._collect_retry(batch)
        if operation.queue_id != -1:
            found += self._collect_queue(batch, name, operation.queue_id, NORMAL)
        else:
            for step in range(topic.read_queue_nums):
                found += self._collect_queue(batch, name, (turn + step) % topic.read_queue_nums, NORMAL)
            if not retry_first and not order:
                found += self._collect_retry(batch)
        if found and not order:
            out = [record for _, records in found for record in records]
            if self._cache is None or not self._config.enable_pop_buffer_merge or not self._cache.write(out):
                self._scan.write(out)
            if self._config.pop_response_return_actual_retry_topic:
                self._add_receipts(batch, found, out)

    def _collect_retry(self, batch: PopBatch) -> list[tuple[int, list[PopRecord]]]:
        config, operation = self._config, batch.operation
        found = []
        for wanted, digit in (
            (config.retrieve_message_from_pop_retry_topic_v1, RETRY_V1),
            (config.enable_retry_topic_v2, RETRY_V2),
        ):
            if wanted:
                name = pop_retry_topic(operation.topic, operation.consumer_group, v2=digit == RETRY_V2)
                found += self._collect_queue(batch, name, 0, digit)
        return found

    def _collect_queue(
        self, batch: PopBatch, topic: str, queue_id: int, digit: int
    ) -> list[tuple[int, list[PopRecord]]]:
        """Read one queue; return its records with the index of their first message in the batch (at most one pair)."""
        operation = batch.operation
        group = operation.consumer_group
        group_queue = (topic, group, queue_id)
        if operation.order and self._orders.blocks(group_queue, operation.attempt_id, operation.invisible_ms):
            return []
        if batch.free_slots <= 0:
            batch.rest_num += self._store.max_offset(topic, queue_id) - self._offsets.query(group, topic, queue_id)
            return []
        offset = self._read_offset(group_queue, operation.init_mode)
        read = batch.read(self._reader, topic, queue_id, offset)
        if read.status in READ_AGAIN:
            self._offsets.commit(group, topic, queue_id, read.next_offset)
            read = batch.read(self._reader, topic, queue_id, read.next_offset)
        found = []
        if read.status is PullStatus.FOUND:
            found = [(len(batch.messages), self._deliver(batch, topic, queue_id, digit, offset, read))]
        if operation.order:
            self._offsets.commit(group, topic, queue_id, offset if found else read.next_offset)
        else:
            self._offsets.set_pull_offset(group, topic, queue_id, read.next_offset)
            buffered_offset = -1 if self._cache is None else self._cache.first_offset(group_queue)
            self._offsets.commit(group, topic, queue_id, offset if buffered_offset < 0 else buffered_offset)
        return found

    def _read_offset(self, group_queue: tuple[str, str, int], init_mode: int) -> int:
        topic, group, queue_id = group_queue
        offset = self._offsets.pull_offset(group, topic, queue_id)
        if offset < 0:
            offset = self._offsets.query(group, topic, queue_id)
        if offset < 0:
            offset = self._init_offsets.init_offset(topic, group, queue_id, init_mode)
        reset = self._init_offsets.take_reset(topic, group, queue_id)
        if reset is None:
            return offset
        self.clear(group_queue)
        return reset

    def _deliver(  # noqa: PLR0917 - once per queue of a pop; keywords would cost time
        self, batch: PopBatch, topic: str, queue_id: int, digit: int, start_offset: int, read: Read
    ) -> list[PopRecord]:
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
        batch.add_header_info(queue_id, digit, start_offset, read)
        batch.rest_num += read.max_offset - read.next_offset
        for record, offset, physical in zip(read.records, read.offsets, read.physical_offsets, strict=True):
            times = reconsume_times_of(record)
            batch.messages.append(PoppedMessage(record, digit, queue_id, offset, start_offset, physical, times))
        return [
            PopRecord(batch.pop_time, group, topic, queue_id, operation.invisible_ms, offset) for offset in read.offsets
        ]

    def _add_receipts(self, batch: PopBatch, found: list[tuple[int, list[PopRecord]]], out: list[PopRecord]) -> None:
        """Set the receipt handles of retry messages as the property POP_CK.

        Upstream has a defect, which the emulator repeats. For the i-th queue with messages it takes the topic from the
        i-th record of all queues together, and the queue id of that record as start offset. Clients can acknowledge
        nevertheless, because the broker uses neither value.
        """
        for index, (first, records) in enumerate(found):
            guess = out[index]
            digit = batch.messages[first].topic_digit
            if guess.topic == batch.operation.topic or digit == NORMAL:
                continue
            for at, record in enumerate(records, first):
                receipt = Receipt(
                    guess.queue_id,
                    batch.pop_time,
                    record.invisible_ms,
                    0,
                    str(digit),
                    self._config.broker_name,
                    record.queue_id,
                    record.offset,
                )
                batch.messages[at].record = with_receipt(batch.messages[at].record, guess.topic, receipt)

    # acknowledgements

    def acknowledge(self, record: PopRecord) -> None:
        """Delete the record of a message in flight; a missing record is not an error."""
        cache = self._cache if self._config.enable_pop_buffer_merge else None
        if cache is None or not cache.delete(record.group_queue, record.offset):
            self._scan.delete(record.key())

    def change(self, old: PopRecord, new: PopRecord) -> None:
        """Change when a message becomes visible; the new record is stored, never kept only in memory."""
        self.acknowledge(old)
        self._scan.write([new])

    def cached(self) -> Iterator[PopRecord]:
        """Yield the records that are only in memory."""
        return iter(()) if self._cache is None else self._cache.records()

    def fork_state(self) -> tuple[dict[tuple[str, str], int], list[PopRecord]]:
        """Return for a fork the number of pops by group and topic, and the records that are only in memory."""
        return self._request_counts.copy(), list(self.cached())

    def continue_from(self, state: tuple[dict[tuple[str, str], int], list[PopRecord]]) -> None:
        """Start with the counts and records of another broker. Without a cache the records are stored."""
        self._request_counts, in_memory = state
        if self._cache is None:
            self._scan.write(in_memory)
        else:
            self._cache.restore(in_memory)

    def take_all(self) -> list[PopRecord]:
        """Remove and return all stored records, in the order of their keys; those only in memory stay."""
        return self._scan.take_all()

    def clear(self, group_queue: tuple[str, str, int]) -> None:
        """Delete the in-memory records of a queue, as an offset reset does."""
        if self._cache is not None:
            self._cache.clear(group_queue)

    # redelivery

    def redeliver_now(self, topic: str, group: str, queue_id: int, offset: int) -> bool:
        """Redeliver a message before the next scan, as a fault rule demands.

        Returns False if redelivery is stopped or there is no record of the message.
        """
        return self._scan.revive_now((topic, group, queue_id), offset)

    def _revive_cached(self, record: PopRecord) -> None:
        """Redeliver a message whose record is only in memory, or store the record if redelivery is stopped."""
        if self._switch.stopped:
            self._scan.write([record])
        else:
            self._revive(record)

    def _revive(self, record: PopRecord) -> PopRecord | None:
        """Redeliver a message. If that fails, return the record that retries it later.

        Returns None on success and after the last attempt.
        """
        if self._retry_writer.put(record.topic, record.group, record.queue_id, record.offset, pop_time=record.pop_time):
            return None
        if record.attempts >= self._config.pop_revive_max_attempt_times:
            return None
        back_off_ms = 1000 * BACK_OFF_S[min(record.attempts, len(BACK_OFF_S) - 1)]
        return PopRecord(
            self._scheduler.now_ms,
            record.group,
            record.topic,
            record.queue_id,
            record.invisible_ms + back_off_ms,
            record.offset,
            record.attempts + 1,
        )


def not_initialized() -> EngineError:
    """Return the error for KV records that are enabled but not initialized (upstream: null pointer exception)."""
    return EngineError(
        ResponseCode.SYSTEM_ERROR,
        "popConsumerKVServiceEnable is true, but popConsumerKVServiceInit was not at the start",
    )
