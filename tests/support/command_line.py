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

COMMAND = os.environ.get("COMMAND_UNDER_TEST") or str(Path(sys.executable).with_name("rocketmq-emulator"))
"""The installed command, or another form of it, such as the executable."""
ANY_PORTS = ["--namesrv-port", "0", "--broker-port", "0", "--grpc-port", "0", "--control-port", "0"]


class Running:
    """A started command: its process and its ready line."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [COMMAND, *ANY_PORTS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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
def running(*arguments: str) -> Iterator[Running]:
    """Run the command and stop it in any case."""
    found = Running(*arguments)
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
