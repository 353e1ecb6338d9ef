"""Declarations of metrics."""

from dataclasses import dataclass

from rocketmq_testkit.emulator.stats.broker_metrics import BrokerMetrics
from rocketmq_testkit.emulator.stats.metric import Metric, Metrics, counter, gauge


@dataclass(slots=True)
class Disk(Metrics):
    """Metrics of a disk."""

    writes: int = counter("Writes.")
    used: int = gauge("Bytes in use.")


def test_metrics_are_listed_as_declared() -> None:
    """Fields are listed in order, with kind, description and value; each starts at 0."""
    assert [*Disk(used=7).listed()] == [
        Metric("writes", "Writes.", is_counter=True, value=0),
        Metric("used", "Bytes in use.", is_counter=False, value=7),
    ]


def test_each_metric_of_a_broker_has_a_description() -> None:
    """Descriptions end with a full stop, and metrics of sizes are gauges."""
    listed = [*BrokerMetrics().listed()]
    assert all(each.about.endswith(".") for each in listed)
    assert [each.name for each in listed if each.is_counter] == ["messages_stored", "messages_delivered"]
