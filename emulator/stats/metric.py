"""Metrics: numbers that a node counts or measures, declared once as fields of a dataclass, with kind and meaning.

    @value
    class DiskMetrics(Metrics):
        writes: int = counter("Writes since the start.")
        used_bytes: int = gauge("Bytes in use.")

The text for Prometheus derives from these declarations and from the name of the group of metrics.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from typing import Any

from ..kernel.value_class import frozen_value


@frozen_value
class Metric:
    """One number. A counter only grows, until its node restarts; any other number is a gauge."""

    name: str
    about: str
    is_counter: bool
    value: int


def counter(about: str) -> Any:
    """Declare a field that only grows until its node restarts."""
    return field(default=0, metadata={"about": about, "is_counter": True})


def gauge(about: str) -> Any:
    """Declare a field that can grow and shrink."""
    return field(default=0, metadata={"about": about, "is_counter": False})


class Metrics:
    """Base of a group of metrics: a dataclass whose fields are declared with `counter` and `gauge`."""

    __slots__ = ()

    def listed(self) -> Iterator[Metric]:
        """Yield all metrics in the order of their declaration."""
        for each in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            yield Metric(each.name, value=getattr(self, each.name), **each.metadata)


NodeMetrics = Mapping[str, Mapping[str, Metrics]]
"""The metrics of all nodes: by name of the node, then by name of the group of metrics."""
