"""The command `rocketmq-emulator` in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VARIABLE = "COMMAND_UNDER_TEST"
"""The environment variable with the path of the executable, if the tests of the command run with it."""
INSTALLED = str(Path(sys.executable).with_name("rocketmq-emulator"))
MACHINE_CODE = b"\x7fELF"
"""The first bytes of a program that needs no interpreter."""


def is_executable(path: str) -> bool:
    """Return True if a file is machine code, as the executable is, and no script for an interpreter."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(len(MACHINE_CODE)) == MACHINE_CODE


def command_under_test() -> str:
    """Return the executable that the variable names, or the installed command. Raises AssertionError for a script."""
    path = os.environ.get(VARIABLE)
    if path is None:
        return INSTALLED
    assert is_executable(path), f"{VARIABLE}={path}: is no executable; run `make executable`, which builds one in dist/"
    return path


COMMAND = command_under_test()


@contextmanager
def interruptible(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a process of the command that a SIGINT interrupts, with pipes for its output. It ends with the block."""
    process = subprocess.Popen(
        [COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with an ignored SIGINT, which the command would inherit from the tests.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


"""The installed command or, in the stage `executable`, the executable."""
IS_EXECUTABLE = COMMAND != INSTALLED
ANY_PORTS = ["--namesrv-port", "0", "--broker-port", "0", "--grpc-port", "0", "--control-port", "0"]


class Running:
    """A started command: its process and its ready line."""

    def __init__(self, *arguments: str, program: str = COMMAND) -> None:
        self.process = subprocess.Popen(
            [program, *ANY_PORTS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            _, errors = self.process.communicate(timeout=10)
            raise AssertionError(f"the command ended with {self.process.returncode}: {errors}")
        self.ready: dict[str, Any] = json.loads(line)

    def get(self, path: str) -> Any:
        """Send a GET to the control port and return its JSON."""
        with urllib.request.urlopen(self.ready["control"] + path, timeout=10) as response:
            return json.load(response)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float, str, str]:
        """Stop the command; return exit code, seconds until the end, remaining standard output, standard error."""
        begin = time.perf_counter()
        self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=10)
        return self.process.returncode, time.perf_counter() - begin, out, errors


@contextmanager
def running(*arguments: str, program: str = COMMAND) -> Iterator[Running]:
    """Run the command, or another program like it, and stop it in any case."""
    found = Running(*arguments, program=program)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.process.kill()
        found.process.communicate(timeout=10)


def refused(*arguments: str) -> str:
    """Return the one error sentence of a command that does not start."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("rocketmq-emulator: ")
    return line.removeprefix("rocketmq-emulator: ")


def path_without_python(folder: Path) -> str:
    """Fill a folder with links to all programs of PATH except Python and its tools; return it as a PATH."""
    folder.mkdir()
    for place in os.get_exec_path():
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / program.name
            if re.match(r"(?:python|pypy|pip|pyenv|rocketmq)", program.name) is None and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)
