"""Inspection: the state of an engine as frozen values. No method changes anything that an engine holds.

All times are engine time in ms since the epoch.
"""

from collections.abc import Callable, Iterator

from .assignments import AssignmentInspection, AssignmentView
from .broker_view import BrokerView, broker_views
from .compacted import replaced_by
from .configuration import KeyView, read_configuration
from .connections import ConnectionView, read_connections
from .engine_parts import EngineParts, Surroundings
from .groups import GroupInspection, GroupView
from .half_messages import HalfView, read_half_message, read_half_messages
from .holds import HeldMessage, HoldInspection, HoldScan
from .locator import Locator
from .locks import LockView, read_locks
from .messages import CopyState, CopyView, MessageWithCopies
from .past import Past
from .places import Place
from .polls import PollView, read_polls
from .queues import ProgressView, QueueInspection, QueueView
from .receipts import ReceiptInspection, ReceiptView
from .rules import RuleView
from .timers import TimerView, read_timers, timers_in_steps, waits_for_time
from .topics import TopicView, read_topic, read_topics


class Inspection:
    """The readers of an engine and its surroundings."""

    def __init__(self, parts: EngineParts, around: Surroundings, like: "Inspection | None" = None) -> None:
        """`like`: the inspection of the engine of which `parts` is a copy as of now; both share the index."""
        self._parts = parts
        self._around = around
        past = Past(parts)
        self._holds = holds = HoldInspection(parts)
        self._locator: Locator = Locator(parts, None if like is None else like._locator)
        self._receipts = ReceiptInspection(parts, holds, past)
        self._queues = QueueInspection(parts, holds, past)
        self._groups = GroupInspection(parts)
        self._assignments = AssignmentInspection(parts)

    # messages

    def find(self, message: str, topic: str | None = None) -> list[MessageWithCopies]:
        """Return the messages with an id, an offset id or a key, the oldest first; empty if there is none."""
        return self._locator.find(message, topic)

    def at(self, place: Place) -> MessageWithCopies | None:
        """Return the message of a stored record, None if it is not stored."""
        return self._locator.at(place)

    def of_deleted_topic(self, message: str, topic: str | None = None) -> MessageWithCopies | None:
        """Return the newest message with an id or a key whose topic was deleted; None if there is none.

        The records of a deleted topic stay in the log, and no queue contains them.
        """
        return self._locator.of_deleted_topic(message, topic)

    def is_held(self, place: Place) -> bool:
        """True if the queue of a place contains its record, False for a message of a deleted topic."""
        return self._locator.is_held(place)

    def at_offset(self, broker: str, topic: str, queue_id: int, offset: int) -> MessageWithCopies | None:
        """Return the message at an offset of a queue, with this copy alone; None if it is not stored."""
        return self._locator.at_offset(broker, topic, queue_id, offset)

    def matching(self, topic: str, where: Callable[[CopyView], bool]) -> Iterator[MessageWithCopies]:
        """Yield the messages of a topic of which a copy meets a condition, in the order of `copies`."""
        return self._locator.matching(topic, where)

    def messages(self, topic: str) -> list[MessageWithCopies]:
        """Return the messages that were sent to a topic in every state, rolled back and recalled ones too.

        Of a retry topic, a dead letter queue or an internal topic it returns the messages of which it has copies. The
        oldest is the first. For many messages this takes less time than `at` for each.
        """
        return self._locator.of_topic(topic)

    def nearest(self, message: str, topic: str | None = None) -> tuple[str, str] | None:
        """Return the id or key most similar to one that does not exist, and its topic; None if none is similar."""
        return self._locator.nearest(message, topic)

    def extend_index(self) -> bool:
        """Index the next 256 KiB of stored messages for `find` and all other searches by id and key (2 ms).

        Returns False if the searches are quick without it. Call it while nothing else has to be done.
        """
        return self._locator.extend_index()

    def copies(self, topic: str, state: CopyState | None = None) -> list[CopyView]:
        """Return the copies of the messages of a topic in every state, or in one, the oldest first.

        Copies that the broker has passed on to another topic, such as those of delivered delayed messages, are left
        out. `find` and `at` return these, too.
        """
        return [copy.view for copy in self._locator.current(topic, state)]

    def copies_in_steps(self, topic: str, state: CopyState | None = None) -> Iterator[CopyView | None]:
        """Return the same copies one by one, in the order of the log; those of several brokers by store time.

        The call decides which copies they are, except for deleted records. None stands for a record without such a
        copy, so that the reader of a long log may pause.
        """
        steps = self._locator.current_in_steps(topic, state)
        return (None if copy is None else copy.view for copy in steps)

    def replaced_by(self, place: Place) -> int | None:
        """Return the queue offset of the message that replaced a compacted one; None if the message remains.

        It is the next message with the same keys, or the message's own offset if it was removed without a body.
        """
        return replaced_by(self._parts, place)

    # consumption

    def receipts(self, group: str | None = None, place: Place | None = None) -> list[ReceiptView]:
        """Return the messages in flight: all, of one group, or of one place."""
        return list(self._receipts.read(group, place))

    def scan_receipts(self, group: str | None = None) -> HoldScan:
        """Return a reading of the messages in flight in steps, between which the engine may run.

        It finds their places and times. `receipt` adds the facts about the deliveries, which take longer to read.
        """
        return self._receipts.scan(group)

    def receipt(self, hold: HeldMessage) -> ReceiptView | None:
        """Return a message in flight that a scan has found; None if it was deleted."""
        return self._receipts.of(hold)

    def has_noted_pops(self, broker: str) -> bool:
        """True if a broker has stored all check points and acknowledgements in its timer itself, since its start."""
        return self._holds.has_noted_pops(broker)

    def ordered_batch(self, group: str, broker: str, topic: str, queue_id: int) -> list[ReceiptView]:
        """Return the messages in flight of a queue that a group pops in order; empty if there is no such batch."""
        return list(self._receipts.ordered(group, (broker, topic, queue_id)))

    def topics(self) -> list[TopicView]:
        """Return all topics by name."""
        return read_topics(self._parts)

    def topic(self, name: str) -> TopicView | None:
        """Return one topic, None if it does not exist."""
        return read_topic(self._parts, name)

    def queues(self, topic: str) -> list[QueueView]:
        """Return the queues of a topic by broker and number; empty if there is no such topic."""
        return self._queues.of_topic(topic)

    def queue(self, broker: str, topic: str, queue_id: int) -> QueueView | None:
        """Return one queue, None if it does not exist."""
        return self._queues.one(broker, topic, queue_id)

    def groups_of_topic(self, topic: str) -> set[str]:
        """Return the names of the groups with an offset or a member in a topic: those of `QueueView.groups`.

        Unlike `queues`, it counts neither deliveries nor messages in flight.
        """
        return self._queues.groups_of(topic)

    def lowest_offset(self, broker: str, topic: str, queue_id: int) -> int | None:
        """Return the lowest stored offset of a queue, 0 if it has had no message; None if there is no such queue."""
        return self._queues.lowest_offset(broker, topic, queue_id)

    def progress(self, broker: str, topic: str, queue_id: int, group: str) -> ProgressView | None:
        """Return the progress of one group in a queue, None if it has none.

        Unlike `queue`, it counts neither deliveries nor messages in flight, which takes long if they are many.
        """
        return self._queues.progress(broker, topic, queue_id, group)

    def group(self, name: str) -> GroupView:
        """Return a group; `exists` is False if there is none."""
        return self._groups.one(name)

    def groups(self) -> list[GroupView]:
        """Return all consumer groups by name."""
        return [self._groups.one(name) for name in self._groups.names()]

    def assignments(self, group: str, topic: str) -> list[AssignmentView]:
        """Return the assignments of the queues of a topic to the members of a group."""
        return self._assignments.read(group, topic)

    def is_compacted_away(self, place: Place) -> bool:
        """True if the rounds of compaction have removed a stored message of a compacted topic."""
        return self.replaced_by(place) is not None

    def locks(self, group: str | None = None) -> list[LockView]:
        """Return the locked queues: all, or those of one group."""
        return read_locks(self._parts, group)

    # waiting messages and requests

    def timers(self) -> list[TimerView]:
        """Return the delayed and timed messages, the next first."""
        return read_timers(self._parts)

    def timers_in_steps(self) -> Iterator[TimerView | None]:
        """Return the same messages one by one. None is a step before the first, after which the reader may pause."""
        return timers_in_steps(self._parts)

    def waits_for_time(self, place: Place) -> bool:
        """True if the timer wheel will deliver the timed message of a place: not if it was delivered or recalled."""
        return waits_for_time(self._parts, place)

    def half_messages(self) -> list[HalfView]:
        """Return the half messages whose transactions are not decided, the oldest first."""
        return read_half_messages(self._parts)

    def half_message(self, message: MessageWithCopies) -> HalfView | None:
        """Return the half message of an undecided transaction; None if the message is no half message or decided."""
        return read_half_message(self._parts, message)

    def polls(self) -> list[PollView]:
        """Return the long polls that wait, the oldest first."""
        return read_polls(self._parts)

    # everything else

    def brokers(self) -> list[BrokerView]:
        """Return all brokers in the order of their configuration."""
        return broker_views(self._parts.brokers, self._around)

    def connections(self) -> list[ConnectionView]:
        """Return the connected clients by client id."""
        return read_connections(self._parts.brokers, self._around.sessions())

    def rules(self) -> list[RuleView]:
        """Return the rules of faults in the order in which they were added."""
        return list(self._around.rules())

    def configuration(self, node: str | None = None) -> list[KeyView]:
        """Return the effective configuration of all nodes, or of one, by node and key."""
        return read_configuration(self._parts, self._around, node)
