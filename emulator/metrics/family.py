"""A family of metrics (name, kind, unit, meaning, labels and bounds) and its samples."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from enum import StrEnum
from typing import NamedTuple

from ..kernel.value_class import frozen_value
from ..stats.histogram import Histogram

Labels = Mapping[str, str]


class MetricKind(StrEnum):
    """The kinds of metrics. A counter only grows until its node restarts."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@frozen_value
class Family:
    """The declaration of a metric.

    `name` is the name of upstream's instrument. `unit` is in the name of exported samples, unless `name` ends with it.
    `labels` are those that not all metrics of the node have. `bounds` are the upper bounds of a histogram's buckets.
    """

    name: str
    kind: MetricKind
    about: str
    unit: str = ""
    _: KW_ONLY
    labels: Sequence[str] = ()
    bounds: Sequence[int] = ()

    @property
    def sample_name(self) -> str:
        """The name of exported samples, without the suffixes of a histogram."""
        return f"{self.name}_{self.unit}" if self.unit and not self.name.endswith(f"_{self.unit}") else self.name


class Sample(NamedTuple):
    """One value of a family, with all its labels."""

    family: Family
    labels: Labels
    value: int | Histogram
