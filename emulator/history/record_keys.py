"""Gives numbers to queues, and to groups with their connections, so that records of deliveries need not hold names."""

from collections.abc import Collection
from typing import Generic, TypeVar

Queue = tuple[str, str, int]
"""(broker name, topic, queue id)"""
Link = tuple[str, str]
"""(group, channel id)"""
K = TypeVar("K", Queue, Link)
KEYS_MAX = 16_384
"""The number of keys above which those without a record are removed."""
_NAME_MAX = 255
"""The maximum number of characters of a name; longer ones, which only a hostile client sends, are cut."""


class KeyNumbers(Generic[K]):
    """The numbers of one kind of keys. A number is never used again.

    `numbers` is public for writers of records, which look a key up in it before they call `number`.
    """

    __slots__ = ("_keys", "_next", "_sweep_at", "numbers")

    def __init__(self) -> None:
        self.numbers: dict[K, int] = {}
        self._keys: dict[int, K] = {}
        self._next = 0
        self._sweep_at = KEYS_MAX

    def copy(self) -> "KeyNumbers[K]":
        """Return an independent copy."""
        made: KeyNumbers[K] = KeyNumbers()
        made.numbers, made._keys = self.numbers.copy(), self._keys.copy()
        made._next, made._sweep_at = self._next, self._sweep_at
        return made

    def number(self, key: K) -> int:
        """Return the number of a key; a new key gets the next one."""
        if any(len(part) > _NAME_MAX for part in key if isinstance(part, str)):
            key = _cut(key)
        known = self.numbers.get(key)
        if known is not None:
            return known
        self.numbers[key] = number = self._next
        self._keys[number] = key
        self._next += 1
        return number

    def known(self, key: K) -> int | None:
        """Return the number of a key, None if it has none."""
        return self.numbers.get(_cut(key))

    def key(self, number: int) -> K:
        """Return the key with a number. Raises KeyError if there is none."""
        return self._keys[number]

    @property
    def is_large(self) -> bool:
        """True if it is time to remove keys without a record."""
        return len(self.numbers) > self._sweep_at

    def keep(self, used: Collection[int]) -> None:
        """Remove the keys whose numbers are not used."""
        self._keys = {number: key for number, key in self._keys.items() if number in used}
        self.numbers.clear()  # not replaced: writers hold a reference
        self.numbers.update({key: number for number, key in self._keys.items()})
        self._sweep_at = max(KEYS_MAX, 2 * len(self._keys))

    def __len__(self) -> int:
        return len(self.numbers)


class RecordKeys:
    """The numbers of all keys of a delivery record."""

    __slots__ = ("links", "queues")

    def __init__(self) -> None:
        self.queues: KeyNumbers[Queue] = KeyNumbers()
        self.links: KeyNumbers[Link] = KeyNumbers()

    def copy(self) -> "RecordKeys":
        """Return an independent copy."""
        made = RecordKeys()
        made.queues, made.links = self.queues.copy(), self.links.copy()
        return made


def _cut(key: K) -> K:
    return tuple(part[:_NAME_MAX] if isinstance(part, str) else part for part in key)  # type: ignore[return-value]  # mypy does not know that the parts keep their types
