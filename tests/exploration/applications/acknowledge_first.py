"""Acknowledging before work: an order that was acknowledged is lost if the application crashes before its work."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator, faults
from sdk_worker import Worker, key_of, message, send


class Broken(Worker):
    """Acknowledges an order, then ships it."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator, "shipping", "orders")
        self.shipped: set[str] = set()

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        acknowledge()
        self.shipped.add(key_of(received))


class Repaired(Broken):
    """Ships an order, then acknowledges it."""

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        self.shipped.add(key_of(received))
        acknowledge()


RUNNING: list[Worker] = []
"""All applications that tests have started: a fault calls `crash` without arguments, and it crashes the last one."""


def crash() -> None:
    """Restart the application without what it holds in memory."""
    RUNNING[-1].restart()


@pytest.fixture(params=[Broken, Repaired])
def shipping(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    rocketmq.topic("orders", queues=1)
    worker: Broken = request.param(rocketmq)
    RUNNING.append(worker)
    worker.start()
    yield worker
    worker.stop()


@pytest.mark.rocketmq_explore(group="shipping", faults=[faults.call(crash, operation="AckMessage")])
def test_each_order_is_shipped(rocketmq: Emulator, shipping: Broken) -> None:
    send(rocketmq, message("orders", "order-1"))

    rocketmq.assert_no_loss("orders", group="shipping", within="10m")

    assert shipping.shipped == {"order-1"}
