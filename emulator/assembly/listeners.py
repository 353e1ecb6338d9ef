"""Listeners that rooms add to one run of a broker."""

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, field
from typing import NamedTuple

from ..kernel.value_class import frozen_value
from ..message.message import MessageToStore

Hook = Callable[[MessageToStore], None]
Watcher = Callable[[int, int, dict[str, str], int], None]

ALWAYS = ("every message",)
"""The `waiting` of a listener that needs every message."""


class PutHook(NamedTuple):
    """A function that is called with certain messages before they are stored; it may redirect or refuse them.

    These are the messages that have at least one of the `properties` or are for one of the `topics`.
    """

    run: Hook
    properties: frozenset[str]
    topics: frozenset[str] = frozenset()


class ArrivalListener(NamedTuple):
    """A listener for stored messages (upstream: MessageArrivingListener).

    `on_message` is called with topic, queue id, offset, tags code and properties of each stored message, unless
    `waiting` is empty. This is the table of requests that wait for messages, which the listener changes in place.
    """

    on_message: Callable[[str, int, int, int, Mapping[str, str]], None]
    waiting: Sized = ALWAYS


@frozen_value
class Listeners:
    """The listeners of one room. Of each kind, those of rooms built earlier are called first."""

    before_put: Sequence[PutHook] = ()
    arrivals: Sequence[ArrivalListener] = ()
    watchers: Mapping[str, Watcher] = field(default_factory=dict)
    """By topic, a function called after each append to it with queue id, offset, properties and born time (ms)."""
    full_files: Sequence[Callable[[], None]] = ()
    """Called each time a segment of the log becomes full."""
    _: KW_ONLY
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
