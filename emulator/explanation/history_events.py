"""Steps of a history: the stored copies of a message and the recorded events about them, in order.

Copies are durable and always known. Deliveries, acknowledgements and ends of transactions come from the delivery
record, which may have dropped the oldest.
"""

from collections.abc import Callable, Iterator

from ..client.client_text import host_port
from ..history.events import LostMessage, RecordedEvent
from ..history.history import History
from ..history.passed_on import original_refusals
from ..history.record_kind import RecordKind
from ..inspection.messages import CopyState, CopyView, MessageWithCopies
from ..message import properties as props
from ..message import stored_record as records
from ..message.names import is_retry
from .clock_text import clock_text
from .ignored_delay import ignored_delay
from .known_clients import KnownClients
from .steps import HistoryStep, StepKind, are_of_several_days

_KINDS = {
    RecordKind.PULLED: StepKind.DELIVERED,
    RecordKind.POPPED: StepKind.DELIVERED,
    RecordKind.ACKNOWLEDGED: StepKind.ACKNOWLEDGED,
    RecordKind.COMMITTED: StepKind.ACKNOWLEDGED,
    RecordKind.RETURNED: StepKind.RETURNED,
    RecordKind.SENT_BACK: StepKind.SENT_BACK,
    RecordKind.SKIPPED: StepKind.SKIPPED,
    RecordKind.NOT_WRITTEN: StepKind.NOT_WRITTEN,
    RecordKind.COMMITTED_TRANSACTION: StepKind.COMMITTED,
    RecordKind.ROLLED_BACK: StepKind.ROLLED_BACK,
    RecordKind.REFUSED_ACKNOWLEDGEMENT: StepKind.REFUSED,
    RecordKind.RENEWED: StepKind.RENEWED,
}
_DELIVERIES = (RecordKind.PULLED, RecordKind.POPPED)


def steps_of(message: MessageWithCopies, history: History, clients: KnownClients) -> list[HistoryStep]:
    """Return the steps of a stored message in the order of their times; of steps at one time, the cause first.

    A refused acknowledgement is in the delivery record and, with code and remark, among the refused requests; only the
    latter becomes a step.
    """
    return _dated(lambda with_date: _steps_of(message, history, clients, with_date=with_date))


def _dated(steps: Callable[[bool], list[HistoryStep]]) -> list[HistoryStep]:
    """Return `steps(with_date)`: instants in the texts of steps have a date if the steps are of several days."""
    found = steps(False)
    return steps(True) if are_of_several_days(found) else found


def _steps_of(
    message: MessageWithCopies, history: History, clients: KnownClients, *, with_date: bool
) -> list[HistoryStep]:
    found = [
        (step.at_ms, index, step)
        for index, copy in enumerate(message.copies)
        for step in (
            *_stored(message, index, clients, with_date=with_date),
            *_recorded(copy, history, clients, with_date=with_date),
        )
    ]
    found += _unrecorded_commit(message, history)
    others = list(_steps_without_copy(message.message_id, history, clients, with_date=with_date))
    refused = {(step.at_ms, step.client) for step in others if step.kind is StepKind.REFUSED}
    found = [
        each for each in found if each[2].kind is not StepKind.REFUSED or (each[2].at_ms, each[2].client) not in refused
    ]
    found += [(step.at_ms, len(message.copies), step) for step in others]
    return [step for _, _, step in sorted(found, key=lambda each: each[:2])]


def steps_without_copies(id_or_key: str, history: History, clients: KnownClients) -> list[HistoryStep]:
    """Return the steps of a message that is not stored: refusals, rules of faults that acted, its loss in a crash."""
    return _dated(
        lambda with_date: sorted(
            _steps_without_copy(id_or_key, history, clients, with_date=with_date), key=lambda step: step.at_ms
        )
    )


def _stored(message: MessageWithCopies, index: int, clients: KnownClients, *, with_date: bool) -> Iterator[HistoryStep]:
    """Yield the steps that follow from a stored copy, such as SENT or REDELIVERED."""
    copy = message.copies[index]
    properties = records.property_map(copy.record)
    state = copy.state
    if index == 0 and state in (CopyState.STORED, CopyState.DELAYED, CopyState.TIMED, CopyState.HALF):
        client = clients.sender(message.sender)
        kind = StepKind.HALF if state is CopyState.HALF else StepKind.SENT
        yield _step(copy, kind, _sent_text(message, copy), client=client, sdk=clients.sdk(client))
    elif state is CopyState.STORED:
        yield _step(copy, StepKind.AVAILABLE, f"stored in {_place_text(copy)}")
    elif state is CopyState.HALF:
        times = properties.get(props.TRANSACTION_CHECK_TIMES)
        before = records.property_map(message.copies[index - 1].record).get(props.TRANSACTION_CHECK_TIMES)
        if times != before:  # during CHECK_IMMUNITY_TIME_IN_SECONDS the broker appends copies without a check
            group = properties.get(props.PRODUCER_GROUP)
            yield _step(copy, StepKind.CHECKED, f"check {times}, of producer group {group}")
    elif state is CopyState.DISCARDED:
        yield _step(copy, StepKind.DISCARDED, f"stored in {_place_text(copy)}")
    elif state is CopyState.RETRY:
        yield _step(copy, StepKind.REDELIVERED, f"stored in {_place_text(copy)}, retry {copy.retry}", group=copy.group)
    elif state is CopyState.DEAD:
        yield _step(copy, StepKind.DEAD, f"stored in {_place_text(copy)}", group=copy.group)
    if state in (CopyState.DELAYED, CopyState.TIMED):
        yield from _delayed(message, index, properties, with_date=with_date)


def _delayed(
    message: MessageWithCopies, index: int, properties: dict[str, str], *, with_date: bool
) -> Iterator[HistoryStep]:
    copy = message.copies[index]
    if props.TIMER_DEL_UNIQKEY in properties:
        yield _step(copy, StepKind.RECALLED, "")
        return
    earlier = [each for each in message.copies[:index] if each.state is copy.state]
    if earlier and earlier[-1].due_ms == copy.due_ms and copy.state is CopyState.TIMED:
        return  # the timer wheel stores a message again when it is due beyond the wheel's range
    until = "" if copy.due_ms is None else f"until {clock_text(copy.due_ms, copy.stored_at_ms, with_date=with_date)}"
    level = f"level {copy.place.queue_id + 1}, " if copy.state is CopyState.DELAYED else ""
    retry = f"before retry {copy.retry}, " if copy.group is not None else ""
    yield _step(copy, StepKind.DELAYED, f"{retry}{level}{until}".rstrip(", "), group=copy.group)


def _recorded(copy: CopyView, history: History, clients: KnownClients, *, with_date: bool) -> Iterator[HistoryStep]:
    """Yield the steps from the delivery record of a copy."""
    place = copy.place
    events = history.of(place.broker, place.topic, place.queue_id, place.queue_offset)
    deliveries: dict[str, int] = {}
    for event in events:
        attempt = None
        if event.kind in _DELIVERIES:
            deliveries[event.group] = deliveries.get(event.group, 0) + 1
            attempt = copy.retry + deliveries[event.group]
        client = clients.of_channel(event.channel)
        was_delivered = event.group in deliveries
        yield HistoryStep(
            event.at_ms,
            _KINDS[event.kind],
            place.broker,
            client,
            group=event.group or None,
            place=place,
            attempt=attempt,
            detail=_event_text(event, was_delivered=was_delivered, with_date=with_date),
            sdk=clients.sdk(client),
        )


def _event_text(event: RecordedEvent, *, was_delivered: bool, with_date: bool) -> str:
    until = ""
    if event.hold_ms is not None:
        until = f"invisible until {clock_text(event.at_ms + event.hold_ms, event.at_ms, with_date=with_date)}"
    if event.kind is RecordKind.COMMITTED:
        without = "" if was_delivered else ", no delivery of the message is recorded"
        return f"committed offset {event.first + event.count}{without}"
    if event.kind is RecordKind.REFUSED_ACKNOWLEDGEMENT:
        return "the broker refused the acknowledgement"
    if event.kind is RecordKind.SKIPPED:
        return "popped by the proxy, which did not pass it on"
    if event.kind is RecordKind.NOT_WRITTEN:
        return "popped, and the client's call or connection had ended"
    return ", ".join(filter(None, (until, "by a slave" if event.by_slave else "")))


def _unrecorded_commit(message: MessageWithCopies, history: History) -> Iterator[tuple[int, int, HistoryStep]]:
    """Yield the commit of a transaction if its record was dropped: a copy in the message's own topic proves it.

    The tuple has the time, the index of the half copy, and the step; time and index are the order of steps.
    """
    half = [copy for copy in message.copies if copy.state is CopyState.HALF]
    for index, copy in enumerate(message.copies):
        if half and copy.state is CopyState.STORED:
            events = [event for each in half for event in history.of(*_queue_place(each))]
            if not any(event.kind is RecordKind.COMMITTED_TRANSACTION for event in events):
                yield copy.stored_at_ms, index - 1, _step(copy, StepKind.COMMITTED, "")
            return


def _steps_without_copy(
    id_or_key: str, history: History, clients: KnownClients, *, with_date: bool
) -> Iterator[HistoryStep]:
    """Yield the steps that do not follow from a copy: refused requests, firings of rules, and losses in crashes."""
    for refused in original_refusals(history.refused()):
        if id_or_key in (refused.message_id, *refused.keys.split()):
            client = clients.of_channel(refused.channel)
            text = f"{refused.label}: {refused.code}{': ' if refused.remark else ''}{refused.remark}"
            group = refused.group or None
            yield HistoryStep(
                refused.at_ms, StepKind.REFUSED, refused.node, client, group=group, detail=text, sdk=clients.sdk(client)
            )
    for firing in history.firings():
        if id_or_key in firing.message_ids:
            client = clients.of_channel(firing.channel)
            text = f"rule {firing.rule} acted on {firing.operation}: {firing.effect}"
            yield HistoryStep(firing.at_ms, StepKind.FAULT, "", client, detail=text, sdk=clients.sdk(client))
    for lost in history.lost():
        if id_or_key in (lost.message_id, *lost.keys.split()):
            text = (
                f"{lost.topic} queue {lost.queue_id} offset {lost.queue_offset} was not flushed when the broker crashed"
            )
            yield from _before_loss(lost, history, clients, with_date=with_date)
            yield HistoryStep(lost.at_ms, StepKind.LOST, lost.broker, None, detail=text)


def _before_loss(
    lost: LostMessage, history: History, clients: KnownClients, *, with_date: bool
) -> Iterator[HistoryStep]:
    """Yield the steps of a lost message before the crash: how it was stored, and the recorded events."""
    retry = is_retry(lost.topic)
    client = None if retry else clients.sender(host_port(*records.unpack_host(lost.born_host)))
    kind = StepKind.REDELIVERED if retry else StepKind.SENT
    text = f"{lost.topic} queue {lost.queue_id} offset {lost.queue_offset}"
    yield HistoryStep(lost.stored_at_ms, kind, lost.broker, client, detail=text, sdk=clients.sdk(client))
    found = history.of(lost.broker, lost.topic, lost.queue_id, lost.queue_offset)
    number = 0
    for event in found:
        if not lost.stored_at_ms <= event.at_ms <= lost.at_ms:
            continue  # of another message at this place
        is_delivery = event.kind in _DELIVERIES
        number += is_delivery
        client = clients.of_channel(event.channel)
        yield HistoryStep(
            event.at_ms,
            _KINDS[event.kind],
            lost.broker,
            client,
            group=event.group or None,
            attempt=number if is_delivery and not retry else None,  # the number of a lost retry is not known
            detail=_event_text(event, was_delivered=number > 0, with_date=with_date),
            sdk=clients.sdk(client),
        )


def _step(
    copy: CopyView, kind: StepKind, detail: str, *, client: str | None = None, group: str | None = None, sdk: str = ""
) -> HistoryStep:
    return HistoryStep(
        copy.stored_at_ms, kind, copy.place.broker, client, group=group, place=copy.place, detail=detail, sdk=sdk
    )


def _sent_text(message: MessageWithCopies, copy: CopyView) -> str:
    where = _place_text(copy) if copy.state is CopyState.STORED else message.topic
    tag = f"tag {message.tag}" if message.tag else ""
    keys = f"key{'s' if len(message.keys) > 1 else ''} {' '.join(message.keys)}" if message.keys else ""
    group = f"message group {message.message_group}" if message.message_group else ""
    ignored = ignored_delay(message)
    delay = "" if ignored is None else f"not delayed: {ignored}"
    return ", ".join(filter(None, (where, tag, keys, group, delay)))


def _place_text(copy: CopyView) -> str:
    return f"{copy.place.topic} queue {copy.place.queue_id} offset {copy.place.queue_offset}"


def _queue_place(copy: CopyView) -> tuple[str, str, int, int]:
    """Return broker, topic, queue id and queue offset."""
    return copy.place.broker, copy.place.topic, copy.place.queue_id, copy.place.queue_offset
