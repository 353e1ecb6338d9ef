"""Rules about messages below the offset of a group: the offset was moved past them, or they were acknowledged.

Each rule returns a finding, or None if it does not apply. Earlier rules have excluded messages in flight.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..history.events import MoveKind, OffsetMove, RecordedEvent
from ..history.record_kind import RecordKind
from ..inspection.messages import CopyState, CopyView
from . import changes
from .facts import Fact
from .member_rules import start_facts
from .reason import Reason
from .subject import ACKNOWLEDGED, DELIVERED, Finding, Subject, fact

_NOT_BY_DELETION = frozenset((Reason.NO_SUCH_GROUP, Reason.ACKNOWLEDGED, Reason.BROKER_STOPPED))
"""Verdicts that name the deletion themselves, and verdicts that would be the same without one."""


def moved_past(subject: Subject) -> Finding | None:
    """Apply if the offset passed the message without a delivery: at the group's start, by a reset or by a commit."""
    if not subject.is_passed:
        return None
    move = _move_past(subject)
    if move is not None and not _is_delivered(subject, move):
        return _moved(subject, move)
    return _committed_past(subject)


def _is_delivered(subject: Subject, move: OffsetMove) -> bool:
    """True if a delivery, and not the move, is the reason why the offset is past the message.

    If a crash lost the offset, the next commit is recorded as FIRST, like the start of a group. A delivery record, or
    without delivery records an earlier move, shows that the group had an offset before.
    """
    delivered = subject.last(*DELIVERED)
    if move.kind is MoveKind.FIRST:
        return delivered is not None or (not subject.is_recorded and move is not _moves(subject)[0])
    return delivered is not None and delivered.at_ms >= move.at_ms


def _moves(subject: Subject) -> Sequence[OffsetMove]:
    place = subject.stored.place
    return subject.scene.history.moves(place.broker, subject.consumer.name, place.topic, place.queue_id)


def _move_past(subject: Subject) -> OffsetMove | None:
    """Return the newest move past the message; None if there is none, or if a later move went back before it."""
    offset = subject.stored.place.queue_offset
    for move in reversed(_moves(subject)):
        if move.after <= offset:
            return None
        if move.before is None or move.before <= offset:
            return move
    return None


def _moved(subject: Subject, move: OffsetMove) -> Finding:
    """Return the verdict about a message that a move of the offset passed."""
    group, place, scene = subject.consumer.name, subject.stored.place, subject.scene
    at, by = subject.at(move.at_ms), f" by {scene.caller(move.channel)}" if move.channel else ""
    facts = (
        fact("offset_move", kind=move.kind.value, at_ms=move.at_ms, before=move.before, after=move.after),
        subject.progress_fact,
        subject.place_fact,
    )
    back = changes.reset(group, place.topic, place.queue_offset)
    if move.kind is MoveKind.FIRST:
        queue = f"offset {move.after} of queue {place.queue_id}"
        if not subject.is_subscribed and subject.former_subscription is None:
            text = (
                f"group {group} got its first offset, {queue}, at {at} without a delivery of this message: its "
                f"subscription of that time did not match it, or it started after this message"
            )
            matching = changes.subscribe("subscribe with an expression that matches the message")
            return Finding(Reason.COMMITTED_PAST, subject.stored_but(text), facts, (back, matching))
        text = f"group {group} started at {queue} at {at}{_origin(subject)}, after this message"
        first = changes.subscribe("let the group consume from the first offset before its first request")
        return Finding(Reason.STARTED_AT_END, subject.stored_but(text), facts, (back, first))
    verb = "copied from another group" if move.kind is MoveKind.CLONE else "reset"
    source = "" if move.before is None else f" from {move.before}"
    text = f"the offset of group {group} was {verb}{source} to {move.after} at {at}{by}, past this message"
    return Finding(Reason.RESET_PAST, subject.stored_but(text), facts, (back,))


def _origin(subject: Subject) -> str:
    member = next(iter(subject.consumer.members), None)
    return "" if member is None or not member.consume_from else f" ({member.consume_from} of {member.client})"


def _committed_past(subject: Subject) -> Finding | None:
    """Apply if the offset is past the message, and the complete delivery records since its send have no delivery."""
    if subject.deliveries or not subject.is_recorded or subject.last(RecordKind.ACKNOWLEDGED, RecordKind.RENEWED):
        return None
    if _was_redelivered(subject):
        return None
    group, place = subject.consumer.name, subject.stored.place
    commit = subject.last(RecordKind.COMMITTED)
    progress = subject.progress
    position = progress.passed if progress is not None else place.queue_offset + 1
    facts: tuple[Fact, ...] = (subject.progress_fact, subject.place_fact)
    back = changes.reset(group, place.topic, place.queue_offset)
    if commit is not None:
        offset = commit.first + commit.count
        text = (
            f"{subject.scene.client(commit.channel)} committed offset {offset} of queue {place.queue_id} for group "
            f"{group} at {subject.at(commit.at_ms)}, without a delivery of this message"
        )
        facts = (
            fact("commit", at_ms=commit.at_ms, offset=offset, client=subject.scene.client_id(commit.channel)),
            *facts,
        )
        return Finding(Reason.COMMITTED_PAST, subject.stored_but(text), facts, (back,))
    text = (
        f"group {group} is past it at offset {position} of queue {place.queue_id}, without a delivery of it: a "
        f"subscription of that time did not match it, or a client moved the offset"
    )
    return Finding(Reason.COMMITTED_PAST, subject.stored_but(text), facts, (back,))


def _was_redelivered(subject: Subject) -> bool:
    """True if a retry of the group came from the copy: the response with its delivery was lost.

    A retry does not name the copy from which it came. Copies of equal ids, such as those of a producer that sent the
    message again, have as many retries as copies whose delivery was not acknowledged.
    """
    level, group = subject.stored.retry, subject.consumer.name

    def is_retry(copy: CopyView) -> bool:
        return copy.state is CopyState.RETRY and copy.group == group

    copies = subject.message.copies
    retries = sum(is_retry(each) and each.retry == level + 1 for each in copies)
    peers = [each for each in copies if each.retry == level and (each.state is CopyState.STORED or is_retry(each))]
    judged = (Subject(subject.scene, subject.message, each, subject.group) for each in peers)
    return retries > sum(bool(each.deliveries) and each.last(RecordKind.ACKNOWLEDGED) is None for each in judged)


def acknowledged(subject: Subject) -> Finding | None:
    """Apply to all other messages below the offset: the group has them neither in flight nor in a retry."""
    if not subject.is_passed:
        return None
    group, place = subject.consumer.name, subject.stored.place
    delivered, done = subject.last(*DELIVERED), subject.last(*ACKNOWLEDGED)
    events = _event_facts(subject, delivered, done)
    facts = (*events, *start_facts(subject), subject.progress_fact, subject.place_fact)
    retry = f" ({subject.retry_text})" if subject.is_retry else ""
    scene = subject.scene
    if delivered is not None:
        client = scene.client(delivered.channel)
        text = f"was delivered to {client} of group {group} at {subject.at(delivered.at_ms)}{retry}"
    else:
        text = f"is finished for group {group}{retry}"
    if done is None:
        progress = subject.progress
        text += f", which is past it in queue {place.queue_id} (offset {progress.passed if progress else '-'})"
        text += " and has it neither in flight nor in a retry"
    elif done.kind is RecordKind.COMMITTED:
        text += f", and offset {done.first + done.count} was committed at {subject.at(done.at_ms)}"
    else:
        text += f" and acknowledged at {subject.at(done.at_ms)}"
    if delivered is None and scene.complete_since_ms is not None:
        text += f"; details from before {subject.at(scene.complete_since_ms)} are no longer held"
    back = changes.reset(group, place.topic, place.queue_offset)
    return Finding(Reason.ACKNOWLEDGED, text, facts, (back,))


def with_deletion(subject: Subject, finding: Finding) -> Finding:
    """Return a verdict that also names a deletion of the group since the message was stored."""
    deletion = subject.scene.history.deleted_groups.of(subject.consumer.name)
    since_ms = subject.message.born_at_ms if subject.copy is None else subject.copy.stored_at_ms
    if deletion is None or deletion.at_ms < since_ms or finding.reason in _NOT_BY_DELETION:
        return finding
    text = f"{finding.text}; group {subject.consumer.name} was deleted at {subject.at(deletion.at_ms)}"
    deleted = fact("group_deleted", name=subject.consumer.name, at_ms=deletion.at_ms)
    return replace(finding, text=text, facts=(*finding.facts, deleted))


def _event_facts(subject: Subject, *events: RecordedEvent | None) -> tuple[Fact, ...]:
    return tuple(
        fact(event.kind.name.lower(), at_ms=event.at_ms, client=subject.scene.client_id(event.channel))
        for event in events
        if event is not None
    )
