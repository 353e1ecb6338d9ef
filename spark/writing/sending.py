"""Sends messages with many requests in flight; each is acknowledged or retried, and ordered queues keep their order.

Brokers process requests of one connection in parallel. So a queue that rows select (by number or sharding key) has one
request in flight at a time. Other rows share all queues. Unacknowledged messages are sent again and may be stored
twice. Source: DefaultMQProducerImpl, SendMessageProcessor (5.3.3).
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field

from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.remoting.client import RemotingClient, batch_body
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ..cluster.cluster import Cluster, describe_error, is_credentials_error
from ..cluster.connections import LOST, reason
from ..errors import ClusterError, RowError, SendError
from ..options.offsets import MessageQueue
from ..options.options import SinkOptions
from .messages import Outgoing

STORED = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
    }
)
"""Acknowledgements: the message is stored, even if its flush or replication timed out."""

RETRYABLE = frozenset(
    {
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.NO_PERMISSION,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.GO_AWAY,
    }
)
"""Response codes after which Java's producer retries; here not if credentials were rejected."""

BATCH_BYTES_MAX = 1 << 20
"""Maximum of body bytes in one request; brokers accept 4 MiB in total."""


@dataclass
class Sent:
    """Result of a task: number of messages, in total and in each queue."""

    count: int = 0
    queues: dict[MessageQueue, tuple[int, int, int]] = field(default_factory=dict)
    """Of each queue, the first and the last offset of its messages and their number."""

    def note(self, queue: MessageQueue, count: int, offset: int) -> None:
        """Record messages stored at offsets from `offset` on."""
        known = self.queues.get(queue)
        last = offset + count - 1
        first, end, before = known if known is not None else (offset, last, 0)
        self.queues[queue] = (min(first, offset), max(end, last), before + count)
        self.count += count


@dataclass
class _Request:
    queue: MessageQueue
    ordered: bool
    messages: list[Outgoing] = field(default_factory=list)
    bytes: int = 0
    _: KW_ONLY
    attempts: int = 0
    client: RemotingClient | None = None
    """The connection of the request; another connection to the same broker cannot receive its response."""
    opaque: int = 0


Acknowledged = Callable[[MessageQueue, list[Outgoing], RemotingCommand], None]
"""Gets the queue of the messages, the messages and the broker's response."""


class Sender:
    """Sends a task's messages. `on_stored` is called with each acknowledgement.

    `first`: index of the queue that gets the first message without a selected queue. `sys_flag`: that of all messages.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: SinkOptions,
        *,
        first: int = 0,
        on_stored: Acknowledged | None = None,
        sys_flag: int = 0,
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._first = first
        self._on_stored = on_stored
        self._sys_flag = sys_flag
        self._queues: dict[str, tuple[MessageQueue, ...]] = {}
        self._next: dict[str, int] = {}
        self._waiting: dict[MessageQueue, deque[_Request]] = {}
        self._busy: set[MessageQueue] = set()
        """Queues with an ordered request in flight."""
        self._in_flight: deque[_Request] = deque()
        self.sent = Sent()

    def send(self, messages: Iterable[Outgoing]) -> None:
        """Send messages, and return once fewer than `sendWindow` requests are unacknowledged.

        Raises SendError, ClusterError, or RowError if a queue does not exist.
        """
        for request in self._requests(messages):
            self._waiting.setdefault(request.queue, deque()).append(request)
        self._work(rest=self._options.send_window - 1)

    def finish(self) -> Sent:
        """Wait for all acknowledgements. Raises SendError, ClusterError."""
        self._work(rest=0)
        return self.sent

    # --- from messages to requests

    def _requests(self, messages: Iterable[Outgoing]) -> list[_Request]:
        """Group messages into requests; rows without a selected queue fill one request after the other."""
        most = self._options.send_batch_size
        made: list[_Request] = []
        filling: dict[str | tuple[MessageQueue, bool], _Request] = {}
        for message in messages:
            alone = most == 1 or message.delayed
            key = message.topic if message.queue_selection is None else (self._queue(message), message.ordered)
            request = filling.get(key)
            if alone or request is None or not _has_room(request, message, most):
                request = _Request(self._queue(message), message.ordered)
                made.append(request)
                if alone:
                    filling.pop(key, None)  # nothing of its queue may overtake it
                else:
                    filling[key] = request
            request.messages.append(message)
            request.bytes += len(message.body)
        return made

    def _queue(self, message: Outgoing) -> MessageQueue:
        queues = self._queues.get(message.topic) or self._look_up(message.topic)
        queue_selection = message.queue_selection
        if queue_selection is None:
            at = self._next.get(message.topic, self._first)
            self._next[message.topic] = at + 1
            return queues[at % len(queues)]
        if isinstance(queue_selection, str):
            return queues[(props.string_hash(queue_selection) & 0x7FFFFFFF) % len(queues)]
        if isinstance(queue_selection, int):
            return self._numbered(queues, queue_selection, f"topic {message.topic}")
        broker, number = queue_selection
        of_broker = tuple(each for each in queues if each.broker == broker)
        if not of_broker:  # the row was read from another cluster
            return self._numbered(queues, number, f"topic {message.topic}")
        return self._numbered(of_broker, number, f"topic {message.topic} on {broker}")

    @staticmethod
    def _numbered(queues: tuple[MessageQueue, ...], number: int, what: str) -> MessageQueue:
        if number >= len(queues):
            raise RowError(
                f"queueId is {number}; {what} has {len(queues)} queues to write; "
                'write to any queue by leaving the column out, as with drop("queueId")'
            )
        return queues[number]

    def _look_up(self, topic: str) -> tuple[MessageQueue, ...]:
        route = self._cluster.route(topic)
        if route is None or not route.writable:
            servers = ", ".join(self._options.name_server)
            why = (
                f"name servers {servers} know no broker that has it"
                if route is None
                else "no master of it can be written"
            )
            raise ClusterError(f"topic {topic} has no route for a write: {why}")
        self._queues[topic] = route.writable
        return route.writable

    # --- requests in flight

    def _work(self, rest: int) -> None:
        """Keep the window full until at most `rest` requests are in flight and none waits."""
        while True:
            self._submit()
            if not self._in_flight or (len(self._in_flight) <= rest and not self._ready()):
                return
            self._handle_response(self._in_flight.popleft())

    def _ready(self) -> bool:
        return any(self._waiting.values())

    def _submit(self) -> None:
        window = self._options.send_window
        room = window - len(self._in_flight)
        if room < max(1, window // 2):
            return  # one write for several requests costs less
        chosen: dict[str, list[_Request]] = {}
        for queue in list(self._waiting):
            waiting = self._waiting[queue]
            while waiting and room > 0:
                request = waiting[0]
                if request.ordered and queue in self._busy:
                    break
                waiting.popleft()
                if request.ordered:
                    self._busy.add(queue)
                chosen.setdefault(queue.broker, []).append(request)
                room -= 1
            if not waiting:
                del self._waiting[queue]
        for broker, requests in chosen.items():
            self._write(broker, requests)

    def _write(self, broker: str, requests: list[_Request]) -> None:
        self._in_flight.extend(requests)
        now = int(time.time() * 1000)
        by_code: dict[RequestCode, list[_Request]] = {}
        for request in requests:
            many = len(request.messages) > 1
            by_code.setdefault(RequestCode.SEND_BATCH_MESSAGE if many else RequestCode.SEND_MESSAGE_V2, []).append(
                request
            )
        try:
            client = self._cluster.connections.to(self._cluster.address(broker))
            for code, some in by_code.items():
                opaques = client.submit_many(code, [self._encoded(request, now) for request in some])
                for request, opaque in zip(some, opaques, strict=True):
                    request.client, request.opaque = client, opaque
        except LOST:
            # Collecting the responses shows if the requests were sent.
            self._cluster.connections.drop(self._cluster.address(broker))

    def _encoded(self, request: _Request, now: int) -> tuple[dict[str, object], bytes]:
        first = request.messages[0]
        many = len(request.messages) > 1
        fields: dict[str, object] = {
            "a": self._options.producer_group,
            "b": request.queue.topic,
            "c": AUTO_CREATE_TOPIC,
            "d": 4,
            "e": request.queue.queue_id,
            "f": self._sys_flag,
            "g": now,
            "h": first.flag,
            "i": "" if many else first.properties,
            "j": 0,
            "k": False,
            "m": many,
        }
        if not many:
            return fields, first.body
        return fields, batch_body([(each.body, each.properties) for each in request.messages], first.flag)

    def _handle_response(self, request: _Request) -> None:
        queue = request.queue
        try:
            if request.client is None:
                raise ConnectionError("there is no connection")
            response = request.client.collect(request.opaque, self._options.send_timeout_ms / 1000)
        except LOST as error:
            self._lost(queue.broker, request, reason(error))
            return
        if response.code in STORED:
            self._busy.discard(queue)
            fields = response.ext_fields or {}
            self.sent.note(queue, len(request.messages), int(fields.get("queueOffset", -1)))
            if self._on_stored is not None:
                self._on_stored(queue, request.messages, response)
            return
        if response.code not in RETRYABLE or is_credentials_error(response):
            raise SendError(f"{queue} refuses {_shown(request)}: {describe_error(response)}")
        self._retry(request, describe_error(response))

    def _lost(self, broker: str, request: _Request, why: str) -> None:
        """Handle a lost connection: none of its requests in flight is known to be stored."""
        self._cluster.connections.drop(self._cluster.address(broker))
        lost = [request, *(each for each in self._in_flight if each.queue.broker == broker)]
        self._in_flight = deque(each for each in self._in_flight if each.queue.broker != broker)
        for each in reversed(lost):
            self._retry(each, why, front=True)
        time.sleep(self._options.retry_interval_ms / 1000)
        for topic in {each.queue.topic for each in lost}:
            self._queues.pop(topic, None)
            self._cluster.route(topic)

    def _retry(self, request: _Request, why: str, *, front: bool = False) -> None:
        request.attempts += 1
        request.client = None
        self._busy.discard(request.queue)
        if request.attempts > self._options.send_retries:
            raise SendError(f"{request.queue} did not acknowledge {_shown(request)}: {why}, {request.attempts} times")
        if not request.ordered and not front:
            request.queue = self._other(request.queue)
        if not front:
            time.sleep(min(self._options.retry_interval_ms, 100 * request.attempts) / 1000)
        self._waiting.setdefault(request.queue, deque()).appendleft(request)

    def _other(self, queue: MessageQueue) -> MessageQueue:
        """Return the next queue on another broker, or on the same one if there is no other."""
        queues = self._queues.get(queue.topic) or self._look_up(queue.topic)
        at = queues.index(queue) if queue in queues else 0
        turned = queues[at + 1 :] + queues[: at + 1]
        return next((each for each in turned if each.broker != queue.broker), turned[0])


def _has_room(request: _Request, message: Outgoing, most: int) -> bool:
    """True if a message fits into a batch, whose messages share one flag."""
    if len(request.messages) >= most or request.bytes + len(message.body) > BATCH_BYTES_MAX:
        return False
    return request.messages[0].flag == message.flag


def _shown(request: _Request) -> str:
    count = len(request.messages)
    return f"{count} messages" if count > 1 else "a message"
