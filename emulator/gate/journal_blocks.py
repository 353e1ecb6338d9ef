"""Packed entries of the journal: blocks of bytes that are a tenth of the objects, and are unpacked when they are read.

A block is compressed pickle of its columns, written and read by this process only. It is imported with the first block.
"""

import pickle
import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from io import BytesIO
from operator import attrgetter
from typing import Any

from ..kernel.errors import EngineError
from .journal_entry import JournalEntry

BLOCK_ENTRIES = 128
"""The most entries of a block."""
BLOCK_WEIGHT = 512 * 1024
"""The weight of entries at which a block ends, so that packing one takes some milliseconds at most."""
_OWN_BYTES = 200
"""Bytes of memory of a block, without its data."""
_LEVEL = 1
"""The quickest level of zlib. A higher one saves some 10 %, in three times the time."""

Reducer = Callable[[Any], tuple[Any, ...]]


class _Reducers(dict[type, Reducer]):
    """The functions that take objects apart, by class; created when an object of the class is packed first.

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
    found = fields(kind)
    if any(each.kw_only or not each.init for each in found):
        return None
    names = [each.name for each in found]
    if len(names) < 2:  # attrgetter returns no tuple
        return lambda value: (kind, tuple(getattr(value, name) for name in names))
    values = attrgetter(*names)
    return lambda value: (kind, values(value))


def _error(kind: type[EngineError], args: tuple[object, ...], state: dict[str, object]) -> EngineError:
    """Create a refusal without its constructor, which subclasses change."""
    made = kind.__new__(kind, *args)
    made.__dict__.update(state)
    return made


_REDUCERS = _Reducers()


class Block:
    """Consecutive entries, packed. `has_refusals`: one of them is a refused request."""

    __slots__ = ("_data", "count", "has_refusals")

    def __init__(self, entries: Sequence[JournalEntry]) -> None:
        self.count = len(entries)
        self.has_refusals = any(entry.event == "refused" for entry in entries)
        self._data = _packed(entries)

    @property
    def held_bytes(self) -> int:
        """The memory of the block in bytes."""
        return len(self._data) + _OWN_BYTES

    def entries(self) -> list[JournalEntry]:
        """Unpack the entries."""
        columns = pickle.loads(zlib.decompress(self._data))
        return [JournalEntry(*each) for each in zip(*columns, strict=True)]


def _packed(entries: Sequence[JournalEntry]) -> bytes:
    known: dict[str, str] = {}
    times, nodes, events, clients, labels, *rest = zip(*entries, strict=True)
    # Equal texts become one object, which pickle writes once.
    texts = [[known.setdefault(text, text) for text in column] for column in (nodes, events, clients, labels)]
    file = BytesIO()
    pickler = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _REDUCERS
    pickler.dump((times, *texts, *rest))
    return zlib.compress(file.getbuffer(), _LEVEL)
