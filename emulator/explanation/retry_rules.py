"""Rules about retries of a group: message dead, or waiting for its next retry."""

from ..history.record_kind import RecordKind
from ..inspection.messages import CopyState, CopyView
from . import changes
from .reason import Reason
from .subject import Finding, Subject, fact, real_topic, retry_topics


def dead(subject: Subject) -> Finding | None:
    """The message is in the dead letter queue of the group."""
    group = subject.consumer
    found = [copy for copy in subject.message.copies if copy.state is CopyState.DEAD and copy.group == group.name]
    if not found:
        return None
    copy = found[-1]
    times = max(copy.retry - 1, 0)  # sending it back the last time has counted as well, as in upstream
    if group.retry_max_times >= 0:
        times = min(times, group.retry_max_times)  # the proxy pops a last retry, and does not pass it on
    retries = f"after {times} retr{'y' if times == 1 else 'ies'}" if times else "without a retry"
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
                retries=times,
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
    return Finding(Reason.WAITING_FOR_RETRY, text, facts, (change,), until_ms=delayed.due_ms)


def delayed_retry(subject: Subject) -> CopyView | None:
    """Return the delayed copy of the next retry; None if the newest retry is in the retry topic already."""
    topics = retry_topics(subject.consumer.name, subject.message.topic)
    found: CopyView | None = None
    for copy in subject.message.copies:
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
    """Return the client that sent the message back, from the delivery record of the copy that it had received."""
    for copy in reversed(subject.message.copies):
        if copy.state in (CopyState.STORED, CopyState.RETRY):
            event = Subject(subject.scene, subject.message, copy, subject.group).last(RecordKind.SENT_BACK)
            if event is not None:
                return subject.scene.client(event.channel)
    return "a client"
