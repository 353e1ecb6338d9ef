"""When what lies in a commit log was stored: the first place of each millisecond in which something was.

Upstream looks for a time by halving the queue and reading a record at each step, which takes the longer the longer the
queue is. Here the log says at which place a time begins, and the queue which of its units lies there: both are found
in arrays, whatever their length.
"""

from array import array
from bisect import bisect_left, bisect_right


class StoreTimes:
    """Times (ms) and places of one log. It knows what was noted since it was made, or since a clock went back."""

    __slots__ = ("_places", "_times", "last_ms")

    def __init__(self) -> None:
        self._times = array("q")
        self._places = array("q")
        self.last_ms = -1
        """The last time that was noted; who stores something at another one notes it first."""

    def note(self, time_ms: int, place: int) -> None:
        """From a place on it is this time. A clock that went back (a snapshot taken elsewhere) begins anew."""
        if time_ms < self.last_ms:
            del self._times[:], self._places[:]
        self._times.append(time_ms)
        self._places.append(place)
        self.last_ms = time_ms

    def truncate(self, end: int) -> None:
        """Nothing lies at or after a place any more."""
        kept = bisect_left(self._places, end)
        del self._times[kept:], self._places[kept:]
        self.last_ms = self._times[-1] if kept else -1

    def trim(self, begin: int) -> None:
        """Nothing lies before a place any more."""
        gone = bisect_right(self._places, begin) - 1
        if gone > 0:
            del self._times[:gone], self._places[:gone]

    @property
    def begin(self) -> int | None:
        """The first place whose time is known, None where none is."""
        return self._places[0] if self._places else None

    def place_of(self, time_ms: int, *, after: bool) -> int | None:
        """Where what was stored at or after a time begins (`after`: only what was stored after it).

        None where nothing was. It has to be a time that it `knows`.
        """
        found = (bisect_right if after else bisect_left)(self._times, time_ms)
        return self._places[found] if found < len(self._places) else None

    def knows(self, time_ms: int, *, after: bool) -> bool:
        """Whether `place_of` is sure that nothing before the first known place is wanted."""
        times = self._times
        return bool(times) and (time_ms > times[0] or (after and time_ms == times[0]))
