"""Requests about clients: heartbeat, unregister, lists of members and connections, queue locks, subscription checks.

Source: ClientManageProcessor, ConsumerManageProcessor, AdminBrokerProcessor (5.3.3).
"""

from collections.abc import Callable

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..filter.message_filter import SQL92, SqlError, filter_of, is_tag_type
from ..gate.call import Call, Channel
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..operations.base import Done
from ..operations.clients import (
    AllProducersResult,
    ChannelClosed,
    CheckClientConfig,
    ClientConnection,
    ConsumerConnectionResult,
    ConsumerListResult,
    DropInactiveRequests,
    GetAllProducerInfo,
    GetConsumerConnectionList,
    GetConsumerListByGroup,
    GetProducerConnectionList,
    Heartbeat,
    HeartbeatResult,
    LockBatchMq,
    LockBatchResult,
    ProducerConnectionResult,
    UnlockBatchMq,
    UnregisterClient,
)
from ..store.message_store import MessageStore
from .client_registry import ClientRegistry, Member
from .queue_locks import QueueLocks

_NO_FILTER = (
    'Cannot invoke "org.apache.rocketmq.filter.FilterSpi.compile(String)" because the return value of '
    '"org.apache.rocketmq.filter.FilterFactory.get(String)" is null'
)
"""Upstream's remark for an expression type without filter: the text of its own NullPointerException."""


class ClientRequests:
    """Handlers of requests about the clients of one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        store: MessageStore,
        clients: ClientRegistry,
        locks: QueueLocks,
        drop_waiting: Callable[[Channel], None],
    ) -> None:
        self._config = config
        self._store = store
        self._clients = clients
        self._locks = locks
        self._drop_waiting = drop_waiting

    @handles(Heartbeat)
    def heartbeat(self, call: Call, operation: Heartbeat) -> HeartbeatResult:
        """Register a client's groups and subscriptions."""
        counted = self._store.stats.by_name.count_registration
        for consumers, groups in ((False, operation.producer_groups), (True, operation.consumers)):
            if groups:
                counted(consumers=consumers)
        return HeartbeatResult(self._clients.heartbeat(call.channel, operation))

    @handles(UnregisterClient)
    def unregister(self, call: Call, operation: UnregisterClient) -> Done:
        """Unregister a client from groups."""
        self._clients.unregister(call.channel, operation.producer_group, operation.consumer_group)
        return Done()

    @handles(ChannelClosed)
    def channel_closed(self, call: Call, operation: ChannelClosed) -> Done:
        """Remove a closed connection: unregister its clients and drop its waiting requests."""
        self._clients.channel_closed(call.channel)
        self._drop_waiting(call.channel)
        return Done()

    @handles(DropInactiveRequests)
    def forget_waiting(self, call: Call, operation: DropInactiveRequests) -> Done:
        """Drop those waiting requests of a channel whose calls are no longer active; its others keep waiting."""
        self._drop_waiting(call.channel)
        return Done()

    @handles(GetConsumerListByGroup)
    def consumer_list(self, call: Call, operation: GetConsumerListByGroup) -> ConsumerListResult:
        """Return the client ids of a group. Raises SYSTEM_ERROR if it has no members."""
        group = self._clients.consumers.get(operation.consumer_group)
        if group is None or not group.members:
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {operation.consumer_group}")
        return ConsumerListResult(group.client_ids())

    @handles(LockBatchMq)
    def lock(self, call: Call, operation: LockBatchMq) -> LockBatchResult:
        """Lock queues for an orderly consumer."""
        return LockBatchResult(self._locks.lock(operation.consumer_group, operation.client_id, operation.queues))

    @handles(UnlockBatchMq)
    def unlock(self, call: Call, operation: UnlockBatchMq) -> Done:
        """Release queue locks."""
        self._locks.unlock(operation.consumer_group, operation.client_id, operation.queues)
        return Done()

    @handles(CheckClientConfig)
    def check_client_config(self, call: Call, operation: CheckClientConfig) -> Done:
        """Check a subscription. Raises SYSTEM_ERROR (SQL92 is off), SUBSCRIPTION_PARSE_FAILED."""
        subscription = operation.subscription
        if is_tag_type(subscription.expression_type):
            return Done()
        if not self._config.enable_property_filter:
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                f"The broker does not support consumer to filter message by {subscription.expression_type}",
            )
        if subscription.expression_type != SQL92:
            raise EngineError(ResponseCode.SUBSCRIPTION_PARSE_FAILED, _NO_FILTER)
        if not operation.has_expression:
            raise EngineError(ResponseCode.SUBSCRIPTION_PARSE_FAILED, None)
        try:
            filter_of(subscription)
        except SqlError as error:
            raise EngineError(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from None
        return Done()

    @handles(GetConsumerConnectionList)
    def consumer_connections(self, call: Call, operation: GetConsumerConnectionList) -> ConsumerConnectionResult:
        """Return connections and subscriptions of a consumer group. Raises CONSUMER_NOT_ONLINE."""
        group = self._clients.consumers.get(operation.consumer_group)
        if group is None or not group.members:
            raise EngineError(
                ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{operation.consumer_group}] not online"
            )
        return ConsumerConnectionResult(
            [_connection(member) for member in group.members.values()],
            dict(group.subscriptions),
            group.consume_type,
            group.message_model,
            consume_from_where=group.consume_from_where,
        )

    @handles(GetProducerConnectionList)
    def producer_connections(self, call: Call, operation: GetProducerConnectionList) -> ProducerConnectionResult:
        """Return the connections of a producer group. Raises SYSTEM_ERROR if it has no members."""
        members = list(self._clients.producer_members(operation.producer_group))
        if not members:
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"the producer group[{operation.producer_group}] not exist")
        return ProducerConnectionResult([_connection(member) for member in members])

    @handles(GetAllProducerInfo)
    def all_producers(self, call: Call, operation: GetAllProducerInfo) -> AllProducersResult:
        """Return the connections of all producer groups."""
        groups = self._clients.producers.items()
        return AllProducersResult({name: [_connection(each) for each in table.values()] for name, table in groups})


def _connection(member: Member) -> ClientConnection:
    return ClientConnection(
        member.client_id,
        member.channel.remote_address,
        member.language,
        member.version,
        last_update_ms=member.last_update_ms,
    )
