"""The recorded metrics of real brokers, by version."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .scraped import Scrape, parse

RECORDED = Path(__file__).resolve().parent.parent / "recorded"


@dataclass(frozen=True, slots=True)
class MetricsRecord:
    """Scrapes of a broker by their moment, and of a proxy, with version and date."""

    version: str
    date: str
    broker: Mapping[str, Scrape]
    proxy: Scrape


def file_of(version: str) -> Path:
    """Return the file with the record of a version."""
    return RECORDED / f"metrics-{version}.json"


def read(version: str) -> MetricsRecord:
    """Read the record of a version."""
    found = json.loads(file_of(version).read_text())
    broker = {moment: parse("\n".join(lines)) for moment, lines in found["broker"].items()}
    return MetricsRecord(found["version"], found["date"], broker, parse("\n".join(found["proxy"])))
