"""Rules about messages that a client of a group has: in flight, returned, or kept from the client by a fault."""

from ..history.events import RuleFiring
from ..history.record_kind import RecordKind
from ..inspection.receipts import ReceiptView
from . import changes
from .facts import Change, Fact
from .member_rules import start_facts
from .reason import Reason
from .refused_rules import server
from .subject import DELIVERED, Finding, Subject, fact

_RECEIVES = ("PullMessage", "PopMessage", "ReceiveMessage", "LitePullMessage")
"""Operations whose responses contain messages."""
_ACKNOWLEDGEMENTS = (
    "AckMessage",
    "BatchAckMessage",
    "ChangeInvisibleTime",
    "UpdateConsumerOffset",
    "ChangeInvisibleDuration",
    "SendMessageBack",
    "ForwardMessageToDeadLetterQueue",
)
"""Operations and RPCs that end the time in flight of a message."""


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
    is_connected = not receipt.channel or scene.clients.is_connected(receipt.channel)
    if not is_connected:
        text += ", which is not connected any more"
    lost, lost_facts, remedies = _lost_acknowledgement(subject, receipt)
    if receipt.until_ms is None:
        text += f", and no offset beyond it is committed yet{lost}"
        change = changes.commit(scene, receipt.channel)
        pulled = (*_receipt_facts(subject, receipt), *start_facts(subject), *lost_facts)
        return Finding(Reason.IN_FLIGHT, _with_place(subject, text), pulled, (change, *remedies))
    end, advances, until_ms = _end(subject, receipt, receipt.until_ms)
    may_acknowledge = not unwritten and is_connected and (until_ms is not None or not _by_proxy(receipt))
    acknowledges = (changes.acknowledge(scene, receipt.channel),) if may_acknowledge else ()
    facts = (*_receipt_facts(subject, receipt), *lost_facts)
    text = _with_place(subject, f"{text}, and {end}{lost}")
    return Finding(Reason.IN_FLIGHT, text, facts, (*acknowledges, *advances, *remedies), until_ms=until_ms)


def _by_proxy(receipt: ReceiptView) -> bool:
    """True for a gRPC client. The proxy refuses its acknowledgement after the end of the invisible duration."""
    return (receipt.channel or "").startswith("grpc:")


def _lost_acknowledgement(subject: Subject, receipt: ReceiptView) -> tuple[str, tuple[Fact, ...], tuple[Change, ...]]:
    """Return clause, facts and changes about an acknowledgement that was lost or refused since the delivery."""
    scene, message_id = subject.scene, subject.message.message_id
    fired = [
        each
        for each in scene.history.firings()
        if each.at_ms >= receipt.popped_ms and each.operation in _ACKNOWLEDGEMENTS and message_id in each.message_ids
    ]
    if fired:
        last = fired[-1]
        text = (
            f"; rule {last.rule} ({last.effect}) acted on {last.operation} of {scene.client(last.channel)} at "
            f"{subject.at(last.at_ms)}"
        )
        found = fact("firing", at_ms=last.at_ms, rule=last.rule, effect=last.effect, operation=last.operation)
        return text, (found,), (changes.remove_rule(last.rule),)
    refused = [
        each
        for each in scene.history.refused(group=receipt.group)
        if each.at_ms >= receipt.popped_ms
        and {each.label, each.operation} & set(_ACKNOWLEDGEMENTS)
        and each.message_id == message_id
    ]
    if not refused:
        return "", (), ()
    last_refused = refused[-1]
    text = (
        f"; {server(last_refused)} refused {last_refused.label} of {scene.client(last_refused.channel)} at "
        f"{subject.at(last_refused.at_ms)}: {last_refused.code}"
    )
    return text, (fact("refused", at_ms=last_refused.at_ms, label=last_refused.label, code=last_refused.code),), ()


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
    return Finding(Reason.INVISIBLE_AFTER_FAILURE, text, facts, advances, until_ms=until_ms)


def fault_acted(subject: Subject, firing: RuleFiring, receipt: ReceiptView | None) -> Finding:
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
    return Finding(Reason.FAULT_ACTED, f"{text}; {end}", facts, (*advances, rule), until_ms=until_ms)


def lost_response(subject: Subject, since_ms: int) -> RuleFiring | None:
    """Return the rule of faults that acted on a response with the message since a time, if no delivery followed."""
    found = [
        firing
        for firing in subject.scene.history.firings()
        if firing.at_ms >= since_ms
        and firing.operation in _RECEIVES
        and subject.message.message_id in firing.message_ids
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
    effect = "it becomes available" if receipt.table == "order" else "the broker redelivers it within some seconds"
    change = changes.advance(subject.scene, end_ms, f"its invisible duration ends, and {effect}")
    return f"its invisible duration ends at {subject.at(end_ms)}", (change,), end_ms


def _with_place(subject: Subject, text: str) -> str:
    if subject.is_retry:
        return f"({subject.retry_text}) {text}"
    return f"({subject.where}) {text}"


def _receipt_facts(subject: Subject, receipt: ReceiptView) -> tuple[Fact, ...]:
    name = "pulled" if receipt.table == "pull" else "check_point"
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
            table=receipt.table,
        ),
    )
