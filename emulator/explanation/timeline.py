"""Timelines: the history of a message, and its form as text.

The text has one line for each step:

    12:00:01.000  delivered     c1@10.0.0.5#2211 (JAVA 5.0.8) to billing  attempt 1, invisible until 12:00:31
"""

from ..history.history import History
from ..inspection.inspection import Inspection
from ..inspection.messages import MessageWithCopies
from .clock_text import exact_clock_text
from .explanation import HistoryStep, MessageHistory, StepKind
from .history_events import are_of_several_days, steps_of, steps_without_copies
from .known_clients import KnownClients
from .trace_context import trace_context

_TO = (StepKind.DELIVERED, StepKind.SKIPPED, StepKind.NOT_WRITTEN)
"""Steps towards a group; all others are steps of a group."""


def history_of(message: MessageWithCopies, inspection: Inspection, history: History) -> MessageHistory:
    """Return the history of a stored message."""
    steps = tuple(steps_of(message, history, KnownClients(inspection, history)))
    since_ms = history.complete_since_ms()
    first_ms = min((copy.stored_at_ms for copy in message.copies), default=message.born_at_ms)
    return MessageHistory(
        message.message_id,
        message.topic,
        since_ms if since_ms is not None and since_ms > first_ms else None,  # the dropped records are older otherwise
        trace_context(message.properties),
        steps,
    )


def history_of_unknown(message_id: str, topic: str | None, inspection: Inspection, history: History) -> MessageHistory:
    """Return the history of a message that is not stored; it has no step if no broker has received the message."""
    steps = tuple(steps_without_copies(message_id, history, KnownClients(inspection, history)))
    return MessageHistory(message_id, topic or "", history.complete_since_ms(), {}, steps)


def timeline(history: MessageHistory) -> str:
    """Return the text of a history, its first line in angle brackets."""
    number = len(history.steps)
    topic = f" in {history.topic}" if history.topic else ""
    of_group = f" for {history.group}" if history.group is not None else ""
    steps = f"{number} step{'' if number == 1 else 's'}"
    lines = [f"<MessageHistory of {history.message_id}{topic}{of_group}, {steps}>"]
    with_date = are_of_several_days(history.steps)
    if history.since_ms is not None:
        since = exact_clock_text(history.since_ms, with_date=with_date)
        lines.append(f"before {since}, details no longer held (deliveryRecordMaxEntries, or a restored snapshot)")
    if history.note:
        lines.append(history.note)
    lines += _step_lines(history.steps, with_date=with_date)
    if history.trace:
        lines.append("trace context: " + ", ".join(f"{name}={value}" for name, value in history.trace.items()))
    return "\n".join(lines)


def _step_lines(steps: tuple[HistoryStep, ...], *, with_date: bool) -> list[str]:
    parties = [_party(step) for step in steps]
    width = max(map(len, parties), default=0)
    kinds = max((len(step.kind) for step in steps), default=0)
    lines = []
    for step, party in zip(steps, parties, strict=True):
        at = exact_clock_text(step.at_ms, with_date=with_date)
        lines.append(f"{at}  {step.kind:<{kinds}}  {party:<{width}}  {_detail(step)}".rstrip())
    return lines


def _party(step: HistoryStep) -> str:
    """Return the client or broker of a step, and its group."""
    party = step.node if step.client is None else step.client + (f" ({step.sdk})" if step.sdk else "")
    if step.group is None:
        return party
    return f"{party} {'to' if step.kind in _TO else 'of' if step.client else 'for'} {step.group}"


def _detail(step: HistoryStep) -> str:
    attempt = "" if step.attempt is None else f"attempt {step.attempt}"
    return ", ".join(filter(None, (attempt, step.detail)))
