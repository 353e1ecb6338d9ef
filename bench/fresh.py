"""Measures a broker for one test: start and stop of an emulator, as in the fixture `rocketmq`.

    python bench/fresh.py [--write]

Measures by the wall clock in a process that has its modules loaded, as in all tests of a run except the first. A start
ends when a client is connected. The floor is the emulator's event loop with four ports that have no protocol, started
and stopped by turns with it.
"""

import argparse
import socket
import threading
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from document import Table, machine
from rocketmq_testkit import Emulator
from rocketmq_testkit.fixtures.host.event_loop import EventLoop
from twisted.internet.protocol import Factory, Protocol

ROUNDS = 200
WARM_UPS = 3
HOST = "127.0.0.1"
PORTS = 4
"""The name server, the broker, the gRPC proxy and the control port."""
TABLE = Table("fresh")


class Times(NamedTuple):
    """Milliseconds of a start until a client is connected, and of a stop."""

    start: float
    stop: float


def _timed(start: Callable[[], tuple[int, Callable[[], object]]]) -> Times:
    """Time `start`, which returns a port and the function that stops."""
    begin = time.perf_counter()
    port, stop = start()
    with socket.create_connection((HOST, port), 5):
        connected = time.perf_counter()
    closed = time.perf_counter()
    stop()
    return Times((connected - begin) * 1000, (time.perf_counter() - closed) * 1000)


def _emulator() -> tuple[int, Callable[[], object]]:
    emulator = Emulator().start()
    return int(emulator.endpoint.rpartition(":")[2]), emulator.stop


def _ports() -> tuple[int, Callable[[], object]]:
    """Open ports without protocols on an event loop and thread of their own."""
    loop = EventLoop()
    factory = Factory()
    factory.protocol = Protocol
    factory.noisy = False
    numbers = [loop.listen(0, factory, HOST) for _ in range(PORTS)]
    thread = threading.Thread(target=loop.run)
    thread.start()

    def stop() -> None:
        loop.stop()
        loop.wait_for_end(thread, 10)

    return numbers[0], stop


def measured(rounds: int = ROUNDS) -> list[tuple[Times, Times]]:
    """Return the times of the emulator and of the floor, in each round by turns."""
    found = []
    for number in range(rounds):
        if number % 2:
            floor, ours = _timed(_ports), _timed(_emulator)
        else:
            ours, floor = _timed(_emulator), _timed(_ports)
        found.append((ours, floor))
    return found


def whole_times(rounds: int) -> list[tuple[float, float]]:
    """Return start and stop together, of the emulator and of the floor, in each round."""
    measured(WARM_UPS)  # the first start loads modules
    return [(sum(ours), sum(floor)) for ours, floor in measured(rounds)]


def table(rounds: list[tuple[Times, Times]]) -> str:
    """Return the table as Markdown."""
    lines = [
        f"{machine()}; milliseconds, {len(rounds)} rounds.",
        "",
        "| step | median | 90th percentile | event loop and four ports alone, median |",
        "|---|---:|---:|---:|",
    ]
    for name, place in (("start until a client is connected", 0), ("stop", 1)):
        ours, floor = (sorted(each[server][place] for each in rounds) for server in (0, 1))
        lines.append(f"| {name} | {median(ours):.1f} | {ours[len(ours) * 9 // 10]:.1f} | {median(floor):.1f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table; with `--write`, also write it to bench/README.md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table to bench/README.md")
    options = parser.parse_args()
    measured(WARM_UPS)  # the first start loads modules
    text = table(measured())
    print(text)
    if options.write:
        TABLE.write(text)


if __name__ == "__main__":
    main()
