"""Packed entries of the journal: blocks of bytes, a tenth as large as the objects, which are unpacked when read.

A block is compressed pickle of its columns, written and read by this process only. Consecutive requests are alike: of a
column of equal values, such as topic or flags, only one value is pickled. Objects of one class are pickled as columns
of their fields, which takes less time than pickling objects. The module is imported with the first block.
"""

import pickle
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from enum import Enum
from functools import cache, partial
from io import BytesIO
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple

from ..kernel.errors import EngineError
from .journal_entry import JournalEntry

BLOCK_ENTRIES = 128
"""The most entries of a block, at most 256: a byte holds the index of a class."""
BLOCK_WEIGHT = 512 * 1024
"""The weight of entries at which a block ends, so that packing one takes some milliseconds at most."""
_OWN_BYTES = 200
"""Bytes of memory of a block, without its data."""
_LEVEL = 1
"""The quickest level of zlib. A higher one saves some 10 %, in three times the time."""

_IMMUTABLE = (str, int, bytes, Enum, type(None))
"""The types of values that entries may share."""

Reducer = Callable[[Any], tuple[Any, ...]]


class _Reducers(dict[type, Reducer]):
    """Pickle's reducers by class, each created when the first object of its class is packed.

    A dataclass becomes a call with the values of its fields, in half the time and size of pickle's own form.
    """

    def __missing__(self, kind: type) -> Reducer:
        reduce = _reducer(kind)
        if reduce is None:
            raise KeyError(kind)  # pickle then uses its own form
        self[kind] = reduce
        return reduce


def _reducer(kind: Any) -> Reducer | None:
    if issubclass(kind, EngineError):
        return lambda error: (_error, (kind, error.args, error.__dict__))
    if not hasattr(kind, "__dataclass_fields__"):
        return None
    names = _field_names(kind)
    if len(names) < len(fields(kind)):
        return None
    if len(names) < 2:  # attrgetter returns no tuple
        return lambda value: (kind, tuple(getattr(value, name) for name in names))
    values = attrgetter(*names)
    if _has_keywords(kind):
        return lambda value: (_made, (kind, *values(value)))
    return lambda value: (kind, values(value))


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    """Return the names of fields whose values, in this order, create an object of a class; empty if they do not."""
    if issubclass(kind, EngineError) or not hasattr(kind, "__dataclass_fields__"):
        return ()
    found = fields(kind)
    return tuple(each.name for each in found) if all(each.init for each in found) else ()


@cache
def _has_keywords(kind: Any) -> bool:
    return any(each.kw_only for each in fields(kind))


def _made(kind: Any, *values: Any) -> Any:
    """Create an object of a class with keyword-only fields from the values of all its fields."""
    return kind(**dict(zip(_field_names(kind), values, strict=True)))


def _error(kind: type[EngineError], args: tuple[object, ...], state: dict[str, object]) -> EngineError:
    """Create an EngineError without calling its constructor, whose parameters differ in subclasses."""
    made = kind.__new__(kind, *args)
    made.__dict__.update(state)
    return made


_REDUCERS = _Reducers()
_event = attrgetter("event")


class Block:
    """Consecutive entries, packed. `has_refusals`: one of them is a refused request."""

    __slots__ = ("_data", "count", "has_refusals")

    def __init__(self, entries: Sequence[JournalEntry]) -> None:
        self.count = len(entries)
        self.has_refusals = "refused" in map(_event, entries)
        self._data = _packed(entries)

    @property
    def held_bytes(self) -> int:
        """The memory of the block in bytes."""
        return len(self._data) + _OWN_BYTES

    def entries(self) -> list[JournalEntry]:
        """Unpack the entries."""
        texts, subjects, outcomes, others = pickle.loads(zlib.decompress(self._data))
        times, numbers = others
        columns = [times, *texts]
        return list(
            map(
                JournalEntry,
                *[_values(column, self.count) for column in columns],
                _objects(subjects),
                _objects(outcomes),
                _values(numbers, self.count),
            )
        )


class _Group(NamedTuple):
    """The objects of one class: as columns of their fields, or as they are if `kind` is None."""

    kind: type | None
    columns: Sequence[Sequence[Any]]
    length: int


def _packed(entries: Sequence[JournalEntry]) -> bytes:
    times, nodes, events, clients, labels, subjects, outcomes, numbers = zip(*entries, strict=True)
    texts = [_column(column) for column in (nodes, events, clients, labels)]
    file = BytesIO()
    pickler = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _REDUCERS
    pickler.dump((texts, _grouped(subjects), _grouped(outcomes), (_column(times), _column(numbers))))
    return zlib.compress(file.getbuffer(), _LEVEL)


def _column(values: Sequence[Any]) -> Sequence[Any]:
    """Return a column, or only its first value if all are equal."""
    first = values[0]
    if first is not values[-1] and first != values[-1]:  # of most columns whose values differ, these two do
        return values
    # Equal values of one field have the same type, because each field has a declared type.
    if isinstance(first, _IMMUTABLE) and values.count(first) == len(values):
        return values[:1]
    return values


def _values(column: Sequence[Any], count: int) -> Iterable[Any]:
    return repeat(column[0], count) if len(column) == 1 else column


def _grouped(values: Sequence[Any]) -> tuple[bytes, list[_Group]]:
    """Return the objects of each class, and for each value the index of its class, or nothing if there is one class."""
    kinds = [*map(type, values)]
    indices = {kind: index for index, kind in enumerate(dict.fromkeys(kinds))}
    if len(indices) == 1:
        return b"", [_group(values)]
    groups: list[list[Any]] = [[] for _ in indices]
    order = bytes(map(indices.__getitem__, kinds))
    for index, each in zip(order, values, strict=True):
        groups[index].append(each)
    return order, [_group(group) for group in groups]


def _group(values: Sequence[Any]) -> _Group:
    kind = values[0].__class__
    names = _field_names(kind)
    if len(names) < 2:  # attrgetter returns no tuple
        return _Group(None, [values], len(values))
    rows = map(attrgetter(*names), values)
    return _Group(kind, [_column(column) for column in zip(*rows, strict=True)], len(values))


def _maker(kind: type) -> Callable[..., Any]:
    return partial(_made, kind) if _has_keywords(kind) else kind


def _objects(packed: tuple[bytes, list[_Group]]) -> Iterable[Any]:
    order, groups = packed
    found = [
        iter(columns[0] if kind is None else map(_maker(kind), *[_values(column, length) for column in columns]))
        for kind, columns, length in groups
    ]
    return map(next, [found[index] for index in order]) if order else found[0]
