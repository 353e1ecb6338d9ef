"""Rules about the progress of a group: message dead, waiting for a retry, in flight, moved past, acknowledged."""

from ..history.events import Firing, MoveKind, OffsetMove, RecordedEvent
from ..history.record_kind import RecordKind
from ..inspection.check_points import ReceiptView
from ..inspection.messages import CopyState, CopyView
from . import changes
from .explanation import Change, Fact
from .reason import Reason
from .subject import ACKNOWLEDGED, DELIVERED, Finding, Subject, fact, real_topic, retry_topics

_RECEIVES = ("PullMessage", "PopMessage", "ReceiveMessage", "LitePullMessage")
"""Operations whose responses contain messages."""


def dead(subject: Subject) -> Finding | None:
    """The message is in the dead letter queue of the group."""
    group = subject.consumer
    found = [copy for copy in subject.family.copies if copy.state is CopyState.DEAD and copy.group == group.name]
    if not found:
        return None
    copy = found[-1]
    retries = f"after {copy.retry} retr{'y' if copy.retry == 1 else 'ies'}" if copy.retry else "without a retry"
    return Finding(
        Reason.DEAD,
        f'is dead since {subject.at(copy.stored_at_ms)}, {retries}; rocketmq.dlq("{group.name}") returns it',
        (
            fact(
                "dead_letter",
                at_ms=copy.stored_at_ms,
                topic=copy.place.topic,
                queue_id=copy.place.queue_id,
                offset=copy.place.queue_offset,
                retries=copy.retry,
            ),
        ),
        (
            changes.send("send it again"),
            changes.configure(f'allow more retries: rocketmq.group("{group.name}", retry_max_times=...)'),
        ),
    )


def waiting_for_retry(subject: Subject) -> Finding | None:
    """A delay level holds the next retry of a message that a client sent back."""
    group = subject.consumer
    delayed = delayed_retry(subject)
    if delayed is None:
        return None
    scene, limit = subject.scene, group.retry_max_times
    retry = f"retry {delayed.retry}" + (f" of {limit}" if limit > 0 else "")
    client = _sender_back(subject)
    after = f", after {client} sent it back at {subject.at(delayed.stored_at_ms)}"
    facts = (
        fact("delayed_retry", retry=delayed.retry, since_ms=delayed.stored_at_ms, due_ms=delayed.due_ms, limit=limit),
    )
    if delayed.due_ms is None or delayed.due_ms < scene.now_ms:
        wait = changes.wait("the broker stores it in the retry topic")
        return Finding(Reason.WAITING_FOR_RETRY, f"waits for {retry}{after}", facts, (wait,))
    change = changes.advance(scene, delayed.due_ms, "the broker stores it in the retry topic")
    text = f"waits for {retry} until {subject.at(delayed.due_ms)}{after}"
    return Finding(Reason.WAITING_FOR_RETRY, text, facts, (change,), delayed.due_ms)


def delayed_retry(subject: Subject) -> CopyView | None:
    """Return the delayed copy of the next retry; None if the newest retry is in the retry topic already."""
    topics = retry_topics(subject.consumer.name, subject.family.topic)
    found: CopyView | None = None
    for copy in subject.family.copies:
        if copy.state in (CopyState.DELAYED, CopyState.TIMED) and real_topic(copy) in topics:
            found = copy
        elif (
            found is not None
            and copy.state is CopyState.RETRY
            and copy.group == subject.consumer.name
            and copy.retry >= found.retry
        ):
            found = None
    return found


def _sender_back(subject: Subject) -> str:
    """Return the client that sent the message back; the copy that it had is the one before."""
    for copy in reversed(subject.family.copies):
        if copy.state in (CopyState.STORED, CopyState.RETRY):
            event = Subject(subject.scene, subject.family, copy, subject.group).last(RecordKind.SENT_BACK)
            if event is not None:
                return subject.scene.client(event.channel)
    return "a client"


# in flight


def in_flight(subject: Subject) -> Finding | None:
    """A client has the message: it neither acknowledged nor returned it."""
    receipt = subject.receipt
    if receipt is None or receipt.returned:
        return None
    firing = lost_response(subject, receipt.popped_ms)
    if firing is not None:
        return fault_acted(subject, firing, receipt)
    scene, broker = subject.scene, subject.stored.place.broker
    client, since = scene.client(receipt.channel), subject.at(receipt.popped_ms)
    attempt = f" (attempt {receipt.attempt})" if receipt.attempt > 1 else ""
    unwritten = _unwritten(subject, receipt)
    if unwritten:
        text = f"is in flight: {broker} popped it for {client} of group {receipt.group} at {since}, but {unwritten}"
    else:
        text = f"is in flight: {broker} delivered it to {client} of group {receipt.group} at {since}{attempt}"
    if receipt.until_ms is None:
        text += ", and no offset beyond it is committed yet"
        change = changes.commit(scene, receipt.channel)
        return Finding(Reason.IN_FLIGHT, _with_place(subject, text), _receipt_facts(subject, receipt), (change,))
    end, advances, until_ms = _end(subject, receipt, receipt.until_ms)
    acknowledges = () if unwritten else (changes.acknowledge(scene, receipt.channel),)
    facts = _receipt_facts(subject, receipt)
    return Finding(
        Reason.IN_FLIGHT, _with_place(subject, f"{text}, and {end}"), facts, (*acknowledges, *advances), until_ms
    )


def returned(subject: Subject) -> Finding | None:
    """A client returned the message, as SDKs do after a failure, and it stays invisible."""
    receipt = subject.receipt
    if receipt is None or not receipt.returned:
        return None
    event = subject.last(RecordKind.RETURNED)
    channel = event.channel if event is not None else receipt.channel
    at_ms = event.at_ms if event is not None else receipt.popped_ms
    text = f"is invisible: {subject.scene.client(channel)} returned it at {subject.at(at_ms)}"
    facts = _receipt_facts(subject, receipt)
    if receipt.until_ms is None:
        change = changes.wait("a client receives it again")
        return Finding(Reason.INVISIBLE_AFTER_FAILURE, _with_place(subject, text), facts, (change,))
    end, advances, until_ms = _end(subject, receipt, receipt.until_ms)
    text = _with_place(subject, f"{text}, and {end}")
    return Finding(Reason.INVISIBLE_AFTER_FAILURE, text, facts, advances, until_ms)


def fault_acted(subject: Subject, firing: Firing, receipt: ReceiptView | None) -> Finding:
    """Return the verdict about a message whose response a rule of faults kept from the client."""
    scene = subject.scene
    client = scene.client(firing.channel)
    text = (
        f"was read for {client} of group {subject.consumer.name}, and rule {firing.rule} ({firing.effect}) acted on "
        f"the response at {subject.at(firing.at_ms)}: {client} has not received it"
    )
    facts: tuple[Fact, ...] = (
        fact("firing", at_ms=firing.at_ms, rule=firing.rule, effect=firing.effect, operation=firing.operation),
        subject.place_fact,
    )
    rule = changes.remove_rule(firing.rule)
    if receipt is None or receipt.until_ms is None:
        again = changes.wait(f"{client} requests the queue again", scene.client_id(firing.channel))
        return Finding(Reason.FAULT_ACTED, text, facts, (rule, again))
    end, advances, until_ms = _end(subject, receipt, receipt.until_ms)
    facts = (*facts, *_receipt_facts(subject, receipt))
    return Finding(Reason.FAULT_ACTED, f"{text}; {end}", facts, (*advances, rule), until_ms)


def lost_response(subject: Subject, since_ms: int) -> Firing | None:
    """Return the rule of faults that acted on a response with the message since a time, if no delivery followed."""
    found = [
        firing
        for firing in subject.scene.history.firings()
        if firing.at_ms >= since_ms
        and firing.operation in _RECEIVES
        and subject.family.message_id in firing.message_ids
    ]
    delivered = subject.last(*DELIVERED)
    if not found or (delivered is not None and delivered.at_ms >= found[-1].at_ms):
        return None
    return found[-1]


def _unwritten(subject: Subject, receipt: ReceiptView) -> str:
    """Return why the proxy did not write the message of a receipt to the client; empty if it did."""
    event = subject.last(RecordKind.NOT_WRITTEN, RecordKind.SKIPPED, *DELIVERED)
    if event is None or event.at_ms < receipt.popped_ms:
        return ""
    if event.kind is RecordKind.NOT_WRITTEN:
        return "the client's call had ended"
    return "the proxy did not pass it on" if event.kind is RecordKind.SKIPPED else ""


def _end(subject: Subject, receipt: ReceiptView, end_ms: int) -> tuple[str, tuple[Change, ...], int | None]:
    """Return a clause about the end of an invisible duration, the change of the clock, and the end if it is ahead."""
    if end_ms <= subject.scene.now_ms:
        text = f"its invisible duration ended at {subject.at(end_ms)}; the broker redelivers it with its next scan"
        wait = changes.wait("the broker redelivers it, a few seconds of emulator time after the end")
        return text, (wait,), None
    effect = "it becomes available" if receipt.holder == "order" else "the broker redelivers it within some seconds"
    change = changes.advance(subject.scene, end_ms, f"its invisible duration ends, and {effect}")
    return f"its invisible duration ends at {subject.at(end_ms)}", (change,), end_ms


def _with_place(subject: Subject, text: str) -> str:
    if subject.is_retry:
        return f"({subject.retry_text}) {text}"
    return f"({subject.where}) {text}"


def _receipt_facts(subject: Subject, receipt: ReceiptView) -> tuple[Fact, ...]:
    name = "pulled" if receipt.holder == "pull" else "check_point"
    return (
        fact(
            name,
            group=receipt.group,
            topic=receipt.place.topic,
            queue_id=receipt.place.queue_id,
            offset=receipt.place.queue_offset,
            popped_ms=receipt.popped_ms,
            until_ms=receipt.until_ms,
            client=subject.scene.client_id(receipt.channel),
            attempt=receipt.attempt,
            holder=receipt.holder,
        ),
    )


# passed


def moved_past(subject: Subject) -> Finding | None:
    """The offset of the group was moved past the message: at the start of the group, by a reset, or by a commit."""
    if not subject.is_passed:
        return None
    move = _move_past(subject)
    if move is not None:
        delivered = subject.last(*DELIVERED)
        if delivered is None or delivered.at_ms < move.at_ms:
            return _moved(subject, move)
    return _committed_past(subject)


def _move_past(subject: Subject) -> OffsetMove | None:
    """Return the newest move that put the group past the message, unless a later one put it before the message."""
    place = subject.stored.place
    moves = subject.scene.history.moves(place.broker, subject.consumer.name, place.topic, place.queue_id)
    for move in reversed(moves):
        if move.after <= place.queue_offset:
            return None
        if move.before is None or move.before <= place.queue_offset:
            return move
    return None


def _moved(subject: Subject, move: OffsetMove) -> Finding:
    group, place, scene = subject.consumer.name, subject.stored.place, subject.scene
    at, by = subject.at(move.at_ms), f" by {scene.client(move.channel)}" if move.channel else ""
    facts = (
        fact("offset_move", kind=move.kind.value, at_ms=move.at_ms, before=move.before, after=move.after),
        subject.progress_fact,
        subject.place_fact,
    )
    back = changes.reset(group, place.topic, place.queue_offset)
    if move.kind is MoveKind.FIRST:
        queue = f"offset {move.after} of queue {place.queue_id}"
        text = f"group {group} started at {queue} at {at}{_origin(subject)}, after this message"
        first = changes.subscribe("let the group consume from the first offset before its first request")
        return Finding(Reason.STARTED_AT_END, subject.but(text), facts, (back, first))
    verb = "copied from another group" if move.kind is MoveKind.CLONE else "reset"
    source = "" if move.before is None else f" from {move.before}"
    text = f"the offset of group {group} was {verb}{source} to {move.after} at {at}{by}, past this message"
    return Finding(Reason.RESET_PAST, subject.but(text), facts, (back,))


def _origin(subject: Subject) -> str:
    member = next(iter(subject.consumer.members), None)
    return "" if member is None or not member.consume_from else f" ({member.consume_from} of {member.client})"


def _committed_past(subject: Subject) -> Finding | None:
    """The group is past the message without any recorded delivery, and nothing of the time since was dropped."""
    if subject.deliveries or not subject.is_recorded or subject.last(RecordKind.ACKNOWLEDGED, RecordKind.RENEWED):
        return None
    group, place = subject.consumer.name, subject.stored.place
    commit = subject.last(RecordKind.COMMITTED)
    progress = subject.progress
    position = progress.position if progress is not None else place.queue_offset + 1
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
        return Finding(Reason.COMMITTED_PAST, subject.but(text), facts, (back,))
    text = (
        f"group {group} is past it at offset {position} of queue {place.queue_id}, without a delivery of it: a "
        f"subscription of that time did not match it, or a client moved the offset"
    )
    return Finding(Reason.COMMITTED_PAST, subject.but(text), facts, (back,))


def acknowledged(subject: Subject) -> Finding | None:
    """The message was delivered and acknowledged, as far as the group's progress tells."""
    if not subject.is_passed:
        return None
    group, place = subject.consumer.name, subject.stored.place
    delivered, done = subject.last(*DELIVERED), subject.last(*ACKNOWLEDGED)
    facts = (*_event_facts(subject, delivered, done), subject.progress_fact, subject.place_fact)
    retry = f" ({subject.retry_text})" if subject.is_retry else ""
    scene = subject.scene
    if delivered is not None:
        client = scene.client(delivered.channel)
        text = f"was delivered to {client} of group {group} at {subject.at(delivered.at_ms)}{retry}"
    else:
        text = f"is finished for group {group}{retry}"
    if done is None:
        progress = subject.progress
        text += f", which is past it in queue {place.queue_id} (offset {progress.position if progress else '-'})"
        text += " and has it neither in flight nor in a retry"
    elif done.kind is RecordKind.COMMITTED:
        text += f", and offset {done.first + done.count} was committed at {subject.at(done.at_ms)}"
    else:
        text += f" and acknowledged at {subject.at(done.at_ms)}"
    if delivered is None and scene.complete_since_ms is not None:
        text += f"; before {subject.at(scene.complete_since_ms)}, details are no longer held"
    back = changes.reset(group, place.topic, place.queue_offset)
    return Finding(Reason.ACKNOWLEDGED, text, facts, (back,))


def _event_facts(subject: Subject, *events: RecordedEvent | None) -> tuple[Fact, ...]:
    return tuple(
        fact(event.kind.name.lower(), at_ms=event.at_ms, client=subject.scene.client_id(event.channel))
        for event in events
        if event is not None
    )
