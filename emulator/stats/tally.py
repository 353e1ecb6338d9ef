"""Numbers of equal events that are not in totals yet.

To count an event by its name costs a request much more than to add one to a tally, whose entries become totals later.
"""

from collections.abc import Callable
from typing import TypeVar

TALLIED_MAX = 64
"""The largest number of entries. It bounds the work of the request that makes them totals."""
K = TypeVar("K")


class Tally(dict[K, int]):
    """By kind of event, the number of those since the last `take`.

    `settle` is called when a new kind would be one more than TALLIED_MAX. It must `take` the entries.
    """

    def __init__(self, settle: Callable[[], None]) -> None:
        super().__init__()
        self._settle = settle

    def __missing__(self, key: K) -> int:
        """Return 0, the number of a new kind."""
        if len(self) >= TALLIED_MAX:
            self._settle()
        return 0

    def take(self) -> list[tuple[K, int]]:
        """Remove all entries and return them."""
        taken = list(self.items())
        self.clear()
        return taken
