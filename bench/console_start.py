"""Compares the start of the command and of the fixture with the web console and without it.

    python bench/console_start.py          # 15 pairs
    python bench/console_start.py 40

prints the processor time from the start of the process to its end, of both by turns: the median of each, and the median
of the differences of the pairs. The exit code is 1 if the latter is more than 2 % of the time without the console.
"""

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
from pathlib import Path

PAIRS = 15
GROWTH_MAX = 0.02
COMMAND = str(Path(sys.executable).with_name("rocketmq-emulator"))
PORTS = [word for name in ("namesrv", "broker", "grpc", "control") for word in (f"--{name}-port", "0")]
FIXTURE = """
import sys
from rocketmq_testkit.fixtures import Emulator
with Emulator(topics=["orders"], console=sys.argv[1] == "with") as emulator:
    emulator.topics["orders"].send(b"an order")
"""


def spent(run: list[str], *, until_ready: bool) -> float:
    """Return the processor time (ms) of a process; one that serves is stopped when it is ready."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        if until_ready:
            assert json.loads(process.stdout.readline())["ready"]
            process.send_signal(signal.SIGTERM)
        assert process.wait() in {0, 143, -signal.SIGTERM}
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def compared(name: str, with_console: list[str], without: list[str], pairs: int, *, until_ready: bool) -> bool:
    """Print the times of both, and return True if they are equal."""
    found = []
    for number in range(pairs + 1):
        runs = [with_console, without] if number % 2 else [without, with_console]
        times = [spent(run, until_ready=until_ready) for run in runs]
        if number:  # the first pair fills the caches of the system
            found.append(tuple(times if number % 2 else reversed(times)))
    console, none = (statistics.median(each) for each in zip(*found, strict=True))
    growth = statistics.median(first - second for first, second in found)
    print(f"{name:8} with {console:7.1f} ms, without {none:7.1f} ms, median difference {growth:+5.1f} ms")
    return bool(growth <= GROWTH_MAX * none)


def main(pairs: int) -> int:
    """Compare both."""
    command = [COMMAND, *PORTS, "--topic", "orders"]
    fixture = [sys.executable, "-c", FIXTURE]
    equal = [
        compared("command", command, [*command, "--no-console"], pairs, until_ready=True),
        compared("fixture", [*fixture, "with"], [*fixture, "without"], pairs, until_ready=False),
    ]
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS))
