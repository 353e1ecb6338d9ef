"""Measures the TCP server of fakeredis, with one list of messages."""

import gc
import sys
import tempfile
import threading
import tracemalloc
from importlib.metadata import version
from pathlib import Path

import redis
from fakeredis import TcpFakeServer

from .figures import BODY, COPY, EMPTY, FIXTURE, KIB, MEMORY, MESSAGES, START, STOP, Figure, Times, show, times_of
from .fixture_times import times_of_fixture

TOOL = f"fakeredis {version('fakeredis')}"
CONFTEST = """
import pytest
from peers.fake_redis import Served

@pytest.fixture
def fake_redis():
    served = Served()
    served.client.ping()
    yield served
    served.stop()
"""


class Served:
    """A server with a thread and a client, as in the documentation of fakeredis."""

    def __init__(self) -> None:
        self.server = TcpFakeServer(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.client = redis.Redis(port=self.server.server_address[1])

    def fill(self) -> None:
        """Store the messages."""
        pipeline = self.client.pipeline(transaction=False)
        for _ in range(MESSAGES):
            pipeline.rpush("orders", BODY)
        pipeline.execute()

    def stop(self) -> None:
        """End server and thread."""
        self.client.close()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


def main(repeats: int) -> None:
    """Print the figures."""
    starts, stops = Times(), Times()
    for _ in range(repeats):
        with starts:
            served = Served()
            served.client.ping()
        with stops:
            served.stop()
    starts.shown(TOOL, START, "`TcpFakeServer` in a thread, PING")
    stops.shown(TOOL, STOP, "`shutdown()`")
    served = Served()
    times_of(served.client.flushall, repeats, served.fill).shown(TOOL, EMPTY, "FLUSHALL")

    def empty() -> None:
        served.client.flushall()

    times_of(served.fill, min(repeats, 5), empty).shown(TOOL, COPY, "fill again: pipeline of 10,000 RPUSH")
    other = Served()
    gc.collect()
    tracemalloc.start()
    other.fill()
    gc.collect()
    show(Figure(TOOL, MEMORY, "a second server that is filled again", kib=tracemalloc.get_traced_memory()[0] / KIB))
    tracemalloc.stop()
    for each in (served, other):
        each.stop()
    with tempfile.TemporaryDirectory() as folder:
        times = times_of_fixture(Path(folder) / "tests", "fake_redis", CONFTEST, repeats)
    times.shown(TOOL, FIXTURE, "server of its own and PING")


if __name__ == "__main__":
    main(int(sys.argv[1]))
