"""Revive: what was popped and not acknowledged in time comes back through the pop retry topic.

Upstream scans each revive queue and treats a check point as decided once the newest time it has seen lies more than
2 s behind the end of the invisible time; while it waits it looks every 100 ms. Here the instant of that look is
computed from the first undecided check point, so nothing runs while nothing is due. Check points and
acknowledgements are read once, when they become readable. Source: PopReviveService (5.3.3).
"""

from collections.abc import Iterator
from itertools import takewhile

from . import properties as props
from . import record as records
from .check_point import ACK_TAG, BATCH_ACK_TAG, CK_TAG, Ack, CheckPoint, MergeKey, ReviveLog
from .config import BrokerConfig
from .consume_queue import ConsumeQueue
from .groups import Groups
from .names import REVIVE_GROUP, is_retry
from .offsets import Offsets
from .pop_in_flight import PopInFlight
from .redelivery import Redelivery
from .scheduler import Scheduler, Timer
from .store import MessageStore
from .topics import Topics

SLACK_MS = 2000
LOOK_MS = 100


class ReviveQueue:
    """One queue of the revive topic: undecided check points in the order in which they became readable."""

    def __init__(self, queue_id: int) -> None:
        self.queue_id = queue_id
        self.points: dict[MergeKey, CheckPoint] = {}
        self.timer: Timer | None = None


class ReviveService:
    """Decides the check points of all revive queues of a broker."""

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        store: MessageStore,
        topics: Topics,
        groups: Groups,
        offsets: Offsets,
        log: ReviveLog,
        redelivery: Redelivery,
        in_flight: PopInFlight,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._log = log
        self._redelivery = redelivery
        self._in_flight = in_flight
        self._start_ms = scheduler.now_ms
        self._queues: dict[int, ReviveQueue] = {}
        store.watchers[log.topic] = self.arrived
        for stored in list(store.queues_of(log.topic)):
            self._read_again(stored)

    def _read_again(self, stored: ConsumeQueue) -> None:
        """Go on after the last check point that is known to be decided."""
        decided = self._offsets.query(REVIVE_GROUP, self._log.topic, stored.queue_id)
        for offset in range(max(decided + 1, stored.min_offset), stored.max_offset):
            record = self._store.record(self._log.topic, stored.queue_id, offset)
            if record is not None:
                self.arrived(stored.queue_id, offset, records.decode(record).property_map())

    def arrived(self, queue_id: int, offset: int, properties: dict[str, str]) -> None:
        """A message of the revive topic: take note of it if it is a check point or an acknowledgement.

        Anybody may send to the revive topic; what cannot be read is left lying there.
        """
        record = self._store.record(self._log.topic, queue_id, offset)
        if record is None:
            return
        queue = self._queues.get(queue_id)
        if queue is None:
            queue = self._queues[queue_id] = ReviveQueue(queue_id)
        tag = properties.get(props.TAGS)
        body = records.decode(record).body
        try:
            if tag == CK_TAG:
                point = CheckPoint.from_json(body, offset)
                key = point.merge_key()
                # Of two with one key the later counts, and its place: else a crash after both would bring it again.
                queue.points.pop(key, None)
                queue.points[key] = point
                self._look_later(queue)
            elif tag in (ACK_TAG, BATCH_ACK_TAG):
                self._acknowledge(queue, Ack.from_json(body))
        except ValueError:
            return

    def undecided(self) -> Iterator[tuple[int, CheckPoint]]:
        """(when it is looked at, check point) of those that wait, queue by queue; those behind the first no sooner."""
        for queue in self._queues.values():
            if queue.timer is not None:
                for point in queue.points.values():
                    yield max(queue.timer.due_ms, point.revive_ms + SLACK_MS), point

    def _acknowledge(self, queue: ReviveQueue, ack: Ack) -> None:
        point = queue.points.get(ack.merge_key(self._config.broker_name))
        if point is not None:
            for offset in ack.offsets:
                point.acknowledge(offset)

    def _look_later(self, queue: ReviveQueue) -> None:
        if queue.timer is not None or not queue.points:
            return
        first = next(iter(queue.points.values()))
        decided_ms = max(first.revive_ms + SLACK_MS + 1, self._scheduler.now_ms + 1)
        looks = -(-(decided_ms - self._start_ms) // LOOK_MS)
        queue.timer = self._scheduler.call_at(
            self._start_ms + looks * LOOK_MS, lambda: self._look(queue), "revive", f"queue {queue.queue_id}"
        )

    def _look(self, queue: ReviveQueue) -> None:
        """Decide the check points at the head; an undecided one holds back those behind it, as upstream."""
        queue.timer = None
        now = self._scheduler.now_ms
        decided = list(takewhile(lambda point: now - point.revive_ms > SLACK_MS, queue.points.values()))
        for point in decided:
            del queue.points[point.merge_key()]
            self._offsets.commit(REVIVE_GROUP, self._log.topic, queue.queue_id, point.revive_offset)
            if self._topics.find(point.topic) is None and not is_retry(point.topic):
                continue
            if self._groups.find_or_create(point.group) is None:
                continue
            for offset in point.unacknowledged():
                self._redelivery.put(point.topic, point.group, point.queue_id, offset, point.pop_time)
                self._in_flight.done((point.topic, point.group, point.queue_id), point.pop_time)
        self._look_later(queue)
