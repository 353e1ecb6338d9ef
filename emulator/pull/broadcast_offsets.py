"""Consumer offsets of broadcasting clients, which the broker records in addition to the clients themselves.

Every five seconds the broker commits, for each queue, the offset of the slowest client of a group. It commits it under
the group name with the suffix `@broadcast`. Source: BroadcastOffsetManager (5.3.3), without its offsets of clients that
a proxy serves.
"""

from dataclasses import field

from ..client.client_registry import ClientRegistry
from ..config import BrokerConfig
from ..gate.call import Call
from ..group.offset_table import OffsetTable
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import value
from ..operations.clients import BROADCASTING, PASSIVELY
from ..operations.consume import PullMessage

SCAN_PERIOD_MS = 5_000


@value
class _Reader:
    """One broadcasting client: the time of its last pull (ms since the epoch), and its offsets by queue id."""

    pulled_ms: int
    offsets: dict[int, int] = field(default_factory=dict)


class BroadcastOffsets:
    """The broadcasting clients of one broker, by topic and group."""

    def __init__(
        self, config: BrokerConfig, scheduler: Scheduler, clients: ClientRegistry, offsets: OffsetTable
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._clients = clients
        self._offsets = offsets
        self._start_ms = scheduler.now_ms
        self._readers: dict[tuple[str, str], dict[str, _Reader]] = {}
        """The clients by client id, by (topic, group)."""

    def record_pull(self, call: Call, operation: PullMessage, code: ResponseCode, next_offset: int) -> None:
        """Record a pull that was carried out, parked or resumed: its client has consumed all messages before it.

        `code` and `next_offset` are those of the pull's response. If the broker corrected the pull's offset, the client
        continues from `next_offset`.
        """
        group = self._clients.consumers.get(operation.consumer_group)
        if group is None or group.message_model != BROADCASTING or group.consume_type != PASSIVELY:
            return
        member = group.members.get(call.channel.channel_id)
        if member is None or not self._config.enable_broadcast_offset_store:
            return
        offset = next_offset if code is ResponseCode.PULL_OFFSET_MOVED else operation.queue_offset
        if not self._readers:
            elapsed = self._scheduler.now_ms - self._start_ms
            self._scan_at(self._start_ms + (elapsed // SCAN_PERIOD_MS + 1) * SCAN_PERIOD_MS)
        readers = self._readers.setdefault((operation.topic, operation.consumer_group), {})
        reader = readers.setdefault(member.client_id, _Reader(self._scheduler.now_ms))
        reader.pulled_ms = self._scheduler.now_ms
        reader.offsets[operation.queue_id] = max(offset, reader.offsets.get(operation.queue_id, offset))

    def _scan_at(self, due_ms: int) -> None:
        self._scheduler.call_at(due_ms, self._scan, TimerKind.BROADCAST_OFFSETS)

    def _scan(self) -> None:
        """Commit the lowest offset of each queue, and forget clients that have not pulled for too long.

        An offline client counts for `broadcastOffsetExpireSecond`. An online client counts always, but its offsets are
        deleted if it has not pulled for `broadcastOffsetExpireMaxSecond`.
        """
        for (topic, group), readers in list(self._readers.items()):
            slowest: dict[int, int] = {}
            for client_id, reader in list(readers.items()):
                silent_s = (self._scheduler.now_ms - reader.pulled_ms) / 1000
                online = self._clients.is_consumer(group, client_id)
                if online or silent_s < self._config.broadcast_offset_expire_second:
                    for queue_id, offset in reader.offsets.items():
                        slowest[queue_id] = min(offset, slowest.get(queue_id, offset))
                kept_s = (
                    self._config.broadcast_offset_expire_max_second
                    if online
                    else self._config.broadcast_offset_expire_second
                )
                if silent_s >= kept_s:
                    del readers[client_id]
            if not readers:
                del self._readers[topic, group]
            for queue_id, offset in slowest.items():
                self._offsets.commit(f"{group}@broadcast", topic, queue_id, offset)
        if self._readers:
            self._scan_at(self._scheduler.now_ms + SCAN_PERIOD_MS)
