"""What a broker answered, one observation after the other, and how it is falsified."""

from observations import Observation

Stream = list[Observation]


def at(stream: Stream, index: int, *instead: Observation) -> Stream:
    """A stream with something else in one place."""
    return [*stream[:index], *instead, *stream[index + 1 :]]
