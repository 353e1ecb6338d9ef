"""A scrape: types of metrics, and values by name and labels."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

Key = tuple[str, tuple[tuple[str, str], ...]]
"""The name of a sample and its labels, sorted, without those that name the node, its cluster or the scope."""
COMMON = frozenset({"cluster", "node_id", "node_type", "otel_scope_name"})
"""Labels that `Key` omits."""
_SAMPLE = re.compile(r"(?m)^(\w+)\{(.*)\} (\S+)(?: \d+)?$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_TYPE = re.compile(r"(?m)^# TYPE (\w+) (\w+)$")


@dataclass(frozen=True, slots=True)
class Scrape:
    """The content of one scrape."""

    types: Mapping[str, str]
    values: Mapping[Key, float]

    @property
    def names(self) -> set[str]:
        """The names of all samples."""
        return {name for name, _ in self.values}

    def labels_of(self, name: str) -> set[frozenset[str]]:
        """The sets of labels that samples of a name have."""
        return {frozenset(label for label, _ in labels) for found, labels in self.values if found == name}

    def of(self, name: str) -> Mapping[tuple[tuple[str, str], ...], float]:
        """Return the values of a name by their labels."""
        return {labels: value for (found, labels), value in self.values.items() if found == name}


def parse(text: str) -> Scrape:
    """Parse metrics in Prometheus's text format, of a real broker or of the emulator."""
    values = {}
    for name, labels, value in _SAMPLE.findall(text):
        if not name.startswith("rocketmq_") or name.startswith("rocketmq_emulator_"):
            continue
        own = tuple(sorted((label, found) for label, found in _LABEL.findall(labels) if label not in COMMON))
        values[name, own] = float(value)
    types = {name: kind for name, kind in _TYPE.findall(text) if name.startswith("rocketmq_")}
    return Scrape({name: kind for name, kind in types.items() if not name.startswith("rocketmq_emulator_")}, values)
