"""The context that all parts of the deliveries share: time, event numbers, and the tables of the brokers."""

from collections.abc import Callable
from typing import Protocol

from ..group.offset_table import OffsetTable
from ..history.history import History
from ..kernel.scheduler import Scheduler
from ..store.message_store import MessageStore
from ..topic.topic_table import TopicTable
from .client_registry import ClientRegistry
from .client_watch import SILENT, ClientWatch

Topic = tuple[str, str, str]
"""(node, group, topic)"""


class NodeTables(Protocol):
    """The tables of a master that the deliveries read."""

    @property
    def clients(self) -> ClientRegistry:
        """The registered clients."""

    @property
    def offsets(self) -> OffsetTable:
        """The committed offsets."""

    @property
    def topics(self) -> TopicTable:
        """The topics."""

    @property
    def store(self) -> MessageStore:
        """The stored messages."""

    def is_static(self, topic: str) -> bool:
        """True if a topic is static: its queues are mapped to physical ones."""


class DeliveryContext:
    """Time, event numbers, tables and the history.

    `tables` returns the tables of the master with a name, None if there is none.
    """

    __slots__ = ("history", "last_number", "scheduler", "tables", "watch")

    def __init__(
        self,
        scheduler: Scheduler,
        tables: Callable[[str], NodeTables | None],
        history: History,
        watch: ClientWatch = SILENT,
    ) -> None:
        self.scheduler = scheduler
        self.tables = tables
        self.history = history
        self.watch = watch
        self.last_number = 0
        """Number of the newest event, 0 before the first. Events of all brokers are numbered in order."""

    def next_number(self) -> int:
        """Return the number of a new event."""
        self.last_number += 1
        return self.last_number

    def is_member(self, node: str, group: str, channel_id: str) -> bool:
        """True if a channel is registered in a consumer group."""
        tables = self.tables(node)
        state = None if tables is None else tables.clients.consumers.get(group)
        return state is not None and channel_id in state.members

    def has_message(self, node: str, topic: str, queue_id: int, offset: int) -> bool:
        """True if a master stores a message at a place; a client may name any."""
        tables = self.tables(node)
        queue = None if tables is None else tables.store.queue(topic, queue_id)
        return queue is not None and queue.first <= offset < queue.max_offset

    def may_request(self, channel_id: str, topic: Topic, queue_id: int) -> bool:
        """True if a queue exists, the client is a member of the group, and the group subscribes to the topic."""
        node, group, name = topic
        tables = self.tables(node)
        if tables is None or not self.is_member(node, group, channel_id):
            return False
        config = tables.topics.find(name)
        subscribed = name in tables.clients.consumers[group].subscriptions
        return subscribed and config is not None and queue_id < config.read_queue_nums
