"""The history of a message, as data and as text.

The text has one line for each step:

    12:00:01.000  delivered     c1@10.0.0.5#2211 (JAVA 5.0.8) to billing  attempt 1, invisible until 12:00:31
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY

from ..kernel.value_class import frozen_view
from .clock_text import exact_clock_text
from .steps import HistoryStep, StepKind, are_of_several_days

_TO = (StepKind.DELIVERED, StepKind.SKIPPED, StepKind.NOT_WRITTEN)
"""Steps towards a group; all others are steps of a group."""


@frozen_view
class MessageHistory:
    """The steps of a message in the order of their times. `repr()` is a timeline."""

    message_id: str
    """Of a message that is not stored, the id or key that the caller named."""
    topic: str
    since_ms: int | None
    """The time of the oldest record if older ones were dropped, else None."""
    trace: Mapping[str, str]
    """The trace context that the producer's SDK put into properties."""
    _: KW_ONLY
    steps: tuple[HistoryStep, ...]
    group: str | None = None
    """The group of the steps; None for those of all groups."""
    note: str = ""
    """Why there are no steps, or none of the group; empty if there are."""

    def __repr__(self) -> str:
        return _timeline(self)

    def as_json(self) -> dict[str, object]:
        """Return the history in JSON types, as `GET /v1/history/{message}` does."""
        from .json_forms import place_form

        return {
            "message_id": self.message_id,
            "topic": self.topic,
            "group": self.group,
            "note": self.note,
            "since_ms": self.since_ms,
            "trace": dict(self.trace),
            "steps": [
                {
                    "at_ms": step.at_ms,
                    "kind": step.kind.value,
                    "node": step.node,
                    "client": step.client,
                    "sdk": step.sdk,
                    "group": step.group,
                    "place": place_form(step.place),
                    "attempt": step.attempt,
                    "detail": step.detail,
                }
                for step in self.steps
            ],
        }


def _timeline(history: MessageHistory) -> str:
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
