"""Copy durable state for a fork: make a state that equals an engine's and changes independently of it.

Tables are copied, with the mutable values in them. The bytes of the log and the units (entries) of the consume queues
are shared, because engines only append to them (see `SharedLog` and `SharedColumn`).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from ..config.keys import Config
from ..filter.message_filter import SqlFilter
from ..history.history_state import HistoryState
from ..store.consume_queue import ConsumeQueue
from ..store.shared_log import share_segments
from .durable_state import EngineState, LogState

S = TypeVar("S")
Copier = Callable[[Any], Any]
_UNCHANGEABLE = (str, int, float, bytes, NoneType, Enum, SqlFilter, HistoryState)
"""Classes whose objects never change. A `HistoryState` is a copy already."""


def copy_state(state: EngineState) -> EngineState:
    """Return the state of a fork. Raises TypeError for a value of a class that has no rule here."""
    return _copied(state)


def _copied(value: S) -> S:
    kind = type(value)
    made: S = (_COPIERS.get(kind) or _added_copier(kind))(value)
    return made


def _same(value: S) -> S:
    return value


def _added_copier(kind: type) -> Copier:
    found = _COPIERS[kind] = _copier(kind)
    return found


def _copier(kind: type) -> Copier:
    """Return the function that copies the objects of a class."""
    if issubclass(kind, _UNCHANGEABLE):
        return _same
    if issubclass(kind, ConsumeQueue):
        return ConsumeQueue.fork if kind.fork is ConsumeQueue.fork else lambda queue: queue.fork()
    if issubclass(kind, Config):
        return _copied_config
    if issubclass(kind, tuple):
        return _tuple_copier(kind)
    if is_dataclass(kind):
        return _value_copier(kind)
    raise TypeError(f"{kind.__module__}.{kind.__qualname__}: no copier for a fork; add one to {__name__}._COPIERS")


def _copied_dict(table: dict[Any, Any]) -> dict[Any, Any]:
    """Copy a dictionary. Its keys are shared: they are hashable, and therefore never change."""
    copiers = {_COPIERS.get(kind) or _added_copier(kind) for kind in set(map(type, table.values()))}
    if not copiers - {_same}:
        return dict(table)
    if len(copiers) == 1:
        copier = copiers.pop()
        return {key: copier(value) for key, value in table.items()}
    return {key: _copied(value) for key, value in table.items()}


def _copied_list(values: list[Any]) -> list[Any]:
    copiers = {_COPIERS.get(kind) or _added_copier(kind) for kind in set(map(type, values))}
    return list(values) if not copiers - {_same} else list(map(_copied, values))


def _copied_deque(values: "deque[Any]") -> "deque[Any]":
    return deque(_copied_list(list(values)), values.maxlen)


def _copied_config(config: Config) -> Config:
    made = object.__new__(type(config))
    vars(made).update(vars(config))  # numbers and texts; `Config.copy` would take ten times as long
    return made


def _copied_log(log: LogState) -> LogState:
    segments, shared = share_segments(log.segments, log.shared)
    return LogState(
        log.segment_bytes,
        segments,
        dict(log.full),
        log.last_store_timestamp,
        store_ports=set(log.store_ports),
        shared=shared,
    )


def _tuple_copier(kind: type) -> Copier:
    """Return the copier of a tuple or NamedTuple; that of unchangeable objects if no element can change."""
    types = getattr(kind, "__annotations__", None)
    if types is not None and all(map(_is_unchangeable, types.values())):
        return _same
    build = kind if types is None else kind._make  # type: ignore[attr-defined]  # a NamedTuple

    def copier(values: tuple[Any, ...]) -> Any:
        return build(_copied_list(list(values)))

    return copier


def _value_copier(kind: type) -> Copier:
    """Compile a function that copies a dataclass field by field, because there may be thousands of one class."""
    changeable = {each.name for each in fields(kind) if not _is_unchangeable(each.type)}
    if not changeable and kind.__hash__ is not None:
        return _same
    lines = [
        f"    made.{each.name} = copied(value.{each.name})\n"
        if each.name in changeable
        else f"    made.{each.name} = value.{each.name}\n"
        for each in fields(kind)
    ]
    names: dict[str, Any] = {"copied": _copied, "new": object.__new__, "kind": kind}
    made: dict[str, Any] = {}
    exec(f"def copier(value):\n    made = new(kind)\n{''.join(lines)}    return made\n", names, made)
    copier: Copier = made["copier"]
    return copier


def _is_unchangeable(declared: Any) -> bool:
    """True if objects of a declared type never change."""
    origin = get_origin(declared)
    if origin is Annotated:
        return _is_unchangeable(get_args(declared)[0])
    if origin in (Union, UnionType):
        return all(map(_is_unchangeable, get_args(declared)))
    return isinstance(declared, type) and origin is None and issubclass(declared, _UNCHANGEABLE)


_COPIERS: dict[type, Copier] = {
    **dict.fromkeys((str, int, float, bool, bytes, NoneType), _same),
    dict: _copied_dict,
    list: _copied_list,
    set: set,
    frozenset: _same,
    deque: _copied_deque,
    LogState: _copied_log,
}
"""The function that copies the objects of each class; further ones are added at the first object of a class."""
