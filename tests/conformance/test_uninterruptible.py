"""The function that completes clean-up work although signals arrive."""

import os
import signal
import threading

import pytest
from rocketmq_testkit.conformance.deployment.uninterruptible import run_uninterrupted


def test_a_signal_during_the_work_interrupts_after_it_is_complete() -> None:
    """A signal during the work, even twice, interrupts the program only after the work is complete."""
    done: list[str] = []

    def work() -> None:
        for part in ("first", "second"):
            os.kill(os.getpid(), signal.SIGINT)
            done.append(part)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_uninterrupted(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["first", "second"]


def test_an_error_of_the_work_is_raised_to_the_caller() -> None:

    def work() -> None:
        raise OSError("the folder is gone")

    with pytest.raises(OSError, match="the folder is gone"):
        run_uninterrupted(work)


def test_the_work_is_complete_when_the_call_returns() -> None:
    """The work is complete when the call returns, although another thread executes it."""
    threads: list[str] = []
    run_uninterrupted(lambda: threads.append(threading.current_thread().name))
    assert threads == ["clean-up"]
