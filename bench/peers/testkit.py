"""Measures reset, fork, snapshot and fixtures of the emulator, as the modules beside measure other tools."""

import sys
import tempfile
import tracemalloc
from pathlib import Path

from bench_harness import BenchHarness
from forks import fork, send, stored
from rocketmq_testkit import Emulator
from rocketmq_testkit.conformance.clients.remoting_topics import route_request
from rocketmq_testkit.fixtures.host.host import Host
from rocketmq_testkit.remoting.client import RemotingClient

from .figures import (
    BODY,
    COPY,
    EMPTY,
    FIXTURE,
    FIXTURE_COPY,
    KIB,
    MEMORY,
    MESSAGES,
    RESTORE,
    SAVE,
    START,
    STOP,
    Figure,
    Times,
    show,
    times_of,
)
from .fixture_times import times_of_fixture

TOOL = "rocketmq-testkit"
QUEUES = 8
TOPIC = f"orders:NORMAL:{QUEUES}"
RESET_GOAL_MS = 5.0
ENGINE_FORK_GOAL_MS = 5.0
FORK_GOAL_MS = 15.0
ENGINE_FORK = "fork of the engine alone, 10,000 messages"
WRITTEN = "memory of 1,000 messages sent to the copy, KiB"
KEPT = "empty again, connections kept"
SAVED_IN_MEMORY = "snapshot of 10,000 messages in memory"
RESTORED_FROM_MEMORY = "restore 10,000 messages from memory"
EMPTY_CONFTEST = ""
FILLED_CONFTEST = f"""
import pytest
from peers.testkit import fill

@pytest.fixture(scope="session")
def rocketmq_template(rocketmq_template):
    rocketmq_template.topic("orders", queues={QUEUES})
    fill(rocketmq_template)
    return rocketmq_template
"""


def fill(emulator: Emulator) -> None:
    """Store the messages."""

    def send_all(host: Host) -> None:
        for _ in range(MESSAGES):
            host.direct.send("orders", BODY)

    emulator.run_on_loop(send_all)


def first_response(emulator: Emulator) -> None:
    """Query a route at the name server, and connect to broker, proxy and control port."""
    others = (emulator.broker, emulator.endpoint, emulator.control.removeprefix("http://"))
    with RemotingClient(emulator.namesrv) as client:
        client.request(*route_request("orders"))
        for address in others:
            RemotingClient(address).close()


def main(repeats: int) -> None:
    """Print the figures."""
    starts_and_stops(repeats)
    engine(repeats)
    with Emulator(topics=[TOPIC]) as parent, tempfile.TemporaryDirectory() as folder:
        resets(parent, repeats)
        parent.reset()
        fill(parent)
        forks(parent, repeats)
        snapshots(parent, Path(folder), repeats)
        for step, conftest, way in (
            (FIXTURE, EMPTY_CONFTEST, "`rocketmq`: an emulator of its own"),
            (FIXTURE_COPY, FILLED_CONFTEST, "`rocketmq`: a fork of `rocketmq_template`"),
        ):
            name = "filled" if conftest else "empty"
            times_of_fixture(Path(folder) / name, "rocketmq", conftest, repeats).shown(TOOL, step, way)


def starts_and_stops(repeats: int) -> None:
    """Print the figures of a start and a stop."""
    starts, stops = Times(), Times()
    Emulator().start().stop()  # the first one loads modules
    for _ in range(repeats):
        emulator = Emulator(topics=[TOPIC])
        with starts:
            emulator.start()
            first_response(emulator)
        with stops:
            emulator.stop()
    starts.shown(TOOL, START, "`start()`, query of a route, connections to all ports")
    stops.shown(TOOL, STOP, "`stop()`")


def engine(repeats: int) -> None:
    """Print the figures of forks of an engine, which serves no ports."""
    parent = stored(MESSAGES)
    times_of(lambda: fork(parent), repeats).shown(
        TOOL, ENGINE_FORK, "`Engine(state=engine.fork_state())`", ENGINE_FORK_GOAL_MS
    )
    tracemalloc.start()
    harness = BenchHarness(fork(parent))
    of_fork = tracemalloc.get_traced_memory()[0]
    for number in range(1_000):
        send(harness, "topic-0", number % QUEUES)
    written = tracemalloc.get_traced_memory()[0] - of_fork
    tracemalloc.stop()
    show(Figure(TOOL, MEMORY, "allocated by a fork of the engine", kib=of_fork / KIB))
    show(Figure(TOOL, WRITTEN, "the same fork, messages of 1 KiB", kib=written / KIB))


def resets(emulator: Emulator, repeats: int) -> None:
    """Print the figures of a reset, each with the messages stored before."""
    times_of(emulator.reset, repeats, lambda: fill(emulator)).shown(TOOL, EMPTY, "`reset()`", RESET_GOAL_MS)

    def reset() -> None:
        emulator.reset(keep_connections=True)

    times_of(reset, repeats, lambda: fill(emulator)).shown(TOOL, KEPT, "`reset(keep_connections=True)`", RESET_GOAL_MS)


def forks(parent: Emulator, repeats: int) -> None:
    """Print the figures of a fork until its ports serve."""
    found: list[Emulator] = []

    def stop() -> None:
        while found:
            found.pop().stop()

    def start() -> None:
        found.append(parent.fork())
        first_response(found[-1])

    times_of(start, repeats, stop).shown(
        TOOL, COPY, "`fork()`, query of a route, connections to all ports", FORK_GOAL_MS
    )
    stop()


def snapshots(emulator: Emulator, folder: Path, repeats: int) -> None:
    """Print the figures of snapshots."""
    file = folder / "saved"
    times_of(lambda: emulator.snapshot(file), repeats).shown(TOOL, SAVE, "`snapshot(path)`")
    times_of(lambda: emulator.restore(file), repeats).shown(TOOL, RESTORE, "`restore(path)`")
    state = emulator.snapshot()
    times_of(emulator.snapshot, repeats).shown(TOOL, SAVED_IN_MEMORY, "`snapshot()`")
    times_of(lambda: emulator.restore(state), repeats).shown(TOOL, RESTORED_FROM_MEMORY, "`restore(state)`")


if __name__ == "__main__":
    main(int(sys.argv[1]))
