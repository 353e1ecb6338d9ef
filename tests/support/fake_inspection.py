"""A fake inspection and a fake history with the values of a test, for tables of situations without a broker.

Other tests check the real ones, and the explanations from them, with an engine.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

from prepared_past import PreparedHistory, absent_group
from rocketmq_testkit.emulator.history.events import OffsetMove, Trim
from rocketmq_testkit.emulator.inspection.assignments import AssignmentView
from rocketmq_testkit.emulator.inspection.broker_view import BrokerView
from rocketmq_testkit.emulator.inspection.configuration import KeyView
from rocketmq_testkit.emulator.inspection.connections import ConnectionView
from rocketmq_testkit.emulator.inspection.groups import GroupView
from rocketmq_testkit.emulator.inspection.half_messages import HalfView
from rocketmq_testkit.emulator.inspection.locks import LockView
from rocketmq_testkit.emulator.inspection.messages import MessageWithCopies
from rocketmq_testkit.emulator.inspection.places import Place
from rocketmq_testkit.emulator.inspection.polls import PollView
from rocketmq_testkit.emulator.inspection.queues import ProgressView, QueueView
from rocketmq_testkit.emulator.inspection.receipts import ReceiptView
from rocketmq_testkit.emulator.inspection.timers import TimerView
from rocketmq_testkit.emulator.inspection.topics import TopicView
from rocketmq_testkit.emulator.message.names import TIMER_TOPIC


@dataclass
class FakeHistory(PreparedHistory):
    """Prepared events. All moves belong to the requested group and queue, all trims to the requested broker."""

    offset_moves: list[OffsetMove] = field(default_factory=list)
    deletions: list[Trim] = field(default_factory=list)

    def moves(self, node: str, group: str, topic: str, queue_id: int) -> Sequence[OffsetMove]:
        return self.offset_moves

    def trims(self, broker: str) -> Sequence[Trim]:
        return self.deletions


@dataclass
class FakeInspection:
    """Prepared read models."""

    stored_messages: list[MessageWithCopies] = field(default_factory=list)
    near: tuple[str, str] | None = None
    held: list[ReceiptView] = field(default_factory=list)
    all_topics: list[TopicView] = field(default_factory=list)
    _: KW_ONLY
    all_queues: list[QueueView] = field(default_factory=list)
    all_groups: list[GroupView] = field(default_factory=list)
    assigned: list[AssignmentView] = field(default_factory=list)
    all_locks: list[LockView] = field(default_factory=list)
    waiting: list[TimerView] = field(default_factory=list)
    halves: list[HalfView] = field(default_factory=list)
    connected: list[ConnectionView] = field(default_factory=list)
    waiting_polls: list[PollView] = field(default_factory=list)
    masters: list[BrokerView] = field(default_factory=list)
    keys: list[KeyView] = field(default_factory=list)
    compacted: list[Place] = field(default_factory=list)
    deleted: list[Place] = field(default_factory=list)

    def find(self, message: str, topic: str | None = None) -> list[MessageWithCopies]:
        return [
            each
            for each in self.stored_messages
            if message in (each.message_id, *each.keys) and topic in (None, each.topic)
        ]

    def at(self, place: Place) -> MessageWithCopies | None:
        return next((each for each in self.stored_messages if any(copy.place == place for copy in each.copies)), None)

    def of_deleted_topic(self, message: str, topic: str | None = None) -> MessageWithCopies | None:
        return None

    def is_held(self, place: Place) -> bool:
        return place not in self.deleted

    def at_offset(self, broker: str, topic: str, queue_id: int, offset: int) -> MessageWithCopies | None:
        wanted = (broker, topic, queue_id, offset)
        return next(
            (
                each
                for each in self.stored_messages
                for place in (copy.place for copy in each.copies)
                if (place.broker, place.topic, place.queue_id, place.queue_offset) == wanted
            ),
            None,
        )

    def nearest(self, message: str, topic: str | None = None) -> tuple[str, str] | None:
        return self.near

    def receipts(self, group: str | None = None, place: Place | None = None) -> list[ReceiptView]:
        return [each for each in self.held if group in (None, each.group) and place in (None, each.place)]

    def ordered_batch(self, group: str, broker: str, topic: str, queue_id: int) -> list[ReceiptView]:
        queue = (broker, topic, queue_id)
        return [
            each
            for each in self.receipts(group)
            if each.table == "order" and (each.place.broker, each.place.topic, each.place.queue_id) == queue
        ]

    def topics(self) -> list[TopicView]:
        return self.all_topics

    def queues(self, topic: str) -> list[QueueView]:
        return [each for each in self.all_queues if each.topic == topic]

    def groups_of_topic(self, topic: str) -> set[str]:
        return {group for queue in self.queues(topic) for group in queue.groups}

    def queue(self, broker: str, topic: str, queue_id: int) -> QueueView | None:
        wanted = (broker, topic, queue_id)
        return next((each for each in self.all_queues if (each.broker, each.topic, each.queue_id) == wanted), None)

    def lowest_offset(self, broker: str, topic: str, queue_id: int) -> int | None:
        queue = self.queue(broker, topic, queue_id)
        return None if queue is None else queue.first

    def progress(self, broker: str, topic: str, queue_id: int, group: str) -> ProgressView | None:
        queue = self.queue(broker, topic, queue_id)
        return None if queue is None else queue.groups.get(group)

    def topic(self, name: str) -> TopicView | None:
        return next((each for each in self.all_topics if each.name == name), None)

    def group(self, name: str) -> GroupView:
        return next((each for each in self.all_groups if each.name == name), absent_group(name))

    def groups(self) -> list[GroupView]:
        return self.all_groups

    def assignments(self, group: str, topic: str) -> list[AssignmentView]:
        return [each for each in self.assigned if (each.group, each.topic) == (group, topic)]

    def locks(self, group: str | None = None) -> list[LockView]:
        return [each for each in self.all_locks if group in (None, each.group)]

    def timers(self) -> list[TimerView]:
        return self.waiting

    def waits_for_time(self, place: Place) -> bool:
        return place.topic == TIMER_TOPIC and any(each.kind == "wheel" for each in self.waiting)

    def half_message(self, message: MessageWithCopies) -> HalfView | None:
        return next((each for each in self.halves if each.message_id == message.message_id), None)

    def half_messages(self) -> list[HalfView]:
        return self.halves

    def connections(self) -> list[ConnectionView]:
        return self.connected

    def polls(self) -> list[PollView]:
        return self.waiting_polls

    def brokers(self) -> list[BrokerView]:
        return self.masters

    def configuration(self, node: str | None = None) -> list[KeyView]:
        return [each for each in self.keys if node in (None, each.node)]

    def is_compacted_away(self, place: Place) -> bool:
        return place in self.compacted
