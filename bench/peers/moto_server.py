"""Measures the server of moto, with one stream of Kinesis.

Not with a queue of SQS, because a send to it takes longer with each stored message.
"""

import logging
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
from moto.server import ThreadedMotoServer

from .figures import BODY, COPY, EMPTY, FIXTURE, MESSAGES, RESTORE, START, STOP, Times, times_of
from .fixture_times import times_of_fixture

TOOL = f"moto {version('moto')}"
BATCH = 500
"""Messages of a request; the most that Kinesis allows."""
CONFTEST = """
import pytest
from peers.moto_server import Served

@pytest.fixture(scope="session")
def server():
    served = Served()
    yield served
    served.server.stop()

@pytest.fixture
def moto_server(server):
    yield server
    server.api("reset")
"""


class Served:
    """A server in a thread and a client of Kinesis, as in the documentation of moto."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self.server.start()
        self.url = "http://{}:{}".format(*self.server.get_host_and_port())
        names = {"region_name": "eu-west-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
        self.kinesis: Any = boto3.client("kinesis", endpoint_url=self.url, **names)

    def api(self, path: str) -> None:
        """Send a request to the server's own API."""
        with urlopen(Request(f"{self.url}/moto-api/{path}", method="POST")) as response:
            response.read()

    def fill(self) -> None:
        """Store the messages."""
        self.kinesis.create_stream(StreamName="orders", ShardCount=1)
        for _ in range(MESSAGES // BATCH):
            self.kinesis.put_records(StreamName="orders", Records=[{"Data": BODY, "PartitionKey": "k"}] * BATCH)


def main(repeats: int) -> None:
    """Print the figures. Steps that send the messages again take seconds, and run three times."""
    starts, stops = Times(), Times()
    Served().server.stop()  # the first one loads modules
    for _ in range(repeats):
        with starts:
            served = Served()
            served.kinesis.list_streams()
        with stops:
            served.server.stop()
    starts.shown(TOOL, START, "`ThreadedMotoServer`, ListStreams")
    stops.shown(TOOL, STOP, "`stop()`")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the recorder's file
        served = Served()

        def empty() -> None:
            served.api("reset")

        served.api("recorder/start-recording")
        served.fill()
        served.api("recorder/stop-recording")
        empty()
        times_of(empty, 3, served.fill).shown(TOOL, EMPTY, "POST /moto-api/reset")
        times_of(served.fill, 3, empty).shown(TOOL, COPY, "fill again: 20 PutRecords")
        replay = "recorder/replay-recording"
        times_of(lambda: served.api(replay), 3, empty).shown(TOOL, RESTORE, "replay the recorded requests")
        served.server.stop()
        times = times_of_fixture(Path(folder) / "tests", "moto_server", CONFTEST, repeats)
    times.shown(TOOL, FIXTURE, "one server, reset after each test")


if __name__ == "__main__":
    main(int(sys.argv[1]))
