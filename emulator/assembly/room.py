"""The contribution of a room to one run of a broker, returned by the `build` function of its `room.py`."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ..gate.gate import Handlers
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
