"""Child processes that are suspended, as a client that hangs: their connections stay open, and they answer nothing."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


def suspend(process: int) -> None:
    """Suspend a child process, and wait until it has stopped.

    The signal returns before that: other threads run until one thread has received it, 0.2 s on a busy machine. A
    client that is expired meanwhile connects again, and registers.
    """
    os.kill(process, signal.SIGSTOP)
    os.waitid(os.P_PID, process, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


@contextmanager
def suspended(process: int) -> Iterator[None]:
    """Suspend a child process while the block runs."""
    suspend(process)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)
