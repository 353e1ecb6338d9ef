"""The tables of docs/metrics.md: upstream's metrics, the emulator's own, and the differences from a real broker."""

from collections.abc import Iterable

from rocketmq_testkit.conformance.metrics.differences import DELIBERATE
from rocketmq_testkit.emulator.metrics.family import Family, MetricKind
from rocketmq_testkit.emulator.metrics.upstream_families import UPSTREAM
from rocketmq_testkit.fixtures.metrics.own_families import OWN


def _rows(families: Iterable[Family], head: str) -> list[str]:
    rows = [f"| {head} | type | labels | meaning |", "|---|---|---|---|"]
    for each in families:
        labels = ", ".join(f"`{label}`" for label in each.labels) or "-"
        buckets = f" Buckets: {', '.join(map(str, each.bounds))}." if each.kind is MetricKind.HISTOGRAM else ""
        rows.append(f"| `{each.sample_name}` | {each.kind.value} | {labels} | {each.about}{buckets} |")
    return rows


def upstream() -> list[str]:
    """Return the rows of the metrics with upstream's names."""
    return _rows(UPSTREAM.values(), "metric of a broker or proxy")


def own() -> list[str]:
    """Return the rows of the metrics that only the emulator has."""
    return _rows(OWN, "metric of the emulator")


def differences() -> list[str]:
    """Return the rows of the deliberate differences."""
    rows = ["| metric with another value | reason |", "|---|---|"]
    return [*rows, *(f"| {_readable(pattern)} | {reason} |" for pattern, reason in DELIBERATE.items())]


def _readable(pattern: str) -> str:
    return f"`{pattern.replace('.*', '...').replace('|', ' or ')}`"
