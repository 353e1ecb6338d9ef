"""Rules about a message in the store: recalled, delayed or timed, deleted, compacted away, stored."""

from collections.abc import Sequence

from ..history.events import TrimReason
from ..inspection.messages import CopyState, CopyView
from ..message import properties as props
from . import changes
from .facts import Change
from .missing_rules import deleted
from .reason import Reason
from .subject import Finding, Subject, fact, properties_of, real_topic


def recalled(subject: Subject) -> Finding | None:
    """The producer recalled the timed message before its time."""
    copies = subject.message.copies
    timed = _held(subject, CopyState.TIMED)
    if not timed or subject.copy is not None:
        return None
    marks = [copy for copy in copies if props.TIMER_DEL_UNIQKEY in properties_of(copy)]
    if not marks and any(subject.scene.inspection.waits_for_time(copy.place) for copy in timed):
        return None
    at = f" at {subject.at(marks[-1].stored_at_ms)}" if marks else ""
    due_ms = timed[-1].due_ms
    due = "" if due_ms is None else f"; it was due at {subject.at(due_ms)}"
    if not marks and due_ms is not None and due_ms >= subject.scene.now_ms:
        return None
    return Finding(
        Reason.RECALLED,
        f"was recalled{at}{due}",
        (fact("recalled", at_ms=marks[-1].stored_at_ms if marks else None, due_ms=due_ms),),
        (changes.send(),),
    )


def waiting(subject: Subject) -> Finding | None:
    """A delay level or the timer wheel holds the message."""
    held = [*_held(subject, CopyState.DELAYED), *_held(subject, CopyState.TIMED)]
    if not held or subject.copy is not None:
        return None
    copy = held[-1]
    due_ms = copy.due_ms
    is_level = copy.state is CopyState.DELAYED
    level = copy.place.queue_id + 1
    kind = f"delayed by level {level}{_level_text(subject, copy)}" if is_level else "a timed message"
    advances: tuple[Change, ...] = ()
    if due_ms is None or due_ms < subject.scene.now_ms:
        until, due_ms = "; the broker has not delivered it to its topic yet", None
    else:
        until = f"{'' if is_level else ' and waits'} until {subject.at(due_ms)}"
        advances = (changes.advance(subject.scene, due_ms, "the broker stores it in its topic"),)
    return Finding(
        Reason.DELAYED if is_level else Reason.TIMED,
        f"is {kind}{until}",
        (fact("timer", due_ms=due_ms, level=level if is_level else None, broker=copy.place.broker),),
        (*advances, changes.send("send one without a delay")),
        until_ms=due_ms,
    )


def _level_text(subject: Subject, copy: CopyView) -> str:
    """Return the configured delay of a level in brackets: users mistake levels for seconds."""
    delays = subject.scene.key(copy.place.broker, "messageDelayLevel").split()
    level = copy.place.queue_id
    return f" ({delays[level]})" if level < len(delays) else ""


def _held(subject: Subject, state: CopyState) -> Sequence[CopyView]:
    """Return the copies in a topic of delayed messages that the broker will deliver to the message's own topic."""
    return [
        copy
        for copy in subject.message.copies
        if copy.state is state
        and real_topic(copy) in ("", subject.message.topic)
        and props.TIMER_DEL_UNIQKEY not in properties_of(copy)
    ]


def expired(subject: Subject) -> Finding | None:
    """No copy in the message's own topic is stored any more, although later copies of it are."""
    if subject.copy is not None:
        return None
    place = subject.message.copies[-1].place
    trims = subject.scene.history.trims(place.broker)
    at_ms, reason = (trims[-1].at_ms, trims[-1].reason) if trims else (subject.scene.now_ms, TrimReason.RETENTION)
    return deleted(subject.scene, place, at_ms, reason)


def compacted(subject: Subject) -> Finding | None:
    """A later message with the same keys replaced the message in a compacted topic.

    Compaction compares the whole property KEYS (CompactionLog.shouldRetainMsg, 5.3.3).
    """
    if subject.is_retry or not subject.scene.inspection.is_compacted_away(subject.stored.place):
        return None
    place, keys = subject.stored.place, properties_of(subject.stored).get(props.KEYS, "")
    later = [
        copy.place.queue_offset
        for message in (subject.scene.inspection.find(subject.message.keys[0], place.topic) if keys.strip() else ())
        for copy in message.copies
        if (copy.place.broker, copy.place.topic, copy.place.queue_id) == (place.broker, place.topic, place.queue_id)
        and copy.place.queue_offset > place.queue_offset
        and properties_of(copy).get(props.KEYS) == keys
    ]
    by = f": offset {max(later)} has the same key {keys.strip()}" if later else ": it has no key or no body"
    return Finding(
        Reason.COMPACTED_AWAY,
        f"was compacted away ({subject.where}){by}",
        (subject.place_fact, fact("compaction", key=keys.strip() or None, replaced_by=max(later, default=None))),
        (changes.send("send it with a key of its own"),),
    )


def topic_deleted(subject: Subject) -> Finding | None:
    """The topic of the message was deleted. A topic of the same name that was created later has no such message."""
    if subject.is_retry or subject.scene.inspection.is_held(subject.stored.place):
        return None
    place = subject.stored.place
    again = "" if place.topic not in subject.scene.topics else "; the topic of this name was created later"
    return Finding(
        Reason.TOPIC_DELETED,
        f"was stored ({subject.where}) at {subject.at(subject.stored.stored_at_ms)}, and deleted with its topic{again}",
        (fact("topic", name=place.topic, exists=bool(again)), subject.place_fact),
        (changes.send(), changes.configure(f"do not delete {place.topic} before its messages are read")),
    )


def stored(subject: Subject) -> Finding:
    """The message is stored, and groups can read it."""
    copy = subject.stored
    return Finding(
        Reason.AVAILABLE,
        f"is stored on {copy.place.broker} ({subject.where}) since {subject.at(copy.stored_at_ms)}; groups can read it",
        (subject.place_fact,),
        (changes.start_consumer("a group", subject.message.topic),),
    )
