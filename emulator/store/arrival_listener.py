"""Listeners for the arrival of stored messages (upstream: MessageArrivingListener)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple


def always() -> bool:
    """Return True: the listener needs every message."""
    return True


class Arrival(NamedTuple):
    """A listener. `told` is called with topic, queue id, offset, tags code and properties of each stored message.

    While `awaits` returns False, the store may skip the calls for messages of a batch.
    """

    told: Callable[[str, int, int, int, Mapping[str, str]], None]
    awaits: Callable[[], bool] = always
