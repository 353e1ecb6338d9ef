"""Reads /metrics of an emulator."""

import urllib.request
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families
from rocketmq_testkit.conformance.metrics.scraped import COMMON
from rocketmq_testkit.fixtures import Emulator


def scrape(emulator: Emulator, name: str, **wanted: str) -> Mapping[str, float]:
    """Return the values of a sample's name whose labels have these values, by the other labels, joined by blanks."""
    with urllib.request.urlopen(f"{emulator.control}/metrics") as response:
        families = list(text_string_to_metric_families(response.read().decode()))
    return {
        " ".join(
            value for label, value in sorted(sample.labels.items()) if label not in {*COMMON, *wanted}
        ): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name and wanted.items() <= sample.labels.items()
    }
