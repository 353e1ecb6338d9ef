"""Measures forks: of an engine (`Engine(state=engine.fork_state())`, without ports), and of a running emulator.

    python bench/forks.py

prints processor time and memory of a fork for several parents. The time is that of 20 forks: the best and the median.
The memory is allocated by the fork itself, and by 1,000 messages of 1 KiB that are sent to it. Forks of a
running emulator are measured until a client is connected to each of their ports; a start from a snapshot and a start
without messages are measured in the same way. The exit code is 1 if the median of a fork of 10,000 messages of 1 KiB is
above 5 ms for an engine, or 15 ms for an emulator.
"""

import gc
import socket
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass

from bench_harness import BORN_HOST, START_MS, BenchHarness
from rocketmq_testkit import Emulator
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.fixtures.host.host import Host

GOAL_MS = 5.0
SERVING_GOAL_MS = 15.0
OF_EMULATOR = "fork of 10,000 messages of 1 KiB"
FORKS = 20
QUEUES = 8
BODY = bytes(1024)
KIB = 1024
Parent = Callable[[], Engine]


@dataclass(frozen=True)
class Row:
    """Milliseconds of a fork, and KiB that it and 1,000 messages sent to it take."""

    name: str
    best_ms: float
    median_ms: float
    memory_kib: float
    _: KW_ONLY
    written_kib: float


def stored(messages: int, topics: int = 1, slaves: int = 0, queues: int = QUEUES) -> Engine:
    """Return an engine with messages of 1 KiB, in all queues of its topics by turns."""
    slave_configs = [BrokerConfig(broker_id=number, broker_role="SLAVE") for number in range(1, slaves + 1)]
    engine = Engine(brokers=[BrokerConfig(), *slave_configs], now_ms=START_MS)
    harness = BenchHarness(engine)
    names = [harness.topic(f"topic-{number}", QUEUES) for number in range(topics)]
    for number in range(messages):
        send(harness, names[number % topics], number // topics % queues)
    return engine


def send(harness: BenchHarness, topic: str, queue_id: int) -> None:
    """Send a message of 1 KiB."""
    operation = SendMessage("P", topic, queue_id, BODY, {"UNIQ_KEY": "k"}, BORN_HOST, harness.now_ms)
    harness.submit(operation)


def in_flight(messages: int) -> Engine:
    """Return an engine whose messages are all in flight, each with an acknowledgement of its own to come."""
    engine = stored(messages, queues=1)
    harness = BenchHarness(engine)
    for _ in range(messages):
        harness.pop("topic-0")
    return engine


def fork(engine: Engine) -> Engine:
    """Return a fork."""
    return Engine(state=engine.fork_state())


def fork_of_fork(engine: Engine) -> Engine:
    """Return the tenth generation of forks, each with a message of its own."""
    for _ in range(10):
        engine = fork(engine)
        send(BenchHarness(engine), "topic-0", 0)
    return engine


PARENTS: Mapping[str, Parent] = {
    "empty": lambda: stored(0),
    "1,000 messages of 1 KiB": lambda: stored(1_000),
    "10,000 messages of 1 KiB": lambda: stored(10_000),
    "100,000 messages of 1 KiB": lambda: stored(100_000),
    "10,000 messages of 1 KiB, with a slave": lambda: stored(10_000, slaves=1),
    "10,000 messages of 1 KiB in 100 topics, 800 queues": lambda: stored(10_000, topics=100),
    "10,000 messages of 1 KiB, all in flight": lambda: in_flight(10_000),
    "10,000 messages of 1 KiB, tenth generation": lambda: fork_of_fork(stored(10_000)),
}


def measured(name: str, parent: Engine) -> Row:
    """Measure the forks of an engine."""
    fork(parent)
    times = []
    for _ in range(FORKS):
        gc.collect()
        begin = time.process_time()
        forked = fork(parent)
        times.append((time.process_time() - begin) * 1000)
        del forked
    gc.collect()
    tracemalloc.start()
    harness = BenchHarness(fork(parent))
    of_fork = tracemalloc.get_traced_memory()[0]
    harness.topic("topic-0", QUEUES)
    for number in range(1_000):
        send(harness, "topic-0", number % QUEUES)
    written = tracemalloc.get_traced_memory()[0] - of_fork
    tracemalloc.stop()
    return Row(name, min(times), statistics.median(times), of_fork / KIB, written_kib=written / KIB)


def serving(start: Callable[[], Emulator]) -> float:
    """Return the milliseconds of processor time until a client is connected to each port of a new emulator."""
    gc.collect()
    begin = time.process_time()
    emulator = start()
    for address in (emulator.namesrv, emulator.broker, emulator.endpoint, emulator.control.removeprefix("http://")):
        name, _, port = address.rpartition(":")
        socket.create_connection((name, int(port)), 5).close()
    passed = time.process_time() - begin
    emulator.stop()
    return passed * 1000


def host() -> dict[str, list[float]]:
    """Measure forks of a running emulator, by turns with a start from its snapshot and a start without messages."""

    def fill(running: Host) -> None:
        for _ in range(10_000):
            running.direct.send("orders", BODY)

    with Emulator(topics=[f"orders:NORMAL:{QUEUES}"]) as parent:
        parent.run_on_loop(fill)
        snapshot = parent.snapshot()
        starts: dict[str, Callable[[], Emulator]] = {
            OF_EMULATOR: parent.fork,
            "start from a snapshot of it": lambda: Emulator(snapshot=snapshot).start(),
            "start without messages": lambda: Emulator().start(),
        }
        for start in starts.values():
            serving(start)
        found: dict[str, list[float]] = {name: [] for name in starts}
        for _ in range(FORKS):
            for name, start in starts.items():
                found[name].append(serving(start))
    return found


def main() -> int:
    """Print the tables."""
    print(f"{'parent':<52}{'best ms':>9}{'median ms':>11}{'fork KiB':>10}{'1,000 sends KiB':>17}")
    rows = []
    for name, make in PARENTS.items():
        row = measured(name, make())
        rows.append(row)
        print(f"{name:<52}{row.best_ms:>9.2f}{row.median_ms:>11.2f}{row.memory_kib:>10,.0f}{row.written_kib:>17,.0f}")
    slow = [row for row in rows if row.name == "10,000 messages of 1 KiB" and row.median_ms > GOAL_MS]
    if slow:
        print(f"a fork of 10,000 messages takes more than {GOAL_MS} ms")
    print(f"\n{'emulator, until its ports serve':<52}{'best ms':>9}{'median ms':>11}")
    times = host()
    for name, each in times.items():
        print(f"{name:<52}{min(each):>9.2f}{statistics.median(each):>11.2f}")
    late = statistics.median(times[OF_EMULATOR]) > SERVING_GOAL_MS
    if late:
        print(f"the ports of a fork of 10,000 messages serve after more than {SERVING_GOAL_MS} ms")
    return 1 if slow or late else 0


if __name__ == "__main__":
    sys.exit(main())
