"""Subscriptions of groups, and their lag in time. Source: AdminBrokerProcessor (5.3.3)."""

from ..client.client_registry import Clients
from ..config import BrokerConfig
from ..gate.gate import Call, Handlers
from ..group.offset_table import Offsets
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..operations import (
    ConsumeTimeSpanResult,
    MessageQueue,
    QueryConsumeTimeSpan,
    QuerySubscription,
    QueueTimeSpan,
    SubscriptionResult,
)
from ..store.message_store import MessageStore
from ..topic.topic_table import Topics


class Consumption:
    """Describes how groups consume topics."""

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        store: MessageStore,
        topics: Topics,
        clients: Clients,
        offsets: Offsets,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._topics = topics
        self._clients = clients
        self._offsets = offsets

    def handlers(self) -> Handlers:
        """Return the handler of each operation."""
        return {QuerySubscription: self.subscription, QueryConsumeTimeSpan: self.time_span}

    def subscription(self, call: Call, operation: QuerySubscription) -> SubscriptionResult:
        """Return the subscription of an online group to a topic."""
        group, topic = operation.group, operation.topic
        return SubscriptionResult(group, topic, self._clients.subscription(group, topic))

    def time_span(self, call: Call, operation: QueryConsumeTimeSpan) -> ConsumeTimeSpanResult:
        """Return how far a group lags in time on each queue. Errors: TOPIC_NOT_EXIST."""
        config = self._topics.find(operation.topic)
        if config is None:
            raise EngineError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{operation.topic}] not exist")
        queue_ids = range(config.write_queue_nums)
        return ConsumeTimeSpanResult([self._span(operation.group, operation.topic, each) for each in queue_ids])

    def _span(self, group: str, topic: str, queue_id: int) -> QueueTimeSpan:
        queue = self._store.queue(topic, queue_id)
        end = queue.max_offset if queue is not None else 0

        def stored_at(offset: int) -> int:
            if queue is None or not queue.min_offset <= offset < end:
                return -1
            return self._store.store_timestamp(queue, offset)

        first = stored_at(queue.min_offset) if queue is not None else -1
        consumed = self._offsets.query(group, topic, queue_id)
        # As upstream, an empty queue without a consumer offset counts as lagging since 1970.
        behind = consumed < end
        return QueueTimeSpan(
            queue=MessageQueue(topic, self._config.broker_name, queue_id),
            min_timestamp=first,
            max_timestamp=stored_at(end - 1),
            consume_timestamp=stored_at(consumed - 1) if consumed > 0 else first,
            delay_time_ms=self._scheduler.now_ms - stored_at(consumed) if behind else 0,
        )
