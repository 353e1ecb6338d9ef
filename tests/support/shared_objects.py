"""Finds mutable objects that two engines share, so that a change by one engine would be a change of the other.

The walk asks the garbage collector what each object refers to, so it follows attributes, slots, items, closures and
bound methods, and needs no list of tables.
"""

import gc
from collections.abc import Iterable
from dataclasses import is_dataclass
from enum import Enum
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType

from rocketmq_testkit.emulator.filter.message_filter import SqlFilter
from rocketmq_testkit.emulator.history.delivery_record import DeliveryRecord
from rocketmq_testkit.emulator.store.shared_column import SharedColumn
from rocketmq_testkit.emulator.store.shared_segment import SharedSegment

_UNCHANGEABLE = (
    *(str, bytes, int, float, complex, bool, type(None), Enum, range, slice, type, ModuleType, CodeType),
    *(BuiltinFunctionType, FunctionType, MethodType, tuple, frozenset, SqlFilter, SharedSegment),
)
"""Classes of immutable objects. The walk visits the objects in a tuple or a segment as well."""
Objects = dict[int, object]


def reachable(root: object) -> Objects:
    """Return all objects that an object refers to, directly or not, by their ids."""
    found: Objects = {}
    pending = [root]
    while pending:
        value = pending.pop()
        if id(value) in found or isinstance(value, type | ModuleType | CodeType | BuiltinFunctionType):
            continue
        found[id(value)] = value
        pending += _referents(value)
    return found


def _referents(value: object) -> Iterable[object]:
    if isinstance(value, FunctionType):  # not its globals, which are the module
        closure = value.__closure__ or ()
        return [*(cell.cell_contents for cell in closure), value.__defaults__, value.__kwdefaults__]
    if isinstance(value, SqlFilter | str | bytes | int):
        return ()
    return gc.get_referents(value)


def shared_objects(one: object, other: object, *unrelated: object) -> list[object]:
    """Return the mutable objects that both roots refer to, directly or not.

    Objects of the process, to which `unrelated` roots refer as well, are left out. So are buffers that both engines
    share on purpose: bytes and units of queues, and full chunks of the delivery record.
    """
    ours, theirs = reachable(one), reachable(other)
    of_process: set[int] = set()
    for root in unrelated:
        of_process |= reachable(root).keys()
    shared = {id(buffer) for value in (*ours.values(), *theirs.values()) for buffer in _shared_buffers(value)}
    both = ours.keys() & theirs.keys() - of_process - shared
    return [value for number, value in ours.items() if number in both and not _is_unchangeable(value)]


def _shared_buffers(value: object) -> Iterable[object]:
    if isinstance(value, SharedSegment):
        return [buffer for buffer, _ in value.parts()]
    if isinstance(value, SharedColumn):
        return [each for each in gc.get_referents(value) if isinstance(each, tuple) for each in each]
    if isinstance(value, DeliveryRecord):
        return [chunk.data for chunk in value._chunks if chunk.is_shared]
    return ()


def _is_unchangeable(value: object) -> bool:
    kind = type(value)
    frozen = is_dataclass(kind) and kind.__hash__ not in (None, object.__hash__)
    return frozen or isinstance(value, _UNCHANGEABLE)
