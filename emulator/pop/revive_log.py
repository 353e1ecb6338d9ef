"""The revive log: stores check points and acknowledgements of pops as messages, which the timer delivers to revive.

Source: PopMessageProcessor.buildCkMsg, AckMessageProcessor.appendAck, PopBufferMergeService (5.3.3).
"""

from ..kernel.errors import EngineError
from ..message import properties as props
from ..message.message import MessageToStore
from ..message.names import TIMER_TOPIC, revive_topic
from ..schedule.timer_service import TimerService
from ..stats.metric_counters import ACK, CHECK_POINT
from ..store.message_store import MessageStore
from .check_point import ACK_TAG, ACK_TIME_INTERVAL_MS, BATCH_ACK_TAG, CK_TAG, Ack, CheckPoint
from .pop_positions import PopPositions

_DUE, _REJECTED = -1, -2
_TIMED = props.encode(
    dict.fromkeys(
        (
            *(props.TAGS, props.UNIQ_KEY, props.TIMER_DELIVER_MS),
            *(props.TIMER_OUT_MS, props.REAL_TOPIC, props.REAL_QUEUE_ID),
        ),
        "%s",
    )
)
"""Format of the encoded properties of a message that waits in the timer, with `%s` for each value."""


class ReviveLog:
    """Stores check points and acknowledgements, which the timer then delivers to the revive topic."""

    def __init__(self, cluster: str, store: MessageStore, timers: TimerService) -> None:
        self.topic = revive_topic(cluster)
        self._store = store
        self._timers = timers
        self.positions = PopPositions(store)

    def write_check_point(self, point: CheckPoint, revive_qid: int) -> bool:
        """Store a check point, readable one second before its invisible duration ends.

        Returns False if the timer rejects it, because its invisible duration is longer than the longest delay.
        """
        key = f"{point.topic}@{point.queue_id}@{point.start_offset}@{point.group}@{point.pop_time}@{point.broker_name}"
        position = self._write(
            revive_qid,
            point.to_json(),
            CK_TAG,
            f"{key}@{CK_TAG}",
            deliver_ms=point.revive_ms - ACK_TIME_INTERVAL_MS,
            born_ms=self._store.now_ms,
        )
        if position >= 0:
            self.positions.note_point(point, position)
        return position != _REJECTED and self._count(point.group, point.topic, CHECK_POINT)

    def write_ack(self, ack: Ack, revive_qid: int, deliver_ms: int, now_ms: int, *, batch: bool) -> bool:
        """Store an acknowledgement, readable at `deliver_ms`, the end of the invisible duration.

        Returns False if the timer rejects it.
        """
        tag = BATCH_ACK_TAG if batch else ACK_TAG
        if ack.broker_name is None:
            key = f"{ack.topic}@{ack.queue_id}@{ack.offsets}@{ack.group}@{ack.pop_time}@{tag}"
        else:
            offset = -1 if batch else ack.offsets[0]
            key = f"{ack.topic}@{ack.queue_id}@{offset}@{ack.group}@{ack.pop_time}@{ack.broker_name}@{ACK_TAG}"
        body = ack.to_json(batch=batch)
        position = self._write(revive_qid, body, tag, key, deliver_ms=deliver_ms, born_ms=now_ms)
        if position >= 0:
            self.positions.note_ack((ack.topic, ack.group, ack.queue_id), ack.start_offset, position)
        return position != _REJECTED and self._count(ack.group, ack.topic, ACK)

    def _count(self, group: str, topic: str, kind: str) -> bool:
        self._store.stats.by_name.counters.revive_written[group, topic, kind] += 1
        return True

    def _write(self, queue_id: int, body: bytes, tag: str, key: str, *, deliver_ms: int, born_ms: int) -> int:
        """Store a message. Returns its position in the log, _DUE if it was due at once, _REJECTED if not stored."""
        store, topic = self._store, self.topic
        properties = {props.TAGS: tag, props.UNIQ_KEY: key, props.TIMER_DELIVER_MS: str(deliver_ms)}
        try:
            out_ms = None if store.is_hooked else self._timers.out_ms(deliver_ms)
            if out_ms is None:
                message = MessageToStore(topic, queue_id, body, properties, born_ms, store.store_host)
                stored = store.put(message)
                return _DUE if message.topic == topic else stored.physical_offset
            # Do what the timer's hook does, without reading the properties again.
            out, queue = str(out_ms), str(queue_id)
            properties[props.TIMER_OUT_MS] = out
            properties[props.REAL_TOPIC] = topic
            properties[props.REAL_QUEUE_ID] = queue
            message = MessageToStore(TIMER_TOPIC, 0, body, properties, born_ms, store.store_host)
            return store.append(message, _TIMED % (tag, key, deliver_ms, out, topic, queue)).physical_offset
        except EngineError:
            return _REJECTED
