"""Subjects and findings of rules: a copy of a message and the group for which a rule judges it."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from functools import cached_property

from ..history.events import RecordedEvent
from ..history.last_subscriptions import LastSubscription
from ..history.record_kind import RecordKind
from ..inspection.groups import GroupView
from ..inspection.messages import CopyState, CopyView, MessageWithCopies
from ..inspection.queues import ProgressView, QueueView
from ..inspection.receipts import ReceiptView
from ..kernel.value_class import frozen_view
from ..message import names
from ..message import properties as props
from ..message import stored_record as records
from .facts import Change, Fact
from .reason import Reason
from .scene import Scene

DELIVERED = (RecordKind.POPPED, RecordKind.PULLED)
_HELD_BELOW_THE_OFFSET = ("buffer", "log", "kv")
"""Values of `ReceiptView.table` for popped messages, which are in flight only below the group's offset."""
ACKNOWLEDGED = (RecordKind.ACKNOWLEDGED, RecordKind.COMMITTED)


@frozen_view
class Finding:
    """The verdict of a rule. The sentence is `message {id} of {topic} {text}`."""

    reason: Reason
    text: str
    facts: tuple[Fact, ...]
    changes: tuple[Change, ...]
    _: KW_ONLY
    until_ms: int | None = None
    """The time at which the verdict changes without a request; None if there is none."""


class Subject:
    """A message, one of its copies, and a group. `group` is None for rules about the store.

    `copy` is the copy in the message's own topic, or the newest in a retry topic of the group; None if there is none.
    """

    def __init__(
        self, scene: Scene, message: MessageWithCopies, copy: CopyView | None, group: GroupView | None = None
    ) -> None:
        self.scene = scene
        self.message = message
        self.copy = copy
        self.group = group

    # state

    @property
    def stored(self) -> CopyView:
        """The copy. Read it only after a rule has found that there is one."""
        assert self.copy is not None
        return self.copy

    @property
    def consumer(self) -> GroupView:
        """The group. Read it only in rules about groups."""
        assert self.group is not None
        return self.group

    @property
    def is_subscribed(self) -> bool:
        """True if the group subscribes to the topic. Brokers forget most subscriptions of a group without consumers."""
        group, topic = self.consumer, self.message.topic
        known = (*group.subscriptions, *(each for member in group.members for each in member.subscriptions))
        return any(each.topic == topic for each in known)

    @property
    def former_subscription(self) -> LastSubscription | None:
        """The last subscription to the topic of a group that has none any more; None if it has one, or had none."""
        if self.is_subscribed:
            return None
        return self.scene.history.subscriptions.of(self.consumer.name, self.message.topic)

    @property
    def is_retry(self) -> bool:
        """True if the copy is in a retry topic."""
        return self.copy is not None and self.copy.state is CopyState.RETRY

    @cached_property
    def queue(self) -> QueueView | None:
        """The queue of the copy."""
        place = self.stored.place
        return self.scene.queue(place.broker, place.topic, place.queue_id)

    @cached_property
    def progress(self) -> ProgressView | None:
        """The progress of the group in the queue of the copy; its `delivered` and `in_flight` may be missing."""
        place = self.stored.place
        return self.scene.progress(place.broker, place.topic, place.queue_id, self.consumer.name)

    @cached_property
    def is_passed(self) -> bool:
        """True if the group's next read is beyond the copy, so that it gets the copy only by a redelivery or a reset.

        A pull without a commit does not count, because the next consumer starts before the copy.
        """
        progress, offset = self.progress, self.stored.place.queue_offset
        if progress is None or progress.passed <= offset:
            return False
        delivered = self.last(*DELIVERED)
        pulled = delivered is not None and delivered.kind is RecordKind.PULLED
        return not pulled or (progress.committed is not None and progress.committed > offset)

    @cached_property
    def receipt(self) -> ReceiptView | None:
        """The newest receipt of the copy that a client of the group holds; None if the copy is not in flight.

        It is also None if a crash or a reset moved the offset of the group back before a popped copy, because the next
        pop returns the copy.
        """
        held = self.scene.receipts(self.consumer.name, self.stored.place)
        newest = max(held, key=lambda each: each.popped_ms, default=None)
        if newest is None or (newest.table in _HELD_BELOW_THE_OFFSET and not self.is_passed):
            return None
        return newest

    @cached_property
    def events(self) -> list[RecordedEvent]:
        """The recorded events of the copy and the group, the oldest first."""
        place = self.stored.place
        found = self.scene.history.of(place.broker, place.topic, place.queue_id, place.queue_offset)
        return [event for event in found if self.group is None or event.group == self.group.name]

    @property
    def deliveries(self) -> list[RecordedEvent]:
        """The recorded deliveries of the copy to the group, the oldest first."""
        return [event for event in self.events if event.kind in DELIVERED]

    def last(self, *kinds: RecordKind) -> RecordedEvent | None:
        """Return the newest recorded event of some kinds."""
        return next((event for event in reversed(self.events) if event.kind in kinds), None)

    @property
    def is_recorded(self) -> bool:
        """True if no delivery record since the copy was stored was dropped."""
        since_ms = self.scene.complete_since_ms
        return since_ms is None or since_ms < self.stored.stored_at_ms

    # texts

    @property
    def where(self) -> str:
        """The place of the copy: `queue 3, offset 4`, with the broker if the topic has queues on several."""
        place = self.stored.place
        topic = self.scene.topic(place.topic)
        broker = f"{place.broker}, " if topic is not None and len(topic.brokers) > 1 else ""
        return f"{broker}queue {place.queue_id}, offset {place.queue_offset}"

    @property
    def retry_text(self) -> str:
        """The number of the retry: `retry 2 of 16`."""
        limit = self.consumer.retry_max_times if self.group is not None else 0
        return f"retry {self.stored.retry}" + (f" of {limit}" if limit > 0 else "")

    def stored_but(self, text: str) -> str:
        """Return `is stored (queue 3, offset 4), but ...` with the text of a hindrance."""
        if self.is_retry:
            return f"is stored for {self.retry_text} ({self.stored.place.topic}, {self.where}), but {text}"
        return f"is stored ({self.where}), but {text}"

    def at(self, ms: int) -> str:
        """Return an instant as text."""
        return self.scene.at(ms)

    # facts

    @property
    def place_fact(self) -> Fact:
        """The place of the copy."""
        place = self.stored.place
        return fact("copy", broker=place.broker, topic=place.topic, queue_id=place.queue_id, offset=place.queue_offset)

    @property
    def progress_fact(self) -> Fact:
        """The progress of the group in the queue of the copy."""
        progress = self.progress
        return fact(
            "progress",
            group=self.consumer.name,
            topic=self.stored.place.topic,
            queue_id=self.stored.place.queue_id,
            committed=None if progress is None else progress.committed,
            position=None if progress is None else progress.position,
        )


Rule = Callable[[Subject], Finding | None]
"""Returns the verdict of a subject, None if the rule does not apply to it."""


def fact(name: str, /, **values: object) -> Fact:
    """Return a fact without the values that are None."""
    return Fact(name, {key: value for key, value in values.items() if value is not None})


def properties_of(copy: CopyView) -> Mapping[str, str]:
    """Return the properties of a copy; those of delayed, timed and half copies name their real topic."""
    return records.property_map(copy.record)


def real_topic(copy: CopyView) -> str:
    """Return the topic to which the broker will deliver a delayed, timed or half copy; empty if none is named."""
    return properties_of(copy).get(props.REAL_TOPIC, "")


def retry_topics(group: str, topic: str) -> frozenset[str]:
    """Return the retry topics of a group for the messages of a topic."""
    return frozenset(
        (
            names.retry_topic(group),
            names.pop_retry_topic(topic, group, v2=False),
            names.pop_retry_topic(topic, group, v2=True),
        )
    )
