"""Weight of a journal entry: an estimate, in bytes, of the memory that only the journal keeps alive.

Most operations hold a few texts and numbers. For their classes a function is compiled at first use that adds up the
lengths of the texts. Other operations, such as heartbeats, are traversed, which takes less time than decoding them.
Outcomes share their items with the tables of the broker, so that only the number of items counts.
"""

from array import array
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from sys import getsizeof
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from ..kernel.errors import EngineError
from ..kernel.java_types import declared_types
from ..operations.base import SHARED, Result
from .raw_request import Rejection

Weigh = Callable[[Any], int]

_ENTRY = 400
"""The entry, its operation and its outcome, without their contents."""
_FIELD = 16
_PAIR = 155
"""A key and a value of a map, without their characters."""
_ITEM = 100
"""An item of a list in an outcome, unless it is a number."""
_NUMBERS = (int, bool, float, NoneType)
_WITHOUT_ITEMS = (array, range, bytes, str)
"""Sequences without an object for each item: `getsizeof` returns all of their memory."""
_TEXTS = ("text", "optional text")


def weightless(_value: object) -> int:
    """Return 0, the weight of an outcome without lists that is journaled as it is, as that of most requests."""
    return 0


class _Weighs(dict[type, Weigh]):
    """The weighing function of each class, created when an object of the class is weighed for the first time."""

    def __init__(self, make: Callable[[type], Weigh]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, kind: type) -> Weigh:
        self[kind] = weigh = self._make(kind)
        return weigh


def _form(hint: Any) -> str:
    """The form of a field of a declared type: `number`, `text`, `optional text`, `texts` (a map of texts) or `more`."""
    if get_origin(hint) is Annotated:
        return _form(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        forms = {_form(option) for option in get_args(hint)}
        return "number" if forms == {"number"} else "optional text" if forms <= {"number", "text"} else "more"
    if get_origin(hint) is tuple and {_form(each) for each in get_args(hint)} <= {"number", "text"}:
        return "number"  # an address: all requests of a connection share one object
    if hint in _NUMBERS or (isinstance(hint, type) and issubclass(hint, Enum)):
        return "number"
    if hint is str or hint is bytes:
        return "text"
    return "texts" if hint == dict[str, str] else "more"


def _of_subjects(kind: type) -> Weigh:
    """Create the weighing function of a class of operations or effects."""
    of_kind: Any = kind
    forms = {name: _form(hint) for name, hint in declared_types(of_kind).items()}
    if "more" in forms.values():
        return lambda subject: _ENTRY + weight_of(subject)
    terms = [str(_ENTRY + _FIELD * len(forms))]
    for name, form in forms.items():
        if form in _TEXTS:
            terms.append(f"len(subject.{name}{' or ()' if form == 'optional text' else ''})")
        elif form == "texts":
            texts = f"len(''.join(subject.{name})) + len(''.join(subject.{name}.values()))"
            if f"{name}_length" in forms:  # the operation knows the length of these texts, if it is not 0
                texts = f"(subject.{name}_length or {texts})"
            terms.append(f"{_PAIR} * len(subject.{name}) + {texts}")
    made: Weigh = eval(f"lambda subject: {' + '.join(terms)}")
    return made


def _of_outcomes(kind: type) -> Weigh:
    """Create the weighing function of a class of outcomes, which counts the items of their lists."""
    if issubclass(kind, EngineError | Rejection):
        return lambda refusal: len(refusal.remark or "")
    of_kind: Any = kind
    hints = declared_types(of_kind)
    listing = [name for name, hint in hints.items() if _form(hint) in ("more", "texts")]
    if not listing and of_kind.journaled is Result.journaled:
        return weightless
    shared = {name for name in listing if SHARED in getattr(hints[name], "__metadata__", ())}
    terms = [f"{'size' if name in shared else 'listed'}(outcome.{name})" for name in listing]
    made: Weigh = eval(f"lambda outcome: {' + '.join(terms) or '0'}", {"listed": _listed, "size": getsizeof})
    return made


def _listed(value: Any) -> int:
    """Return the weight of a field of an outcome: its own size plus a fixed size for each item."""
    if value.__class__ is list or value.__class__ is tuple:
        return getsizeof(value) + _ITEM * len(value)
    if isinstance(value, _WITHOUT_ITEMS) or not hasattr(value, "__len__"):
        return getsizeof(value)
    return getsizeof(value) + _ITEM * len(value)


def weight_of(value: Any) -> int:
    """Return the weight of a value and its contents. Empty immutable values and defaults are shared: they weigh 0."""
    if not value and isinstance(value, frozenset | tuple | str | bytes):
        return 0
    size = getsizeof(value)
    if isinstance(value, Mapping):
        return size + sum(weight_of(name) + weight_of(held) for name, held in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return size + sum(map(weight_of, value))
    for name, default in _FIELDS[value.__class__]:
        held = getattr(value, name)
        if held is not default:
            size += weight_of(held)
    return size


class _FieldsOfClasses(dict[type, tuple[tuple[str, Any], ...]]):
    """The name and default of each field of a dataclass, read at its first object; nothing for other classes."""

    def __missing__(self, kind: type) -> tuple[tuple[str, Any], ...]:
        of_kind: Any = kind
        known = fields(of_kind) if is_dataclass(kind) else ()
        self[kind] = found = tuple((each.name, each.default) for each in known)
        return found


_FIELDS = _FieldsOfClasses()


SUBJECTS = _Weighs(_of_subjects)
OUTCOMES = _Weighs(_of_outcomes)
