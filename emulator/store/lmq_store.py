"""The store of a broker with `enableLmq`, which adds messages to light message queues (LMQ).

Source: CommitLog.DefaultAppendMessageCallback, LmqDispatch (5.3.3).
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from ..config import BrokerConfig
from ..history.events import TrimReason
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.scheduler import Scheduler
from ..message import properties as props
from ..message import stored_record as records
from ..message.batch import Part
from ..message.message import MessageToStore, StoredPosition
from ..message.names import is_lmq
from .consume_queue import ConsumeQueue
from .lmq_dispatch import LmqConsumeQueue, MultiDispatch
from .message_store import MessageStore
from .tags_code import tags_code_of


@mypyc_attr(allow_interpreted_subclasses=True)
class LmqStore(MessageStore):
    """A message store with LMQs."""

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
        super().__init__(
            config=config,
            scheduler=scheduler,
            clock=clock,
            store_host=store_host,
            max_bytes=max_bytes,
            batched=batched,
            on_lost=on_lost,
            on_trimmed=on_trimmed,
        )
        self._multi_dispatch = MultiDispatch(config, self._lmq_queue, self.arrivals)

    def _kind_of(self, topic: str) -> type[ConsumeQueue]:
        kind = super()._kind_of(topic)
        return LmqConsumeQueue if kind is ConsumeQueue and is_lmq(topic) else kind

    def _lmq_queue(self, name: str) -> LmqConsumeQueue | None:
        queue = self._find_or_create_queue(name, 0)
        return queue if isinstance(queue, LmqConsumeQueue) else None

    def append(self, message: MessageToStore, properties_text: str | None = None) -> StoredPosition:
        """Store a message unchanged, without the hooks; a message that names LMQs gets its offsets there.

        The whole record of such a message may not be larger than `maxMessageSize`. Raises the errors of the base class.
        """
        lmqs = self._multi_dispatch.assign_offsets(message)
        if lmqs:
            properties_text = props.encode(message.properties)
            body, text = len(message.body), len(properties_text.encode())
            size = records.encoded_size(message.born_host, self.store_host, message.topic.encode(), body, text)
            if size > self._config.max_message_size:
                raise self._illegal()
        stored = super().append(message, properties_text)
        for each in lmqs:
            each.next_dispatched += 1
        self._dispatch(message, stored)
        return stored

    def can_append_batch(self, parts: Sequence[Part], whole: MessageToStore, reserved: Iterable[str]) -> bool:
        """Return False: the LMQs that a message names are in its properties."""
        return False

    def append_part(self, message: MessageToStore) -> StoredPosition:
        """Store one message of a batch, which gets no LMQ offsets."""
        stored = super().append(message)
        self._dispatch(message, stored)
        return stored

    def _dispatch(self, message: MessageToStore, stored: StoredPosition) -> None:
        queued = not message.sys_flag & records.NOT_QUEUED
        queue = self.queues.get((message.topic, message.queue_id)) if queued else None
        tag = message.properties.get(props.TAGS, "")
        tags_code = tags_code_of(tag) if message.tags_code is None else message.tags_code
        unit = stored.physical_offset, stored.size, tags_code
        self._multi_dispatch.dispatch(queue, message.topic, message.properties, unit)

    def replicate(self, record: bytes, tags_code: int) -> None:
        """Store a record replicated from the master, and add it to its LMQs."""
        super().replicate(record, tags_code)
        if not records.is_readable(record):
            return
        found = records.decode(record)
        queued = not found.sys_flag & records.SYS_TRANSACTION_PREPARED
        queue = self.queues.get((found.topic, found.queue_id)) if queued else None
        unit = found.physical_offset, len(record), tags_code
        self._multi_dispatch.dispatch(queue, found.topic, found.property_map(), unit)

    def recover(self, *, power_loss: bool) -> None:
        """Recover after a crash; offset counters of LMQs continue at the end of each queue."""
        super().recover(power_loss=power_loss)
        for queue in self.queues.values():
            if isinstance(queue, LmqConsumeQueue):
                queue.begin()
