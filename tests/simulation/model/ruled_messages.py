"""The messages of clients to whose requests rules cause faults, and the invariants that hold under all rules.

- A send whose response says SUCCESS has stored its message at the offset of the response, and it stays there.
- A message is stored at most once for each request, and once more for each firing of `duplicate_request`.
- A pull returns the messages of its queue without a gap. The order of a response may change, and messages may repeat.
- No group is beyond the end of a queue.
- A message whose acknowledgement was confirmed in time is not popped again, unless the broker restarted or a rule
  repeats deliveries.
- After all rules each group got each stored message.
"""

from collections import Counter
from collections.abc import Iterable

from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.remoting.client import ReceivedMessage
from stored_messages import Violation


class RuledMessages:
    """The messages of one topic, which two groups consume: one by pulls, one by pops. Places are (queue id, offset)."""

    def __init__(self, broker: Broker, topic: str, queues: int) -> None:
        self._broker = broker
        self._topic = topic
        self._queues = queues
        self._asked: Counter[str] = Counter()
        self._asked_ms: dict[str, int] = {}
        self._sent: dict[tuple[int, int], str] = {}
        self._stored: dict[tuple[int, int], str] = {}
        self._copies: Counter[str] = Counter()
        self._pulled: set[str] = set()
        self._popped: set[str] = set()
        self._done: dict[str, int] = {}
        """When the acknowledgement of a message was confirmed."""
        self._restarted_ms = 0
        self.redelivers = False
        """True if a rule may deliver acknowledged messages again."""
        self.stray = 0
        """The number of responses to no request."""
        self.restarts_of_rules = 0

    def asked(self, body: str, now_ms: int) -> None:
        """Note a send."""
        self._asked[body] += 1
        self._asked_ms[body] = now_ms

    def sent(self, body: str, queue: int, offset: int) -> None:
        """Note the response SUCCESS to a send. Raises Violation."""
        if self._sent.setdefault((queue, offset), body) != body:
            raise Violation(f"{body} and {self._sent[queue, offset]} are both stored at {offset} of queue {queue}")

    def pulled(self, queue: int, messages: Iterable[ReceivedMessage]) -> None:
        """Check the messages of a pull. Raises Violation."""
        offsets = sorted({message.queue_offset for message in messages})
        if offsets != list(range(offsets[0], offsets[-1] + 1)):
            raise Violation(f"a pull of queue {queue} has a gap: {offsets}")
        for message in messages:
            self._deliver(message, self._pulled)

    def popped(self, message: ReceivedMessage, handle: str) -> None:
        """Check a popped message. Raises Violation."""
        body = self._deliver(message, self._popped)
        done_ms, popped_ms = self._done.get(body), int(handle.split(" ")[1])
        if done_ms is not None and popped_ms > done_ms and self._copies[body] == 1 and not self.redelivers:
            raise Violation(f"{body} was acknowledged at {done_ms} and is popped again at {popped_ms}")

    def _deliver(self, message: ReceivedMessage, got: set[str]) -> str:
        body = message.body.decode()
        if not self._asked[body]:
            raise Violation(f"{body} was delivered, and nobody sent it")
        got.add(body)
        return body

    def acknowledged(self, message: ReceivedMessage, handle: str, now_ms: int) -> None:
        """Note a confirmed acknowledgement.

        It counts if the message was still invisible, and was sent after the last restart: a crash may set the offset of
        a group back to that of the last flush, and then there are two check points of a message.
        """
        body, (_, popped_ms, invisible_ms, *_) = message.body.decode(), handle.split(" ")
        if self._restarted_ms < self._asked_ms[body] and now_ms < int(popped_ms) + int(invisible_ms):
            self._done.setdefault(body, now_ms)

    def restarted(self, now_ms: int) -> None:
        """Note a restart, which may lose acknowledgements."""
        self._done.clear()
        self._restarted_ms = now_ms

    def judge(self, doubled: int) -> None:
        """Check the store. `doubled`: how often a rule has repeated a request. Raises Violation."""
        store = self._broker.store
        for queue in range(self._queues):
            for offset in range(sum(place[0] == queue for place in self._stored), store.max_offset(self._topic, queue)):
                record = store.record(self._topic, queue, offset)
                if record is None:
                    raise Violation(f"offset {offset} of queue {queue} cannot be read")
                body = decode(record).body.decode()
                self._stored[queue, offset] = body
                self._copies[body] += 1
            end = store.max_offset(self._topic, queue)
            known = sum(place[0] == queue for place in self._stored)
            if end != known:
                raise Violation(f"queue {queue} ends at {end}, and had {known} messages")
            for group, topic, table in self._broker.offsets.all():
                if topic == self._topic and table.get(queue, 0) > end:
                    raise Violation(f"{group} is at {table[queue]} of queue {queue}, which ends at {end}")
        for place, body in self._sent.items():
            if self._stored.get(place) != body:
                raise Violation(f"{body} was confirmed at {place}, where {self._stored.get(place)} is")
        extra = sum(max(self._copies[body] - self._asked[body], 0) for body in self._copies)
        if extra > doubled:
            raise Violation(f"{extra} messages are surplus copies, but rules repeated only {doubled} requests")

    def finished(self) -> None:
        """Check that each group got each stored message. Raises Violation."""
        for name, got in (("pullers", self._pulled), ("takers", self._popped)):
            if missing := set(self._copies) - got:
                raise Violation(f"{name} never got {sorted(missing)}")
