"""Metrics of an engine as a test reads them."""

from collections.abc import Mapping

from engine_harness import EngineHarness
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.filter.message_filter import build_subscription
from rocketmq_testkit.emulator.metrics.engine_samples import engine_samples, proxy_labels
from rocketmq_testkit.emulator.metrics.family import Sample
from rocketmq_testkit.emulator.operations.clients import PASSIVELY, ConsumerData, Heartbeat
from rocketmq_testkit.emulator.stats.histogram import Histogram

POP = "CONSUME_POP"
COMMON = {"cluster", "node_type", "node_id", "storage_type", "storage_medium", "is_system", "protocol_type"}
Values = Mapping[str, int | Histogram]


def join(
    harness: EngineHarness, client: str, topics: Mapping[str, str], *, group: str = "G", pops: bool = False
) -> None:
    """Register a consumer as SDKs do, with the codes of its tags."""
    subscriptions = [build_subscription(topic, expression, "TAG") for topic, expression in topics.items()]
    data = ConsumerData(group, consume_type=POP if pops else PASSIVELY, subscriptions=subscriptions)
    channel = harness.channels.setdefault(client, DirectChannel(client))
    harness.engine.submit(harness.broker, Heartbeat(client, [], [data]), channel)


def samples(engine: Engine) -> list[Sample]:
    """Return all samples."""
    return [each for each in engine_samples(engine, proxy_labels(engine.brokers, "proxy")) if each is not None]


def values(engine: Engine, name: str) -> dict[str, int]:
    """Return the values of a metric by its own labels in the order of their names, joined by blanks.

    A histogram has the number of its values.
    """
    return {key: each.count if isinstance(each, Histogram) else each for key, each in measured(engine, name).items()}


def measured(engine: Engine, name: str) -> Values:
    """Return the values of a metric as `values` does, histograms unchanged."""
    found: dict[str, int | Histogram] = {}
    for family, labels, value in samples(engine):
        if family.name == name:
            key = " ".join(labels[label] for label in sorted(labels) if label not in COMMON)
            assert key not in found, f"two samples of {name} have the labels {key}"
            found[key] = value
    return found
