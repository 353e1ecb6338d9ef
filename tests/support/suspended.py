"""Suspends child processes, as clients that hang: their connections stay open, and they do not respond."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


def suspend(process: int) -> None:
    """Suspend a child process, and wait until it has stopped.

    The call that sends the signal returns earlier: threads run until one of them has received the signal, 0.2 s on a
    busy machine. A client that the broker expires meanwhile would connect and register again.
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
