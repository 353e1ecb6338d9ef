"""Offset resets by connected consumers: the broker notifies them instead of storing a reset for the next read.

Source: Broker2Client.resetOffset (5.3.3), where useServerSideResetOffset is off.
"""

from collections.abc import Callable

from ..config import BrokerConfig
from ..gate.call import Channel
from ..gate.effects import Effect, ResetConsumerOffset
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..operations.offsets import ResetOffset, ResetOffsetResult
from .client_registry import ClientRegistry
from .client_versions import VERSION_3_0_7, unsupported


class ClientSideResets:
    """Resets offsets by notifying the consumers of one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        tables: BrokerTables,
        clients: ClientRegistry,
        push: Callable[[Channel, Effect], None],
    ) -> None:
        self._config = config
        self._store = tables.store
        self._topics = tables.topics
        self._clients = clients
        self._offsets = tables.offsets
        self._push = push

    def reset(self, operation: ResetOffset) -> ResetOffsetResult:
        """Notify every consumer of the group to reset its offsets to `timestamp`, forward only with `force`.

        `timestamp` is in ms; -1 stands for the end of each queue. The broker does not change the committed offsets: the
        consumers commit them. Raises TOPIC_NOT_EXIST, SYSTEM_ERROR (a queue without committed offset, a client that is
        too old), CONSUMER_NOT_ONLINE.
        """
        topic, group = operation.topic, operation.group
        wanted = self._wanted(operation)
        state = self._clients.consumers.get(group)
        if state is None or not state.members:
            raise EngineError(
                ResponseCode.CONSUMER_NOT_ONLINE,
                f"Consumer not online, so can not reset offset, Group: {group} Topic: {topic}"
                f" Timestamp: {operation.timestamp}",
            )
        broker = self._config.broker_name
        effect = ResetConsumerOffset(
            group, topic, operation.timestamp, broker, offsets=wanted, as_list=operation.as_list
        )
        for member in state.members.values():
            if member.version < VERSION_3_0_7:
                raise unsupported(member.version)
            self._push(member.channel, effect)
        for queue_id, offset in wanted.items():
            if offset != self._offsets.query(group, topic, queue_id):
                self._offsets.note_reset(group, topic, queue_id, offset)
        return ResetOffsetResult(topic, broker, wanted)

    def _wanted(self, operation: ResetOffset) -> dict[int, int]:
        """Return the offset to which the consumers reset each queue, by queue id."""
        topic, group = operation.topic, operation.group
        config = self._topics.find(topic)
        if config is None:
            raise EngineError(
                ResponseCode.TOPIC_NOT_EXIST,
                f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}",
            )
        wanted: dict[int, int] = {}
        for queue_id in range(config.write_queue_nums):
            committed = self._offsets.query(group, topic, queue_id)
            if committed == -1:
                raise EngineError(ResponseCode.SYSTEM_ERROR, f"THe consumer group <{group}> not exist")
            if operation.timestamp == -1:
                found = self._store.max_offset(topic, queue_id)
            else:
                found = max(self._store.search(topic, queue_id, operation.timestamp, upper=False), 0)
            wanted[queue_id] = found if operation.force or found < committed else committed
        return wanted
