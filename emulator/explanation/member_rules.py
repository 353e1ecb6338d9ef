"""Explanations by the members that received a message: their own subscriptions, and the start of a new group."""

from ..filter.message_filter import SQL92
from ..history.events import MoveKind
from ..inspection.groups import MemberView, SubscriptionView
from . import changes
from .facts import Fact
from .filter_rules import mismatch_of, shown
from .reason import Reason
from .subject import Finding, Subject, fact

_FROM_LAST = "CONSUME_FROM_LAST_OFFSET"


def dropped_by_member(subject: Subject) -> Finding | None:
    """The members disagree, and the SDKs of all members that received the message dropped it.

    A broker filters by one subscription for the whole group, and remoting SDKs filter by their own tags again.
    They do not evaluate SQL92 expressions (PullAPIWrapper.processPullResult, 5.3.3).
    """
    message, group = subject.message, subject.consumer
    if subject.is_retry or message.topic not in group.disagreements or not subject.is_passed or not subject.is_recorded:
        return None
    receivers = [_member(subject, event.channel) for event in subject.deliveries]
    dropping = [each for each in receivers if each is not None and _drops(subject, each)]
    if not receivers or len(dropping) < len(receivers):
        return None
    last, own = dropping[-1], _own(subject, dropping[-1])
    mismatch = None if own is None else mismatch_of(own, message, "does not match")
    if own is None or mismatch is None:
        return None
    others = "; ".join(
        f"{member.client} subscribes {shown(found)}"
        for member in group.members
        if member.client != last.client and (found := _own(subject, member)) is not None
    )
    text = (
        f"was delivered to {last.client} at {subject.at(subject.deliveries[-1].at_ms)}, whose own subscription "
        f"{shown(own)} {mismatch.text}, so its SDK drops it and commits the offset; the members of "
        f"{group.name} disagree: {others}"
    )
    members = tuple(f"{each.client} {found.expression}" for each in group.members if (found := _own(subject, each)))
    facts = (fact("subscriptions", topic=message.topic, members=members), mismatch.fact, subject.place_fact)
    change = changes.subscribe(f"give all members of {group.name} the same subscription to {message.topic}")
    return Finding(Reason.FILTERED_BY_MEMBER, text, facts, (change,))


def start_facts(subject: Subject) -> tuple[Fact, ...]:
    """Return a fact if a new group started before the message, though its member consumes from the last offset.

    A broker starts a new group at the first message of a queue that still has it (ConsumerManageProcessor, 5.3.3).
    """
    deliveries, place = subject.deliveries, subject.stored.place
    member = _member(subject, deliveries[0].channel) if deliveries else None
    if member is None or member.consume_from != _FROM_LAST or subject.is_retry:
        return ()
    if subject.scene.inspection.lowest_offset(place.broker, place.topic, place.queue_id) != 0:
        return ()
    moves = subject.scene.history.moves(place.broker, subject.consumer.name, place.topic, place.queue_id)
    began_before = any(move.kind is not MoveKind.FIRST or move.at_ms < member.since_ms for move in moves)
    if began_before or subject.stored.stored_at_ms >= member.since_ms:
        return ()
    because = f"queue {place.queue_id} still has its first message, so a new group starts there"
    return (fact("group_start", offset=0, consume_from=member.consume_from, because=because),)


def _member(subject: Subject, channel: str) -> MemberView | None:
    return next((each for each in subject.consumer.members if each.channel == channel), None)


def _own(subject: Subject, member: MemberView) -> SubscriptionView | None:
    return next((each for each in member.subscriptions if each.topic == subject.message.topic), None)


def _drops(subject: Subject, member: MemberView) -> bool:
    own = _own(subject, member)
    if member.protocol != "remoting" or own is None or own.kind == SQL92:
        return False
    return mismatch_of(own, subject.message, "") is not None
