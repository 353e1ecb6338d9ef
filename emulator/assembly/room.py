"""The contribution of a room to one run of a broker, returned by the `build` function of its `room.py`."""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any

from ..gate.call import Handlers
from ..kernel.value_class import parts
from .durable import Durable
from .listeners import Listeners
from .run_memory import RunMemory


@parts
class Room:
    """Handlers, listeners, and services with state, of a room. A subclass adds the services that other rooms use."""

    handlers: Handlers = field(default_factory=dict)
    listeners: Listeners = field(default_factory=Listeners)
    durables: Mapping[str, Durable[Any]] = field(default_factory=dict)
    """Services by their field in `ServiceState`."""
    memories: Mapping[str, RunMemory[Any]] = field(default_factory=dict)
    """Services with state that only a fork keeps, by a name of their own."""
    timer_kinds: Collection[str] = ()
    """The kinds (`TimerKind`) of all timers that services of the room set."""


def joined_timers(*rooms: Room) -> dict[str, Room]:
    """Return the room of each kind of timers. Raises ValueError for a kind that two rooms declare."""
    found: dict[str, Room] = {}
    for room in rooms:
        for kind in room.timer_kinds:
            if kind in found:
                both = f"{type(found[kind]).__name__} and {type(room).__name__}"
                raise ValueError(f"{kind}: timers of {both}; a kind of timers belongs to one room")
            found[kind] = room
    return found
