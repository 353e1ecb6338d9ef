"""Listeners that rooms add to one run of a broker."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from ..kernel.value_class import frozen_value
from ..message.message import MessageToStore

Hook = Callable[[MessageToStore], None]
Watcher = Callable[[int, int, dict[str, str]], None]


def always() -> bool:
    """Return True: the listener needs every message."""
    return True


class ArrivalListener(NamedTuple):
    """A listener for stored messages (upstream: MessageArrivingListener).

    `on_message` is called with topic, queue id, offset, tags code and properties of each stored message. While
    `is_awaited` returns False, the store may skip the calls for messages of a batch.
    """

    on_message: Callable[[str, int, int, int, Mapping[str, str]], None]
    is_awaited: Callable[[], bool] = always


@frozen_value
class Listeners:
    """The listeners of one room. Of each kind, those of rooms built earlier are called first."""

    before_put: Sequence[Hook] = ()
    """Called with each message before it is stored; a hook may redirect or refuse it."""
    arrivals: Sequence[ArrivalListener] = ()
    watchers: Mapping[str, Watcher] = field(default_factory=dict)
    """By topic, a function called after each append to it with queue id, offset and properties."""
    full_files: Sequence[Callable[[], None]] = ()
    """Called each time a segment of the log becomes full."""
    config_changed: Sequence[Callable[[], None]] = ()
    """Called after configuration keys have changed."""
    channel_closed: Sequence[Callable[[str], None]] = ()
    """Called with the id of a channel: the listener drops its waiting requests for which no client waits any more."""


def add_watchers(watchers: dict[str, Watcher], added: Mapping[str, Watcher]) -> None:
    """Add watchers to those of a run. Raises ValueError for a topic that has one already."""
    for topic, watcher in added.items():
        if topic in watchers:
            both = f"{_name(watchers[topic])} and {_name(watcher)}"
            raise ValueError(f"{topic}: watched by {both}; a topic has one watcher")
        watchers[topic] = watcher


def _name(watcher: Watcher) -> str:
    return getattr(watcher, "__qualname__", repr(watcher))
