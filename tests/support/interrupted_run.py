"""A conformance run that gets Ctrl-C or SIGTERM at a chosen moment, and the output, processes and files that remain."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

COMMAND = Path(sys.executable).with_name("rocketmq-conformance")
MOMENT_SECONDS = 240.0
"""Timeout for the moment: two real brokers and an SDK have to start on a busy machine."""
END_SECONDS = 60.0


@dataclass(frozen=True)
class Moment:
    """Progress of a run: the lines that it printed, and the command lines of the processes that it started."""

    printed: str
    started: list[str]


@dataclass(frozen=True)
class Left:
    """State after a run: its exit code, all its output, running processes, and names of temporary folders."""

    code: int
    printed: str
    processes: list[str]
    folders: list[str]


def interrupted(
    folder: Path,
    words: list[str],
    moment: Callable[[Moment], object],
    signals: Sequence[signal.Signals] = (signal.SIGINT,),
) -> Left:
    """Run the command with `folder` for temporary files, and interrupt it once `moment` returns True."""
    run = subprocess.Popen(
        [COMMAND, "run", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        # A background process of a shell ignores the signal; a terminal's does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert run.stdout is not None
    lines: list[str] = []
    reader = threading.Thread(target=lines.extend, args=(run.stdout,), daemon=True)
    reader.start()
    try:
        deadline = time.monotonic() + MOMENT_SECONDS
        while not moment(Moment("".join(lines), processes_of(folder))):
            assert run.poll() is None, "the run ended by itself: " + "".join(lines)
            assert time.monotonic() < deadline, "the moment did not come: " + "".join(lines)
            time.sleep(0.05)  # polls another process, which sends no event
        for each in signals:
            run.send_signal(each)
            time.sleep(0.1)  # The next signal has to arrive during the clean-up.
        code = run.wait(END_SECONDS)
    finally:
        run.kill()
        run.wait()
    reader.join(END_SECONDS)
    return Left(code, "".join(lines), processes_of(folder), sorted(each.name for each in folder.iterdir()))


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of processes whose home is in a folder."""
    listed = subprocess.run(["ps", "-ww", "-e", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if f"{folder}/" in line]
