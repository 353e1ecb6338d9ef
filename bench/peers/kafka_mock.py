"""Measures the mock cluster of librdkafka through confluent-kafka."""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from confluent_kafka import Producer, libversion

from .figures import BODY, COPY, FIXTURE, MESSAGES, START, STOP, Times, times_of
from .fixture_times import times_of_fixture

TOOL = f"librdkafka {libversion()[0]} mock"
CONFTEST = """
import pytest
from peers.kafka_mock import Mock

@pytest.fixture
def mock():
    started = Mock()
    started.first_response()
    yield started
    started.stop()
"""


class Mock:
    """A client that has a mock cluster of one broker. It is the only way to start one from Python."""

    def __init__(self) -> None:
        self.client = Producer(
            {"test.mock.num.brokers": 1, "linger.ms": 0, "queue.buffering.max.messages": 2 * MESSAGES, "log_level": 0}
        )

    def first_response(self) -> None:
        """Query the metadata."""
        self.client.list_topics(timeout=10)

    def fill(self) -> None:
        """Store the messages."""
        for _ in range(MESSAGES):
            self.client.produce("orders", BODY)
        assert self.client.flush(30) == 0

    def stop(self) -> None:
        """Destroy the client, and the cluster with it."""
        del self.client


def main(repeats: int) -> None:
    """Print the figures. The cluster cannot be emptied, copied or saved."""
    starts, stops = Times(), Times()
    for _ in range(repeats):
        with starts:
            mock = Mock()
            mock.first_response()
        with stops:
            mock.stop()
    starts.shown(TOOL, START, f"`test.mock.num.brokers`, metadata (confluent-kafka {version('confluent-kafka')})")
    stops.shown(TOOL, STOP, "destroy the client")

    def copy() -> None:
        filled = Mock()
        filled.fill()
        filled.stop()

    times_of(copy, min(repeats, 5)).shown(TOOL, COPY, "another cluster that is filled again")
    with tempfile.TemporaryDirectory() as folder:
        times = times_of_fixture(Path(folder) / "tests", "mock", CONFTEST, repeats)
    times.shown(TOOL, FIXTURE, "cluster of its own and metadata")


if __name__ == "__main__":
    main(int(sys.argv[1]))
