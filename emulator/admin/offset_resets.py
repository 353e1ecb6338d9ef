"""Offset resets: the new offsets of a group, and the state of its pops that a reset discards.

Source: AdminBrokerProcessor.resetOffset (5.3.3).
"""

from ..assembly.handlers import handles
from ..client.client_side_resets import ClientSideResets
from ..config import BrokerConfig
from ..gate.call import Call
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..operations.offsets import ResetOffset, ResetOffsetResult
from ..pop.consumer_order_info import GroupQueue, OrderInfoTable
from ..pop.pop_inflight_counter import PopInflightCounter
from ..pop.pop_kv_service import PopKvService


class OffsetResets:
    """Resets the offsets of groups on one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        tables: BrokerTables,
        client_resets: ClientSideResets,
        orders: OrderInfoTable,
        in_flight: PopInflightCounter,
        kv_service: PopKvService | None,
    ) -> None:
        self._config = config
        self._store = tables.store
        self._topics = tables.topics
        self._groups = tables.groups
        self._offsets = tables.offsets
        self._client_resets = client_resets
        self._orders = orders
        self._in_flight = in_flight
        self._kv_service = kv_service

    @handles(ResetOffset)
    def reset(self, call: Call, operation: ResetOffset) -> ResetOffsetResult:
        """Reset a group's offsets on the broker, or without `useServerSideResetOffset` on the connected consumers.

        On the broker, the reset takes effect with the next pull or pop of each queue.

        Raises TOPIC_NOT_EXIST, SUBSCRIPTION_GROUP_NOT_EXIST, SYSTEM_ERROR (offset outside the queue, a slave), or the
        errors of `ClientSideResets.reset`.
        """
        if not self._config.use_server_side_reset_offset:
            return self._client_resets.reset(operation)
        if self._config.broker_role == "SLAVE":
            raise EngineError(ResponseCode.SYSTEM_ERROR, "Can not reset offset in slave broker")
        topic, group = operation.topic, operation.group
        config = self._topics.find(topic)
        if config is None:
            raise EngineError(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} does not exist")
        if self._groups.find(group) is None:
            raise EngineError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} does not exist")
        queue_ids = [operation.queue_id] if operation.queue_id >= 0 else list(range(config.read_queue_nums))
        wanted: dict[int, int] = {}
        for queue_id in queue_ids:
            low, high = self._store.min_offset(topic, queue_id), self._store.max_offset(topic, queue_id)
            if operation.queue_id >= 0 and operation.offset is not None and operation.offset != -1:
                if not low <= operation.offset <= high + 1:
                    raise EngineError(
                        ResponseCode.SYSTEM_ERROR,
                        f"Target offset {operation.offset} not in consume queue range [{low}-{high}]",
                    )
                wanted[queue_id] = operation.offset
            elif operation.timestamp < 0:
                wanted[queue_id] = high
            else:
                wanted[queue_id] = self._store.search(topic, queue_id, operation.timestamp, upper=False)
        for queue_id, offset in wanted.items():
            self._offsets.reset(group, topic, queue_id, offset)
            self._clear((topic, group, queue_id))
        return ResetOffsetResult(topic, self._config.broker_name, wanted)

    def _clear(self, group_queue: GroupQueue) -> None:
        """Discard the ordered batch of a queue, its count of messages in flight, and its cached KV records."""
        topic, group, _ = group_queue
        self._orders.clear(group_queue)
        self._in_flight.clear(group_queue)
        if self._kv_service is not None and self._config.pop_consumer_kv_service_enable:
            self._kv_service.clear(group_queue)
            self._offsets.delete_pull_offsets(group, topic)
