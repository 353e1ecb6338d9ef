"""An offset that is committed too early: after a crash, the application skips orders that it has only read."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator, faults
from sdk_worker import Worker, key_of, message, send


class Broken(Worker):
    """Stores the last order that it has begun, and skips orders up to this one after a crash."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator, "report", "orders")
        self.offset = 0
        self.reported: set[str] = set()

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        number = int(received.body)
        if number > self.offset:
            self.report(number, key_of(received))
        acknowledge()

    def report(self, number: int, order: str) -> None:
        self.offset = number
        send(self._emulator, message("audit", order))
        self.check_alive()
        self.reported.add(order)


class Repaired(Broken):
    """Stores the last order that is complete."""

    def report(self, number: int, order: str) -> None:
        send(self._emulator, message("audit", order))
        self.check_alive()
        self.reported.add(order)
        self.offset = number


RUNNING: list[Worker] = []
"""All applications that tests have started: a fault calls `crash` without arguments, and it crashes the last one."""


def crash() -> None:
    """Restart the application without what it holds in memory."""
    RUNNING[-1].restart()


@pytest.fixture(params=[Broken, Repaired])
def report(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    for topic in ("orders", "audit"):
        rocketmq.topic(topic, queues=1)
    worker: Broken = request.param(rocketmq)
    RUNNING.append(worker)
    worker.start()
    yield worker
    worker.stop()


@pytest.mark.rocketmq_explore(faults=[faults.call(crash, topic="audit")])
def test_each_order_is_reported(rocketmq: Emulator, report: Broken) -> None:
    send(rocketmq, message("orders", "order-1", b"1"))

    rocketmq.assert_no_loss("orders", group="report", within="10m")

    assert report.reported == {"order-1"}
