"""Parts of a long read, between which other work may run."""

from collections.abc import Iterable, Iterator

from .family import Sample

PART = 200
"""The most samples of a part."""


def in_parts(samples: Iterable[Sample]) -> Iterator[Sample | None]:
    """Yield the samples, and None after each part and at the end. They must be read from copies of tables."""
    for number, sample in enumerate(samples, 1):
        yield sample
        if not number % PART:
            yield None
    yield None
