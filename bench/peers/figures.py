"""Figures of a step, measured alike for each tool, and printed as one line of JSON.

Imports only the standard library, because each tool has a virtual environment of its own.
"""

import gc
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field

MESSAGES = 10_000
BODY = bytes(1024)
KIB = 1024

START = "start until the first response"
STOP = "stop"
EMPTY = "empty again, after 10,000 messages"
COPY = "copy of one with 10,000 messages"
SAVE = "save 10,000 messages in a file"
RESTORE = "restore 10,000 messages from a file"
MEMORY = "memory of the copy, KiB"
FIXTURE = "fixture of a test, empty"
FIXTURE_COPY = "fixture of a test, with 10,000 messages"
STEPS = (START, STOP, EMPTY, COPY, MEMORY, SAVE, RESTORE, FIXTURE, FIXTURE_COPY)
"""Steps that several tools have, in the order of the table."""


@dataclass(frozen=True)
class Figure:
    """Milliseconds of each repeat of a step, by the wall clock and of processor time.

    `way` says how the tool does it. `cpu_ms` has one entry, the mean, if the processor time of a server is only known
    in steps of 10 ms. `kib` replaces both for a size. A `goal` applies to the median of the processor time. `why` is
    the reason of a tool that cannot be measured.
    """

    tool: str
    step: str
    way: str = ""
    wall_ms: Sequence[float] = field(default_factory=list)
    _: KW_ONLY
    cpu_ms: Sequence[float] = field(default_factory=list)
    kib: float | None = None
    goal: float | None = None
    why: str = ""


def show(figure: Figure) -> None:
    """Print a figure for the process that makes the table."""
    print(json.dumps(asdict(figure)), flush=True)


def read(output: str) -> list[Figure]:
    """Return the figures among the lines that a process has printed."""
    return [Figure(**json.loads(line)) for line in output.splitlines() if line.startswith('{"tool"')]


def times_of(
    step: Callable[[], object],
    repeats: int,
    before: Callable[[], object] = lambda: None,
    *,
    cpu: Callable[[], float] = time.process_time,
) -> "Times":
    """Run a step once without and then `repeats` times with measurement. `before` runs unmeasured before each."""
    found = Times(cpu)
    for number in range(repeats + 1):
        before()
        gc.collect()
        with found if number else Times():
            step()
    return found


class Times:
    """Collects wall-clock and processor time of `with` blocks, in ms. `cpu` returns the latter in seconds."""

    def __init__(self, cpu: Callable[[], float] = time.process_time) -> None:
        self._cpu = cpu
        self.wall_ms: list[float] = []
        self.cpu_ms: list[float] = []
        self._begin = 0.0, 0.0

    def __enter__(self) -> "Times":
        self._begin = time.perf_counter(), self._cpu()
        return self

    def __exit__(self, *error: object) -> None:
        begin, cpu = self._begin
        self.wall_ms.append((time.perf_counter() - begin) * 1000)
        self.cpu_ms.append((self._cpu() - cpu) * 1000)

    def means(self) -> "Times":
        """Replace the processor times by their mean, if a single one is not exact."""
        self.cpu_ms = [statistics.mean(self.cpu_ms)]
        return self

    def shown(self, tool: str, step: str, way: str, goal: float | None = None) -> None:
        """Print them as a figure."""
        show(Figure(tool, step, way, self.wall_ms, cpu_ms=self.cpu_ms, goal=goal))
