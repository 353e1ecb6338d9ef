"""A scene: the state of an engine at one instant, as the rules of explanations read it."""

from functools import cached_property

from ..history.events import RefusedRequest
from ..history.history import History
from ..history.passed_on import original_refusals
from ..inspection.assignments import AssignmentView
from ..inspection.broker_view import BrokerView
from ..inspection.groups import GroupView
from ..inspection.inspection import Inspection
from ..inspection.places import Place
from ..inspection.queues import ProgressView, QueueView
from ..inspection.receipts import ReceiptView
from ..inspection.topics import TopicView
from .clock_text import clock_text
from .known_clients import DIRECT, KnownClients


class Scene:
    """Reads an engine at one time (`now_ms`). Verdicts for all groups share what it has read.

    Queues, progress and receipts are read at each call. A subclass may keep them.
    """

    def __init__(self, inspection: Inspection, history: History, now_ms: int) -> None:
        self.inspection = inspection
        self.history = history
        self.now_ms = now_ms
        self._groups: dict[str, GroupView] = {}
        self._topics: dict[str, TopicView | None] = {}
        self._groups_of_topics: dict[str, set[str]] = {}
        self._assignments: dict[tuple[str, str], list[AssignmentView]] = {}
        """By group and topic."""
        self._refusals: dict[str, list[RefusedRequest]] = {}
        self._keys: dict[str, dict[str, str]] = {}
        """Values of configuration keys, by node and key."""

    @cached_property
    def masters(self) -> dict[str, BrokerView]:
        """The masters by name. Explanations name brokers, and a slave has the name of its master."""
        return {broker.name: broker for broker in self.inspection.brokers() if broker.is_master}

    @cached_property
    def topics(self) -> dict[str, TopicView]:
        """All topics by name."""
        return {topic.name: topic for topic in self.inspection.topics()}

    @cached_property
    def groups(self) -> list[GroupView]:
        """All consumer groups by name."""
        return self.inspection.groups()

    @cached_property
    def clients(self) -> KnownClients:
        """The clients that are or were connected."""
        return KnownClients(self.inspection, self.history)

    @cached_property
    def complete_since_ms(self) -> int | None:
        """The time of the oldest delivery record if older ones were dropped, else None."""
        return self.history.complete_since_ms()

    def group(self, name: str) -> GroupView:
        """Return a group; `exists` is False if there is none."""
        if name not in self._groups:
            self._groups[name] = self.inspection.group(name)
        return self._groups[name]

    def queue(self, broker: str, topic: str, queue_id: int) -> QueueView | None:
        """Return a queue, None if it does not exist."""
        return self.inspection.queue(broker, topic, queue_id)

    def topic(self, name: str) -> TopicView | None:
        """Return a topic, None if it does not exist."""
        if name not in self._topics:
            self._topics[name] = self.inspection.topic(name)
        return self._topics[name]

    def progress(self, broker: str, topic: str, queue_id: int, group: str) -> ProgressView | None:
        """Return the progress of a group in a queue, None if it has none. Its counts may be missing."""
        return self.inspection.progress(broker, topic, queue_id, group)

    def groups_of_topic(self, topic: str) -> set[str]:
        """Return the names of the groups with an offset or a member in a topic."""
        if topic not in self._groups_of_topics:
            self._groups_of_topics[topic] = self.inspection.groups_of_topic(topic)
        return self._groups_of_topics[topic]

    def assignments(self, group: str, topic: str) -> list[AssignmentView]:
        """Return the assignments of the queues of a topic to the members of a group."""
        if (group, topic) not in self._assignments:
            self._assignments[group, topic] = self.inspection.assignments(group, topic)
        return self._assignments[group, topic]

    def refusals(self, group: str) -> list[RefusedRequest]:
        """Return the refused requests of a group, the oldest first. Each request counts once."""
        if group not in self._refusals:
            self._refusals[group] = original_refusals(self.history.refused(group=group))
        return self._refusals[group]

    def receipts(self, group: str, place: Place) -> list[ReceiptView]:
        """Return the receipts of a copy that clients of a group hold."""
        return self.inspection.receipts(group, place)

    def key(self, node: str, key: str) -> str:
        """Return the effective value of a configuration key of a broker; empty if there is no such key."""
        if node not in self._keys:
            self._keys[node] = {each.key: each.value for each in self.inspection.configuration(node)}
        return self._keys[node].get(key, "")

    # texts

    def at(self, ms: int) -> str:
        """Return an instant as text."""
        return clock_text(ms, self.now_ms)

    def client(self, channel: str | None) -> str:
        """Return the client of a connection as text, with its SDK if it is connected."""
        client = self.clients.of_channel(channel) if channel else None
        if client is None:
            return "a client"
        sdk = self.clients.sdk(client)
        return f"{client} ({sdk})" if sdk else client

    def caller(self, channel: str) -> str:
        """Return the client of a connection as text, or `a direct call of the emulator`, as tests make them."""
        return "a direct call of the emulator" if channel == DIRECT else self.client(channel)

    def client_id(self, channel: str | None) -> str | None:
        """Return the client id of a connection, None if it is not known."""
        return self.clients.of_channel(channel) if channel else None
