"""Who is told of messages that were stored."""

from collections.abc import Callable, Mapping
from typing import NamedTuple


def always() -> bool:
    """Each message is awaited."""
    return True


class Arrival(NamedTuple):
    """`told`: called with topic, queue id, offset, tags code and properties of each message.

    While nobody `awaits` any, the messages of a batch need not be told one by one.
    """

    told: Callable[[str, int, int, int, Mapping[str, str]], None]
    awaits: Callable[[], bool] = always
