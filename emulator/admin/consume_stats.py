"""Subscriptions of groups, and their lag in time. Source: AdminBrokerProcessor (5.3.3)."""

from ..assembly.handlers import handles
from ..client.client_registry import ClientRegistry
from ..config import BrokerConfig
from ..gate.call import Call
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..operations.clients import MessageQueue
from ..operations.groups import (
    ConsumeTimeSpanResult,
    QueryConsumeTimeSpan,
    QuerySubscription,
    QueueTimeSpan,
    SubscriptionResult,
)


class ConsumeStatsRequests:
    """Describes how groups consume topics."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        tables: BrokerTables,
        clients: ClientRegistry,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = tables.store
        self._topics = tables.topics
        self._clients = clients
        self._offsets = tables.offsets

    @handles(QuerySubscription)
    def subscription(self, call: Call, operation: QuerySubscription) -> SubscriptionResult:
        """Return the subscription of an online group to a topic."""
        group, topic = operation.group, operation.topic
        return SubscriptionResult(group, topic, self._clients.subscription(group, topic))

    @handles(QueryConsumeTimeSpan)
    def time_span(self, call: Call, operation: QueryConsumeTimeSpan) -> ConsumeTimeSpanResult:
        """Return the lag of a group on each queue, as a time (ms). Errors: TOPIC_NOT_EXIST."""
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
