"""Select the oldest and the newest item that each client holds: they bound the time in which it holds any."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")


def oldest_and_newest(held: Iterable[tuple[Hashable, int, T]]) -> list[T]:
    """Return for each key the items with the lowest and the highest number, from (key, number, item).

    A key with one item has it twice.
    """
    oldest: dict[Hashable, tuple[int, T]] = {}
    newest: dict[Hashable, tuple[int, T]] = {}
    for key, number, item in held:
        if key not in oldest or number < oldest[key][0]:
            oldest[key] = number, item
        if key not in newest or number > newest[key][0]:
            newest[key] = number, item
    return [item for _, item in (*oldest.values(), *newest.values())]
