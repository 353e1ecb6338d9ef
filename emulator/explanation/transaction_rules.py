"""Rules about half messages: undecided, rolled back, discarded."""

from collections.abc import Sequence

from ..history.events import RecordedEvent
from ..history.record_kind import RecordKind
from ..inspection.messages import CopyState, CopyView
from ..message import properties as props
from . import changes
from .facts import Change
from .reason import Reason
from .subject import Finding, Subject, fact, properties_of, real_topic

_DELAYED = (CopyState.DELAYED, CopyState.TIMED)


def undecided_half(subject: Subject) -> Finding | None:
    """The producer has neither committed nor rolled back the transaction."""
    if not any(copy.state is CopyState.HALF for copy in subject.message.copies):
        return None  # the usual case, in which the half messages need not be read
    half = subject.scene.inspection.half_message(subject.message)
    if half is None:
        return None
    group, scene = half.producer_group, subject.scene
    facts = (
        fact(
            "half_message",
            producer_group=group,
            born_at_ms=half.born_at_ms,
            checks=half.checks,
            checks_max=half.checks_max,
            next_check_ms=half.next_check_ms,
        ),
    )
    ends = changes.send(f"a producer of {group} commits or rolls back the transaction")
    advances: tuple[Change, ...] = ()
    if half.next_check_ms is None:
        due = "no check is scheduled"
    else:
        due = f"the {'next' if half.checks else 'first'} check is at {subject.at(half.next_check_ms)}"
        advances = (changes.advance(scene, half.next_check_ms, "the broker checks the transaction"),)
    if not half.checks:
        text = (
            f"is a half message since {subject.at(half.born_at_ms)}: its producer has neither committed nor rolled "
            f"back the transaction, and {due}"
        )
        return Finding(Reason.HALF_UNCHECKED, text, facts, (ends, *advances), until_ms=half.next_check_ms)
    times = f"{half.checks} time{'' if half.checks == 1 else 's'}"
    left = max(half.checks_max - half.checks, 0)
    text = (
        f"is a half message since {subject.at(half.born_at_ms)}, checked {times}: no producer of {group} has committed "
        f"or rolled back the transaction, and {due}"
    )
    discard = changes.wait(
        f"{left} more check{'' if left == 1 else 's'} without an answer, and the broker discards the message"
    )
    return Finding(Reason.HALF_CHECKED, text, facts, (ends, *advances, discard), until_ms=half.next_check_ms)


def discarded(subject: Subject) -> Finding | None:
    """The broker discarded the half message after too many checks."""
    found = [copy for copy in subject.message.copies if copy.state is CopyState.DISCARDED]
    if not found or _is_committed(subject):
        return None
    copy = found[-1]
    checks = properties_of(copy).get(props.TRANSACTION_CHECK_TIMES)
    after = "" if checks is None else f" after {checks} check{'' if checks == '1' else 's'}"
    return Finding(
        Reason.DISCARDED,
        f"was discarded at {subject.at(copy.stored_at_ms)}{after}, because no producer has committed or rolled back "
        f"the transaction; rocketmq.discarded_transactions() returns it",
        (fact("discarded", at_ms=copy.stored_at_ms, topic=copy.place.topic, offset=copy.place.queue_offset),),
        (changes.send(),),
    )


def rolled_back(subject: Subject) -> Finding | None:
    """The transaction is decided, and no copy is stored in the message's own topic.

    The copy of a committed message can have expired. Then only the delivery record shows that it was committed.
    """
    halves = [copy for copy in subject.message.copies if copy.state is CopyState.HALF]
    if (
        not halves
        or _is_committed(subject)
        or any(copy.state is CopyState.DISCARDED for copy in subject.message.copies)
    ):
        return None
    scene, half = subject.scene, halves[-1]
    decided = _decision(subject, halves)
    if decided is not None and decided.kind is RecordKind.ROLLED_BACK:
        text = f"was rolled back by {scene.client(decided.channel)} at {subject.at(decided.at_ms)}"
        facts = (fact("rolled_back", at_ms=decided.at_ms, client=scene.client_id(decided.channel)),)
        return Finding(Reason.ROLLED_BACK, text, facts, (changes.send(),))
    trims = scene.history.trims(half.place.broker)
    if decided is not None or trims:
        committed = "committed" if decided is not None else "committed or rolled back"
        trimmed = (
            f", and {half.place.broker} deleted its oldest messages at {subject.at(trims[-1].at_ms)}" if trims else ""
        )
        return Finding(
            Reason.EXPIRED,
            f"was {committed} and is not stored any more{trimmed}",
            (fact("half_message", at_ms=half.stored_at_ms, broker=half.place.broker),),
            (changes.send(),),
        )
    return Finding(
        Reason.ROLLED_BACK,
        "was rolled back: its transaction is decided, and no broker has stored it in its topic",
        (fact("half_message", at_ms=half.stored_at_ms, broker=half.place.broker),),
        (changes.send(),),
    )


def _is_committed(subject: Subject) -> bool:
    return any(
        copy.state is CopyState.STORED or (copy.state in _DELAYED and real_topic(copy) == subject.message.topic)
        for copy in subject.message.copies
    )


def _decision(subject: Subject, halves: Sequence[CopyView]) -> RecordedEvent | None:
    """Return the recorded end of the transaction."""
    for copy in reversed(halves):
        place = copy.place
        for event in reversed(subject.scene.history.of(place.broker, place.topic, place.queue_id, place.queue_offset)):
            if event.kind in (RecordKind.COMMITTED_TRANSACTION, RecordKind.ROLLED_BACK):
                return event
    return None
