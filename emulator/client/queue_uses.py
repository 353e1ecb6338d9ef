"""Use of queues by clients: requested queues, ends of long polls, and pulled messages.

The gate calls the methods with each pull and pop; `outcome` is None while the request waits for messages. A broker
learns the progress of a pull only from offsets, which any member of the group may commit, so a reader compares the
pulled messages with the committed offsets.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..gate.call import Call, Node, Outcome
from ..group.offset_requests import PENDING_RESET_REMARK
from ..history.delivery_record import BY_SLAVE, NO_HOLD
from ..history.record_keys import Link, Queue
from ..history.record_kind import RecordKind
from ..kernel.errors import EngineError
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.response_code import ResponseCode
from ..operations.base import Done
from ..operations.consume import (
    FLAG_COMMIT_OFFSET,
    Notification,
    PopMessage,
    PopResult,
    PullMessage,
    PullResult,
    PullStatus,
)
from ..operations.offsets import UpdateConsumerOffset
from .consumption import runs_of
from .delivery_context import DeliveryContext, Topic

Pulled = tuple[int, int, Sequence[int]]
"""A pull with messages: its number among the events, its instant (ms), and the queue offsets of the messages."""
ANY_QUEUE = -1
"""The queue id of pops of all queues."""
PULLS_MOST = 256
"""The maximum number of pulls that are kept of each client and queue. Above it the oldest is dropped: its messages are
no longer in flight. A commit passes the newer pulls no earlier, so they still show that the client holds messages."""
FIRST_SWEEP = 1_000
"""The number of used queues at which those of unregistered clients are removed for the first time."""
_PULLED = RecordKind.PULLED
_SENT_AGAIN = (ResponseCode.SUBSCRIPTION_NOT_EXIST, ResponseCode.SUBSCRIPTION_NOT_LATEST)
"""Errors after which SDKs send the same request again, because the broker did not know the subscription yet."""


@dataclass(slots=True, eq=False)
class QueueUse:
    """The use of one queue of a topic, or of all its queues, by one client for one group."""

    queue: Queue
    link: Link
    """Its keys in the delivery record."""
    numbers: tuple[int, int] = (0, 0)
    """The numbers of these keys."""
    numbers_version: int = 0
    """The version of the record's keys to which the numbers belong; 0 before the first delivery."""
    requested: bool = False
    """True after a pull or pop, except one that failed with an error of `_SENT_AGAIN`."""
    requested_ms: int = 0
    """The time of the last pull or pop, or of the end of its long poll (ms); 0 before the first."""
    ended: int = 0
    """Number of the event that ended the client's last long poll; 0 while one waits, or if there was none.

    Each pull counts as a long poll, also one that returns at once.
    """
    ended_ms: int = 0
    pulled: deque[Pulled] | None = None
    """The newest pulls with messages. Those below a committed offset are dropped when a pull commits it, and when
    `Deliveries` reads the messages in flight, but not when UpdateConsumerOffset commits it."""
    committed: int = -1
    """The offset that the client committed last, -1 if it has committed none. Most pulls repeat it."""

    def drop_committed(self, committed: int) -> None:
        """Drop the oldest pulls, up to the first one with a message that is not below a committed offset."""
        pulled = self.pulled
        while pulled and pulled[0][2][-1] < committed:
            pulled.popleft()

    def next_pulled(self) -> int:
        """Return the offset after the newest pulled message that is kept, -1 if none is."""
        if not self.pulled:
            return -1
        _, _, offsets = self.pulled[-1]
        return offsets[-1] + 1


Queues = dict[Topic, dict[int, QueueUse]]


@mypyc_attr(allow_interpreted_subclasses=True)
class QueueUses:
    """The used queues of all brokers, by channel id, topic and queue id."""

    def __init__(self, context: DeliveryContext) -> None:
        self._context = context
        self._record = context.history.record
        self._moves = context.history.offset_moves
        self._clients: dict[str, Queues] = {}
        self._uses = 0
        self._sweep_at = FIRST_SWEEP

    # listeners of the gate

    def pulled(self, node: Node, call: Call, operation: PullMessage, outcome: Outcome | None) -> None:
        """Record a pull: its request, the end of its long poll, the offset that it commits, and its messages."""
        topic, channel_id = (node.name, operation.consumer_group, operation.topic), call.channel.channel_id
        if outcome is not None and not isinstance(outcome, PullResult):
            self._failed(channel_id, topic, operation.queue_id, outcome)
            return
        if self._moves.unnamed:
            self._context.history.name_moves(node.name, channel_id)
        use = self._use(channel_id, topic, operation.queue_id)
        use.requested_ms = self._context.scheduler.now_ms
        if not use.requested:
            use.requested = True
            self._context.watch.first_request(node, call, operation)
        pulled = use.pulled
        if operation.sys_flag & FLAG_COMMIT_OFFSET:
            committed = operation.commit_offset
            if committed != use.committed and not _is_slave(node):
                self._committed(use, committed)
            use.drop_committed(committed)
        if outcome is None:
            use.ended = 0
            return
        context = self._context
        context.last_number = use.ended = number = context.last_number + 1
        use.ended_ms = now_ms = context.scheduler.now_ms
        if outcome.status is PullStatus.FOUND and outcome.offsets:
            if pulled is None:
                pulled = use.pulled = deque(maxlen=PULLS_MOST)
            pulled.append((number, now_ms, outcome.offsets))
            if call.active:
                self._record_pulled(node, use, outcome)

    def committed(self, node: Node, call: Call, operation: UpdateConsumerOffset, outcome: Outcome | None) -> None:
        """Record that a client committed an offset. A pending reset of the offset makes its commit a no-op."""
        queue_id, offset = operation.queue_id, operation.commit_offset
        accepted = isinstance(outcome, Done) and outcome.remark != PENDING_RESET_REMARK
        if not accepted or queue_id is None or offset is None:
            return
        topic, channel_id = (node.name, operation.consumer_group, operation.topic), call.channel.channel_id
        self._context.history.name_moves(node.name, channel_id)
        use = self._clients.get(channel_id, {}).get(topic, {}).get(queue_id)
        if use is None:
            use = QueueUse((node.name, operation.topic, queue_id), (operation.consumer_group, channel_id))
        if offset != use.committed:
            self._committed(use, offset)

    def popped(self, node: Node, call: Call, operation: PopMessage, outcome: Outcome | None) -> None:
        """Record a pop: its request, and the end of its long poll."""
        topic, channel_id = (node.name, operation.consumer_group, operation.topic), call.channel.channel_id
        if outcome is not None and not isinstance(outcome, PopResult):
            self._failed(channel_id, topic, operation.queue_id, outcome, polled=operation.poll_ms > 0)
            return
        use = self._use(channel_id, topic, operation.queue_id)
        use.requested_ms = self._context.scheduler.now_ms
        if not use.requested:
            use.requested = True
            self._context.watch.first_request(node, call, operation)
        if outcome is None or operation.poll_ms <= 0:
            use.ended = 0
        else:
            self._poll_ended(use)

    def notified(self, node: Node, call: Call, operation: Notification, outcome: Outcome | None) -> None:
        """Record a notification request: a client waits for messages, or the proxy does before it pops for it."""
        if isinstance(outcome, EngineError):
            return
        topic = (node.name, operation.consumer_group, operation.topic)
        use = self._use(call.channel.channel_id, topic, operation.queue_id)
        if outcome is None:
            use.ended = 0
        else:
            self._poll_ended(use)

    def lost(self, node: Node, call: Call, operation: PullMessage | PopMessage, _outcome: Outcome | None) -> None:
        """Record a request that a rule of faults keeps from the broker: its client waits for the response."""
        topic, channel_id = (node.name, operation.consumer_group, operation.topic), call.channel.channel_id
        if self._context.may_request(channel_id, topic, operation.queue_id):
            use = self._use(channel_id, topic, operation.queue_id)
            use.requested, use.ended = True, 0
            use.requested_ms = self._context.scheduler.now_ms

    def closed(self, channel_id: str) -> None:
        """Forget a closed channel."""
        for queues in self._clients.pop(channel_id, {}).values():
            self._uses -= len(queues)

    def sent_back(self, channel_id: str, topic: Topic, queue_id: int, offset: int) -> None:
        """Remove a message that a client has pulled and sent back."""
        use = self._clients.get(channel_id, {}).get(topic, {}).get(queue_id)
        if use is None or not use.pulled:
            return
        for at, (number, since_ms, offsets) in enumerate(use.pulled):
            if offset in offsets:
                left = [each for each in offsets if each != offset]
                if left:
                    use.pulled[at] = (number, since_ms, left)
                else:
                    del use.pulled[at]
                return

    # readers

    def has_requested(self, channel_id: str, topic: Topic, queue_id: int) -> bool:
        """True if a client has requested a queue, or with ANY_QUEUE any queue of the topic."""
        queues = self._clients.get(channel_id, {}).get(topic, {})
        wanted = queues if queue_id == ANY_QUEUE else (queue_id, ANY_QUEUE)
        return any(each in queues and queues[each].requested for each in wanted)

    def __iter__(self) -> Iterator[tuple[str, Topic, int, QueueUse]]:
        """Yield (channel id, topic, queue id, use) of all clients."""
        for channel_id, topics in list(self._clients.items()):
            for topic, queues in list(topics.items()):
                for queue_id, use in list(queues.items()):
                    yield channel_id, topic, queue_id, use

    def _use(self, channel_id: str, topic: Topic, queue_id: int) -> QueueUse:
        """Return the use of a queue by a client, created at its first request."""
        if queue_id < 0:
            queue_id = ANY_QUEUE
        try:
            return self._clients[channel_id][topic][queue_id]
        except KeyError:
            if self._uses >= self._sweep_at:
                self._sweep()
            self._uses += 1
            node, group, name = topic
            use = QueueUse((node, name, queue_id), (group, channel_id))
            self._clients.setdefault(channel_id, {}).setdefault(topic, {})[queue_id] = use
            return use

    def _committed(self, use: QueueUse, offset: int) -> None:
        """Record a commit of a client. `use` still has the messages that the client had pulled before."""
        use.committed = offset
        history, queue, link = self._context.history, use.queue, use.link
        tables, group = self._context.tables(queue[0]), link[0]
        if tables is None or tables.is_static(queue[1]):
            return  # the broker commits in the physical queues of a static topic
        read_from = use.pulled[0][2][0] if use.pulled else None
        first = history.commits.advance(group, queue, offset, read_from=read_from)
        if first is not None:
            history.offset_moves.began(group, queue, committed=offset, at=first)
            now_ms = self._context.scheduler.now_ms
            history.record.append_commit(now_ms, queue, link, first=first, end=offset)

    def _record_pulled(self, node: Node, use: QueueUse, outcome: PullResult) -> None:
        """Append messages that were pulled to the delivery record, by the broker and queue that stores them."""
        offsets, queue, link = outcome.offsets, use.queue, use.link
        first, record, now_ms = offsets[0], self._record, self._context.scheduler.now_ms
        flags = BY_SLAVE if _is_slave(node) else 0
        if outcome.read_part is not None:
            queue = (outcome.read_part[0], queue[1], outcome.read_part[1])
        elif offsets[-1] - first == len(offsets) - 1:
            if use.numbers_version != record.keys_version:
                use.numbers, use.numbers_version = record.numbers_of(queue, link), record.keys_version
            queue_number, link_number = use.numbers
            record.append_numbered(_PULLED, now_ms, queue_number, link_number, first, len(offsets), flags)
            return
        for first, count in runs_of(offsets):
            record.append(_PULLED, now_ms, queue, link, first, count, NO_HOLD, flags)

    def _failed(self, channel_id: str, topic: Topic, queue_id: int, outcome: Outcome, *, polled: bool = True) -> None:
        """Record a request without success, if its group subscribes to the topic; a client may send any names."""
        if not self._context.may_request(channel_id, topic, queue_id):
            return
        use = self._use(channel_id, topic, queue_id)
        if not isinstance(outcome, EngineError) or outcome.code not in _SENT_AGAIN:
            use.requested, use.requested_ms = True, self._context.scheduler.now_ms
        if polled:
            self._poll_ended(use)
        else:
            use.ended = 0

    def _poll_ended(self, use: QueueUse) -> None:
        use.ended, use.ended_ms = self._context.next_number(), self._context.scheduler.now_ms

    def _sweep(self) -> None:
        is_member = self._context.is_member
        self._clients = {
            channel_id: left
            for channel_id, topics in self._clients.items()
            if (left := {topic: each for topic, each in topics.items() if is_member(*topic[:2], channel_id)})
        }
        self._uses = sum(len(queues) for topics in self._clients.values() for queues in topics.values())
        self._sweep_at = max(FIRST_SWEEP, 2 * self._uses)


def _is_slave(node: Node) -> bool:
    """True for a slave. Every node that carries out pulls is a broker, but the gate knows less about it."""
    return not getattr(node, "is_master", True)
