"""Parts of explanations and histories in JSON types, for HTTP and files.

The members have the names of the attributes, which document them. Names that end in `_ms` are times
in ms, except `by_ms`, which is a duration in ms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum

from ..inspection.places import Place
from .facts import Change, Fact

Json = dict[str, object]


def facts_form(facts: Sequence[Fact]) -> list[Json]:
    """Return facts in JSON types."""
    return [{"name": fact.name, "values": _plain(fact.values)} for fact in facts]


def changes_form(changes: Sequence[Change]) -> list[Json]:
    """Return changes in JSON types. `by_ms` is the time by which the action `advance` moves the clock."""
    return [
        {"action": each.action.value, "sentence": each.sentence, "by_ms": each.by_ms, "client": each.client}
        for each in changes
    ]


def place_form(place: Place | None) -> Json | None:
    """Return a place in JSON types."""
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
