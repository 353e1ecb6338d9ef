"""Tests with killed drivers: a pipeline from topic to topic continues from its checkpoint and loses nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from many_messages import fill
from pyspark_rocketmq.cluster.cluster import Cluster
from pyspark_rocketmq.options.options import source_options
from rocketmq_testkit.fixtures import Emulator

PIPELINE = Path(__file__).parent / "support" / "pipeline.py"
MESSAGES = 1800
LIMIT = 300
KILLED_AT = {"at-least-once": (600,), "transactional": (450, 1050)}
"""Number of arrived messages at which the driver is killed, by guarantee."""
SECONDS = 900.0
POLL_SECONDS = 0.1

SINKS: dict[str, dict[str, str]] = {
    "at-least-once": {"sendBatchSize": "16"},
    "transactional": {"deliveryGuarantee": "transactional"},
}


def start(options: dict[str, object], log: Path) -> subprocess.Popen[bytes]:
    """Start the pipeline in its own process group."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, str(PIPELINE), json.dumps(options)],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def arrived_so_far(emulator: Emulator) -> int:
    """Return the number of messages in the target topic."""
    with Cluster(source_options({"nameServer": emulator.namesrv, "topic": "copies"})) as cluster:
        route = cluster.route("copies")
        assert route is not None
        return sum(cluster.max_offsets(route.readable).values())


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the driver, its JVM and its workers."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.recovery
@pytest.mark.sampled(least=1)
@pytest.mark.parametrize("guarantee", SINKS)
def test_a_killed_driver_loses_nothing(rocketmq: Emulator, tmp_path: Path, guarantee: str) -> None:
    """A driver that is killed loses nothing; messages that arrive twice belong to the interrupted batches."""
    rocketmq.topic("orders", queues=2)
    target = rocketmq.topic("copies", queues=2)
    for queue in (0, 1):
        fill(rocketmq, "orders", [b"%d-%d" % (queue, at) for at in range(MESSAGES // 2)], queue)
    sink = dict(SINKS[guarantee])
    if guarantee == "transactional":
        sink["txnLogPath"] = str(tmp_path / "transactions")
    options: dict[str, object] = {
        "nameServer": rocketmq.namesrv,
        "checkpoint": str(tmp_path / "checkpoint"),
        "limit": LIMIT,
        "sink": sink,
    }
    log = tmp_path / "driver.log"
    deadline = time.monotonic() + SECONDS
    for count in (*KILLED_AT[guarantee], None):
        process = start(options, log)
        try:
            while process.poll() is None and (count is None or arrived_so_far(rocketmq) < count):
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(POLL_SECONDS)
            assert (process.returncode == 0) if count is None else (process.returncode is None), log.read_text()
        finally:
            if process.poll() is None:
                kill(process)

    arrived = Counter(message.body for message in target.messages)
    assert set(arrived) == {b"%d-%d" % (queue, at) for queue in (0, 1) for at in range(MESSAGES // 2)}
    twice = sum(arrived.values()) - MESSAGES
    assert twice <= len(KILLED_AT[guarantee]) * LIMIT
