"""Clean-up that signals do not interrupt."""

import os
import signal
import threading

import pytest
from rocketmq_testkit.conformance.undisturbed import undisturbed


def test_a_signal_has_its_effect_afterwards() -> None:
    """A signal during the work, even twice, interrupts the program only after the work is complete."""
    done: list[str] = []

    def work() -> None:
        for part in ("first", "second"):
            os.kill(os.getpid(), signal.SIGINT)
            done.append(part)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            undisturbed(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["first", "second"]


def test_what_goes_wrong_is_raised() -> None:
    """An error of the work is raised to the caller."""

    def work() -> None:
        raise OSError("the folder is gone")

    with pytest.raises(OSError, match="the folder is gone"):
        undisturbed(work)


def test_it_is_over_when_it_returns() -> None:
    """The work is complete when the call returns, although another thread executes it."""
    threads: list[str] = []
    undisturbed(lambda: threads.append(threading.current_thread().name))
    assert threads == ["clean-up"]
