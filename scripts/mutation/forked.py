"""Runs an action in a fork of this process, with limits on time and memory, and judges the mutant in it."""

import json
import os
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NoReturn

SECONDS_FREE, FACTOR = 6.0, 4.0
"""Limit of processor time with a mutant: these seconds plus the factor times the seconds without a mutant."""
PATIENCE = 20.0
"""Limit of wall time as a multiple of that processor time, so that a busy machine does not count as an endless loop."""
MEMORY_MAX = 4 << 30
OTHER_ENDS = ("import", "time", "crash")
"""Ends of a mutant that no test reports: failed imports, exceeded limits, a crash of the interpreter."""


class Fate(Enum):
    """The end of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class MutantVerdict:
    """The fate of a mutant, the test that failed or one of `OTHER_ENDS`, and the seconds that it took."""

    fate: Fate
    by: str = ""
    seconds: float = 0.0


Action = Callable[[], str | None]
"""Runs tests. Returns the id of the first failed test, "import" if they cannot be run, None if all pass."""


def judged(action: Action, seconds: float, log: Path) -> MutantVerdict:
    """Run the action in a fork and judge the mutant.

    `seconds` is the processor time of the tests without a mutant. `log` receives the output.
    """
    allowed = int(SECONDS_FREE + FACTOR * seconds)
    begun = time.monotonic()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _child(action, allowed, log, writing)
    os.close(writing)
    ended = _ended(pid, begun + PATIENCE * allowed)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    spent = round(time.monotonic() - begun, 1)
    if not ended:
        return MutantVerdict(Fate.KILLED, "time", spent)
    if not said:
        return MutantVerdict(Fate.KILLED, "crash", spent)
    failed = json.loads(said)
    return MutantVerdict(Fate.SURVIVED, "", spent) if failed is None else MutantVerdict(Fate.KILLED, failed, spent)


def _ended(pid: int, deadline: float) -> bool:
    """Return True if a child ended within its limits. Its whole process group is killed afterwards."""
    pause, status = 0.002, None
    while status is None and time.monotonic() < deadline:
        found, raw = os.waitpid(pid, os.WNOHANG)
        if found:
            status = raw
        else:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if status is None:
        os.waitpid(pid, 0)
        return False
    return not (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL))


def _child(action: Action, allowed: int, log: Path, writing: int) -> NoReturn:
    failed: str | None = "import"
    try:
        os.setpgid(0, 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(output, number)
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
        failed = action()
    except BaseException as error:  # the parent needs a result for any error of a mutant
        print(f"{type(error).__name__}: {error}", flush=True)
    finally:
        os.write(writing, json.dumps(failed).encode())
        os._exit(0)
