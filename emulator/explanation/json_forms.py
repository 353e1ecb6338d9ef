"""Explanations and histories in JSON types, for HTTP and files.

The members have the names of the attributes in `explanation`, which documents them. Names that end in `_ms` are times
in ms, except `by_ms`, which is a duration in ms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum

from ..inspection.places import Place
from .explanation import Change, Explanation, Fact, IdleExplanation, MessageHistory

Json = dict[str, object]


def explanation_form(found: Explanation) -> Json:
    """Return an explanation, with the explanations of single groups in `groups`.

    The verdict holds until `until_ms`, unless a request changes it before; None if no such time is known.
    """
    return {
        "reason": found.reason.name,
        "sentence": found.sentence,
        "message": {"id": found.message_id, "topic": found.topic, "place": _place(found.place)},
        "group": found.group,
        "until_ms": found.until_ms,
        "facts": _facts(found.facts),
        "changes": _changes(found.changes),
        "history_since_ms": found.history_since_ms,
        "groups": [explanation_form(each) for each in found.groups],
        "at_ms": found.at_ms,
    }


def history_form(found: MessageHistory) -> Json:
    """Return a history with its steps in order. `trace`: the trace context in the message's properties."""
    return {
        "message_id": found.message_id,
        "topic": found.topic,
        "group": found.group,
        "note": found.note,
        "since_ms": found.since_ms,
        "trace": dict(found.trace),
        "steps": [
            {
                "at_ms": step.at_ms,
                "kind": step.kind.value,
                "node": step.node,
                "client": step.client,
                "sdk": step.sdk,
                "group": step.group,
                "place": _place(step.place),
                "attempt": step.attempt,
                "detail": step.detail,
            }
            for step in found.steps
        ],
    }


def idle_form(found: IdleExplanation) -> Json:
    """Return the explanation of an idle group or client."""
    return {
        "subject": found.subject,
        "sentence": found.sentence,
        "facts": _facts(found.facts),
        "changes": _changes(found.changes),
    }


def _facts(facts: Sequence[Fact]) -> list[Json]:
    return [{"name": fact.name, "values": _plain(fact.values)} for fact in facts]


def _changes(changes: Sequence[Change]) -> list[Json]:
    """Return changes in JSON types. `by_ms` is the time by which the action `advance` moves the clock."""
    return [
        {"action": each.action.value, "sentence": each.sentence, "by_ms": each.by_ms, "client": each.client}
        for each in changes
    ]


def _place(place: Place | None) -> Json | None:
    if place is None:
        return None
    return {
        "broker": place.broker,
        "topic": place.topic,
        "queue_id": place.queue_id,
        "queue_offset": place.queue_offset,
        "physical_offset": place.physical_offset,
    }


def _plain(value: object) -> object:
    """Return a value of a fact in JSON types."""
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray):
        return [_plain(each) for each in (value if isinstance(value, Sequence) else sorted(value, key=str))]
    return str(value)
