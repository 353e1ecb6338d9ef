"""The process of a shop that takes orders in transactions. A crash kills it, and starts another one."""

import subprocess
import sys
from pathlib import Path

from order_program import ACCEPTED, Tables
from rocketmq_testkit import Emulator

PROGRAM = Path(__file__).with_name("order_program.py")
ENDS_WITHIN_S = 30


class OrderProcess:
    """The process, and its tables, which survive crashes. `application`: as for the program."""

    def __init__(self, emulator: Emulator, application: str, folder: Path) -> None:
        self._emulator = emulator
        self._application = application
        self._file = folder / "tables"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the process, and wait until the broker can send checks to its producer."""
        words = [sys.executable, str(PROGRAM), self._emulator.endpoint, str(self._file), self._application]
        pipe = subprocess.PIPE
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self._processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        self._emulator.wait_for_producer("orders")

    def order(self, name: str) -> None:
        """Let the process take an order, and wait until it has ended the transaction or is killed.

        If the commit has failed, the process has a new producer, which must get the checks.
        """
        process = self._processes[-1]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{name}\n".encode())
        process.stdin.flush()
        ended = process.stdout.readline()
        assert ended in {f"{name}\n".encode(), b""}
        if ended:
            self._emulator.wait_for_producer("orders")

    def crash(self) -> None:
        """Kill the process, and start another with the same tables."""
        self._kill()
        self.start()

    def stop(self) -> None:
        """Kill the process, and release its pipes."""
        self._kill()
        for process in self._processes:
            process.communicate()

    def _kill(self) -> None:
        self._processes[-1].kill()
        self._processes[-1].wait(ENDS_WITHIN_S)

    @property
    def accepted(self) -> set[str]:
        """The orders that the shop has accepted."""
        return Tables(self._file).orders(ACCEPTED)

    @property
    def sent(self) -> set[str]:
        """The orders that are sent."""
        return {key for each in self._emulator.messages("orders") for key in each.keys}
