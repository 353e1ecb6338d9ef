"""Streams of observations, as lists in the order of time, and their falsification."""

from observations import Observation

Stream = list[Observation]


def at(stream: Stream, index: int, *instead: Observation) -> Stream:
    """Return a copy of a stream in which `instead` (nothing, one or several) replaces the observation at `index`."""
    return [*stream[:index], *instead, *stream[index + 1 :]]
