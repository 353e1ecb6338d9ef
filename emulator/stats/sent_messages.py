"""Messages that a broker received, by topic and type, with their sizes.

A send only adds to a tally by size. The tally becomes totals when metrics are read, and at the next count after each
second, and when it is full. Source: BrokerMetricsManager, SendMessageProcessor.handlePutMessageResult,
TopicMessageType.parseFromMessageProperty (5.3.3).
"""

from collections.abc import Mapping

from ..message import properties as props
from ..message.names import DLQ_PREFIX, is_retry
from .histogram import SIZE_BOUNDS, Histogram
from .tally import Tally

NORMAL, FIFO, DELAY, TRANSACTION = "normal", "fifo", "delay", "transaction"
_DELAYS = ("__STARTDELIVERTIME", props.DELAY, props.TIMER_DELIVER_MS, props.TIMER_DELAY_SEC, props.TIMER_DELAY_MS)
TYPED = frozenset({props.TRANSACTION_PREPARED, props.SHARDING_KEY, *_DELAYS})
"""Properties of a message that is not of the type NORMAL."""


def message_type(properties: Mapping[str, str]) -> str:
    """Return the type of a message with at least one property of TYPED (BrokerMetricsManager.getMessageType)."""
    if properties.get(props.TRANSACTION_PREPARED, "").lower() == "true":
        return TRANSACTION
    if props.SHARDING_KEY in properties:
        return FIFO
    return NORMAL if all(name not in properties for name in _DELAYS) else DELAY


class SentTotals:
    """Messages, bytes and sizes of one topic and type."""

    __slots__ = ("bytes", "messages", "sizes")

    def __init__(self) -> None:
        self.messages = self.bytes = 0
        self.sizes = Histogram(SIZE_BOUNDS)


class SentMessages:
    """Counts sends of one run of a broker."""

    def __init__(self) -> None:
        self.tally = Tally[tuple[str, str, int, int]](self.settle)
        """Sends of single messages since the last settlement, by topic, type, size and queue."""
        self._totals: dict[tuple[str, str], SentTotals] = {}
        self._queues: dict[str, set[int]] = {}
        """By topic, the queues that clients sent messages to."""

    def add(self, topic: str, kind: str, messages: int, size: int) -> None:
        """Count one send of messages with a total of `size` bytes. Retry topics and dead letter queues do not count."""
        if is_retry(topic) or topic.startswith(DLQ_PREFIX):
            return
        found = self._totals.get((topic, kind))
        if found is None:
            found = self._totals[topic, kind] = SentTotals()
        found.messages += messages
        found.bytes += size
        found.sizes.record(size // messages)

    def note_queue(self, topic: str, queue_id: int) -> None:
        """Record that a client sent to a queue, regardless of where the message was stored."""
        self._queues.setdefault(topic, set()).add(queue_id)

    def settle(self) -> None:
        """Turn the tally into totals."""
        for (topic, kind, size, queue_id), times in self.tally.take():
            self.note_queue(topic, queue_id)
            if is_retry(topic) or topic.startswith(DLQ_PREFIX):
                continue
            found = self._totals.get((topic, kind))
            if found is None:
                found = self._totals[topic, kind] = SentTotals()
            found.messages += times
            found.bytes += size * times
            found.sizes.record(size, times)

    def totals(self) -> Mapping[tuple[str, str], SentTotals]:
        """Return the totals by topic and type."""
        self.settle()
        return self._totals

    def queues(self, topic: str) -> set[int]:
        """Return the queues of a topic that clients sent messages to."""
        self.settle()
        return self._queues.get(topic, set())

    def forget_queues(self, topic: str) -> None:
        """Forget the queues of a deleted topic; its totals stay, as those of a counter do."""
        self.settle()
        self._queues.pop(topic, None)
