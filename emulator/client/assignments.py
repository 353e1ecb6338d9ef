"""Server-side load balancing: the request mode of a group on a topic, and the queues of each client.

Source: QueryAssignmentProcessor, AllocateMessageQueueAveragely, AllocateMessageQueueAveragelyByCircle (5.3.3).
"""

from collections.abc import Callable

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.call import Call
from ..group.group_table import GroupTable
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..message import names
from ..operations.base import Done
from ..operations.clients import BROADCASTING, MessageQueue
from ..operations.groups import AssignmentResult, MessageRequestMode, QueryAssignment, SetMessageRequestMode
from ..operations.tools import GetAllMessageRequestMode, MessageRequestModesResult
from ..topic.topic_table import TopicTable
from .client_registry import ClientRegistry

RequestModes = dict[tuple[str, str], SetMessageRequestMode]
"""Message request modes by topic and group."""
ReadQueues = Callable[[str], list[MessageQueue] | None]
"""Returns the readable queues of a topic on all brokers, from the name server; None for a topic without route."""


class AssignmentService:
    """Message request modes by (topic, group), and the queue assignments that depend on them."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        topics: TopicTable,
        groups: GroupTable,
        clients: ClientRegistry,
        read_queues: ReadQueues,
        modes: RequestModes,
    ) -> None:
        self._config = config
        self._topics = topics
        self._groups = groups
        self._clients = clients
        self._read_queues = read_queues
        self.modes = modes

    @handles(SetMessageRequestMode)
    def set_mode(self, call: Call, operation: SetMessageRequestMode) -> Done:
        """Set a request mode. Raises NO_PERMISSION (retry topics), TOPIC_NOT_EXIST, SUBSCRIPTION_GROUP_NOT_EXIST."""
        if names.is_retry(operation.topic):
            raise EngineError(ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode")
        if self._topics.find(operation.topic) is None:
            raise EngineError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{operation.topic}] not exist")
        if self._groups.find_or_create(operation.consumer_group) is None:
            raise EngineError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "subscription group does not exist")
        self.modes[operation.topic, operation.consumer_group] = operation
        return Done()

    @handles(GetAllMessageRequestMode)
    def all_modes(self, call: Call, operation: GetAllMessageRequestMode) -> MessageRequestModesResult:
        """Return all request modes that were set, in the order in which each was first set."""
        return MessageRequestModesResult(list(self.modes.values()))

    @handles(QueryAssignment)
    def query(self, call: Call, operation: QueryAssignment) -> AssignmentResult:
        """Return the queues of one client, on all brokers; None if the group, the topic or the strategy is unknown.

        Upstream's route data is up to half a minute old; here it is always current.
        """
        topic, broadcasting = operation.topic, operation.message_model == BROADCASTING
        mode, share = self._mode(topic, operation.consumer_group)
        allocated: list[MessageQueue]
        if not broadcasting and names.is_lmq(topic) and self._topics.find(topic) is not None:
            queues: list[MessageQueue] | None = [MessageQueue(topic, self._config.broker_name, 0)]
        else:
            queues = self._read_queues(topic)
        if queues is None:
            return AssignmentResult(None)
        if broadcasting or not self._config.server_load_balancer_enable:
            allocated = queues
        else:
            group = self._clients.consumers.get(operation.consumer_group)
            strategy = STRATEGIES.get(operation.strategy_name)
            if group is None or strategy is None:
                return AssignmentResult(None)
            clients = sorted(group.client_ids())
            if mode == "POP" and (share <= 0 or share >= len(clients) - 1):
                allocated = _all_queues_of_each_broker(queues)  # the same for every client
            elif not operation.client_id or not queues:
                return AssignmentResult(None)  # upstream's strategies require a client id and at least one queue
            elif mode == "POP":
                allocated = _allocate_pop(queues, clients, operation.client_id, share, strategy=strategy)
            else:
                allocated = strategy(queues, clients, operation.client_id)
        return AssignmentResult([MessageRequestMode(queue, mode) for queue in allocated])

    def _mode(self, topic: str, group: str) -> tuple[str, int]:
        """Return the request mode (`PULL` or `POP`) and the pop share queue number of a group on a topic."""
        stored = self.modes.get((topic, group))
        if stored is not None:
            return stored.mode, stored.pop_share_queue_num
        if names.is_retry(topic):
            return "PULL", 0
        config = self._config
        return config.default_message_request_mode, config.default_pop_share_queue_num


Strategy = Callable[[list[MessageQueue], list[str], str], list[MessageQueue]]
"""Returns the queues of one client, from all queues, all client ids, and the id of this client."""


def allocate_average(queues: list[MessageQueue], clients: list[str], client_id: str) -> list[MessageQueue]:
    """Allocate contiguous blocks, one queue more to the first clients; none to an unknown client."""
    if client_id not in clients:
        return []
    index, count = clients.index(client_id), len(clients)
    remainder = len(queues) % count
    size = 1 if len(queues) <= count else len(queues) // count + (1 if index < remainder else 0)
    start = index * size if remainder > 0 and index < remainder else index * size + remainder
    return queues[start : start + max(min(size, len(queues) - start), 0)]


def allocate_by_circle(queues: list[MessageQueue], clients: list[str], client_id: str) -> list[MessageQueue]:
    """Allocate every n-th queue, for n clients; none to an unknown client."""
    return queues[clients.index(client_id) :: len(clients)] if client_id in clients else []


STRATEGIES: dict[str, Strategy] = {"AVG": allocate_average, "AVG_BY_CIRCLE": allocate_by_circle}
"""The strategies that a client may name in QueryAssignment, by name."""


def _all_queues_of_each_broker(queues: list[MessageQueue]) -> list[MessageQueue]:
    """Assign each broker as a whole, expressed as queue id -1."""
    brokers = dict.fromkeys(queue.broker_name for queue in queues)
    return [MessageQueue(queues[0].topic, broker, -1) for broker in brokers]


def _allocate_pop(
    queues: list[MessageQueue], clients: list[str], client_id: str, share: int, *, strategy: Strategy
) -> list[MessageQueue]:
    """Allocate the queues of a pop client and of the next `share` clients; one queue if clients outnumber queues."""
    if client_id not in clients:
        return []
    index = clients.index(client_id)
    if len(clients) > len(queues):
        return [queues[index % len(queues)]]
    found: list[MessageQueue] = []
    for step in range(share + 1):
        found += strategy(queues, clients, clients[(index + step) % len(clients)])
    return found
