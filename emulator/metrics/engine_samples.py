"""Samples of all brokers of an engine, and of the proxy that serves them."""

from collections.abc import Iterator

from ..cluster.broker import Broker
from ..engine import Engine
from .broker_samples import broker_samples
from .family import Labels, Sample
from .node_labels import PROXY_TYPE
from .upstream_families import UPSTREAM

PROXY_MODE = "cluster"
"""The mode of the recorded proxy (ProxyMode). With one master the emulator's proxy behaves as in mode LOCAL."""


def engine_samples(engine: Engine, proxy: Labels) -> Iterator[Sample | None]:
    """Yield the samples of an engine, and None where other work may run. `proxy`: labels of the proxy."""
    for broker in list(engine.brokers):
        yield from broker_samples(broker)
        yield None
    yield Sample(UPSTREAM["rocketmq_proxy_up"], {**proxy, "proxy_mode": PROXY_MODE}, 1)


def proxy_labels(brokers: list[Broker], node_id: str) -> Labels:
    """Return the labels of all metrics of the proxy."""
    cluster = brokers[0].config.broker_cluster_name if brokers else ""
    return {"cluster": cluster, "node_type": PROXY_TYPE, "node_id": node_id}
