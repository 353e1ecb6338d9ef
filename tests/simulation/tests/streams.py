"""Observations of a broker in order, and how they are falsified."""

from observations import Observation

Stream = list[Observation]


def at(stream: Stream, index: int, *instead: Observation) -> Stream:
    """Return a stream with the observation at `index` replaced."""
    return [*stream[:index], *instead, *stream[index + 1 :]]
