"""A wrapper of the command `rocketmq-emulator` that counts its starts and notices the end of all its processes."""

import os
import selectors
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from command_line import COMMAND

END_SECONDS = 2
"""The longest time until a command has noticed the end of its parent."""
_STARTED = b"started\n"


class CountedCommand:
    """An executable file that starts the command. Each process of the command keeps a pipe open until it ends.

    The standard error of all processes is kept in a file, because helpers discard it once the command is ready.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        pipe = folder / "pipe"
        os.mkfifo(pipe)
        self._reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.path = folder / "rocketmq-emulator"
        self.errors = folder / "errors"
        started = f'exec 9>"{pipe}"\nprintf "started\\n" >&9\nexec "{COMMAND}" "$@" 2>>"{self.errors}"'
        self.path.write_text(f"#!/bin/sh\n{started}\n")
        self.path.chmod(0o755)

    def starts(self) -> int:
        """Return the number of starts. All processes must have ended, or end within END_SECONDS."""
        received = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            while True:
                assert selector.select(END_SECONDS), "a process of the command still runs"
                part = os.read(self._reader, 4096)
                if not part:
                    return received.count(_STARTED)
                received += part

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._reader)


@contextmanager
def counted_command(folder: Path) -> Iterator[CountedCommand]:
    """Write the wrapper into a new folder, for the time of the block. If it fails, print what the processes logged."""
    made = CountedCommand(folder)
    try:
        yield made
    except BaseException:
        if made.errors.is_file():
            print(f"standard error of the command:\n{made.errors.read_text(encoding='utf-8', errors='replace')}")
        raise
    finally:
        made.close()
