"""A real broker leaves no process and no files, whenever it is stopped."""

import os
import signal
import threading
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.deployment.target import TargetError
from rocketmq_testkit.conformance.targets import apache
from rocketmq_testkit.conformance.targets.apache import ApacheBroker


def test_a_broker_stopped_before_its_start_does_not_start() -> None:
    """A broker that was stopped before its start does not start: a queued start may follow the end of the run."""
    broker = ApacheBroker()
    broker.stop()
    with pytest.raises(TargetError, match=r"Apache RocketMQ 5\.3\.3 was stopped"):
        broker.start()
    assert broker.pids == []
    assert broker.home == Path()


def test_a_broker_stopped_during_its_start_leaves_no_process_and_home() -> None:
    """A broker that is stopped during its start ends it with an error and leaves neither processes nor its home."""
    broker = ApacheBroker()
    errors: list[TargetError] = []

    def start() -> None:
        with pytest.raises(TargetError) as raised:
            broker.start()
        errors.append(raised.value)

    starting = threading.Thread(target=start)
    starting.start()
    while not broker.pids and starting.is_alive():
        starting.join(0.005)
    broker.stop()
    starting.join(60)
    assert len(errors) == 1
    assert broker.pids == []
    assert not broker.home.exists()


def test_a_broker_that_does_not_stop_gracefully_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that does not stop gracefully is killed, and an error is raised: its files may be incomplete."""
    monkeypatch.setattr(apache, "STOP_SECONDS", 0.5)
    broker = ApacheBroker()
    broker.start()
    try:
        for pid in broker.pids:
            os.kill(pid, signal.SIGSTOP)
        with pytest.raises(TargetError, match=r"Apache RocketMQ 5\.3\.3 did not shut down gracefully within 0\.5 s"):
            broker.halt()
        assert not broker.alive
    finally:
        broker.stop()
