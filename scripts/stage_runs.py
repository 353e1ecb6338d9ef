"""Runs stages one after another, or two at the same time, and measures the processor time of their processes."""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import IO

import system

MARGIN = 2.1
"""Factor by which a stage may exceed its budget on the build server.

On 2026-11-26 one machine took 1.9 times as long for the recorded cases as the machine of the budget (67 s and 35 s).
"""
LEAST_MARGIN_SECONDS = 180.0
"""Seconds by which a stage may always exceed its budget: on a new machine it downloads packages first."""


class StageFailed(Exception):
    """A command of a stage ended with a code other than 0."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step: `run` raises StageFailed or another error if it fails.

    If the stage is `needed`, a failure ends the whole run. `seconds` is its part of the budget, on two idle cores.
    `beside` names an earlier stage that leaves a part of the cores idle: both run at the same time, this one with a
    lower priority, because clients have time limits of their own.
    """

    name: str
    what: str
    run: Callable[[], None]
    seconds: float = 0.0
    _: KW_ONLY
    needed: bool = False
    beside: str = ""


@dataclass(frozen=True, slots=True)
class StageResult:
    """Outcome of a stage. `problem` is empty if it passed; `allowed` is its part of the budget.

    `sets_up` is True for stages that install and build: their time depends on the state of the machine.
    `processor_seconds` is the time that its processes used of all cores: less than `seconds` means a stage that waits.
    """

    name: str
    problem: str
    seconds: float
    allowed: float = 0.0
    _: KW_ONLY
    sets_up: bool = False
    processor_seconds: float = 0.0

    @property
    def too_slow(self) -> bool:
        """True if a stage other than set-up took longer than the budget allows on the slowest machine seen."""
        return not self.sets_up and self.seconds > max(MARGIN * self.allowed, self.allowed + LEAST_MARGIN_SECONDS)


NICENESS = 5
"""Niceness of stages beside another one. With 10, tests that wait five seconds for an answer could be too slow."""


class StageProcesses(threading.local):
    """The processes of the stage that a thread runs: the file of their output, their niceness and processor time.

    Without a file they write to the output of this process.
    """

    output: IO[str] | None = None
    niceness = 0
    processor_seconds = 0.0


RUNNING = StageProcesses()
"""Two stages run at the same time, each in its thread."""


def execute(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run a command of the current stage to its end, with the output of the stage. Raises StageFailed."""
    output = RUNNING.output
    print("$", " ".join(command), file=output, flush=True)
    words = ["nice", "-n", str(RUNNING.niceness), *command] if RUNNING.niceness else command
    with subprocess.Popen(
        words, cwd=folder, stdin=subprocess.DEVNULL, env=environment, stdout=output, stderr=output
    ) as process:
        # Popen.wait would not return the processor time of the process and of its children.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    RUNNING.processor_seconds += used.ru_utime + used.ru_stime
    if process.returncode != 0:
        raise StageFailed(f"{command[0]} ended with code {process.returncode}")


def run(stages: Iterable[Stage]) -> list[StageResult]:
    """Run stages in order. A needed stage that fails ends the run.

    Stages `beside` another one run at the same time, one after another, if that one is among the stages. Their output
    is printed at their end.
    """
    chosen = list(stages)
    names = {stage.name for stage in chosen}
    results: list[StageResult] = []
    for stage in (each for each in chosen if each.beside not in names):
        others = [each for each in chosen if each.beside == stage.name]
        with ThreadPoolExecutor(1) as second:
            beside = second.submit(_run_apart, others)
            results += [_run_one(stage), *beside.result()]
        if stage.needed and results[-1 - len(others)].problem:
            break
    return results


def _run_apart(stages: Sequence[Stage]) -> list[StageResult]:
    """Run stages with a lower priority, and with output of their own, which is printed at the end of each."""
    results = []
    RUNNING.niceness = NICENESS
    for stage in stages:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            results.append(_run_one(stage, output))
            output.seek(0)
            print(output.read(), end="", flush=True)
    return results


def _run_one(stage: Stage, output: IO[str] | None = None) -> StageResult:
    RUNNING.output, RUNNING.processor_seconds = output, 0.0
    print(f"\n--- {stage.name}: {stage.what}", file=output, flush=True)
    begin = time.monotonic()
    problem = ""
    try:
        stage.run()
    except (StageFailed, system.MissingProgram) as error:
        problem = str(error)
        print(f"--- {stage.name} failed: {problem}", file=output, flush=True)
    seconds = time.monotonic() - begin
    used = RUNNING.processor_seconds
    return StageResult(stage.name, problem, seconds, stage.seconds, sets_up=stage.needed, processor_seconds=used)
