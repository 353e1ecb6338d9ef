"""Double refund on restart: the list of refunds is in memory, and a crash empties it before a redelivery."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator, faults
from sdk_worker import Worker, key_of, message, send


class Broken(Worker):
    """Remembers refunds in memory only."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator, "refunds", "returns")
        self.paid: list[str] = []
        """The account, which survives crashes."""
        self.remembered: set[str] = set()

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        order = key_of(received)
        if not self.is_refunded(order):
            self.remembered.add(order)
            self.paid.append(order)
        acknowledge()

    def is_refunded(self, order: str) -> bool:
        return order in self.remembered

    def restart(self) -> None:
        self.remembered.clear()
        super().restart()


class Repaired(Broken):
    """Reads the account, which survives crashes."""

    def is_refunded(self, order: str) -> bool:
        return order in self.paid


RUNNING: list[Worker] = []
"""All applications that tests have started: a fault calls `crash` without arguments, and it crashes the last one."""


def crash() -> None:
    """Restart the application without what it holds in memory."""
    RUNNING[-1].restart()


FAULTS = [faults.drop_request(operation="AckMessage"), faults.call(crash, operation="AckMessage", phase="response")]


@pytest.fixture
def refunds(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    rocketmq.topic("returns", queues=1)
    worker: Broken = request.param(rocketmq)
    RUNNING.append(worker)
    worker.start()
    yield worker
    worker.stop()


def refunds_once(rocketmq: Emulator, refunds: Broken) -> None:
    send(rocketmq, message("returns", "order-1"), message("returns", "order-2"))
    rocketmq.assert_no_loss("returns", group="refunds", within="10m")
    assert sorted(refunds.paid) == ["order-1", "order-2"]


@pytest.mark.parametrize("refunds", [Broken], indirect=True)
@pytest.mark.rocketmq_explore(group="refunds", depth=1, faults=FAULTS)
def test_one_fault_is_survived(rocketmq: Emulator, refunds: Broken) -> None:
    refunds_once(rocketmq, refunds)


@pytest.mark.parametrize("refunds", [Broken, Repaired], indirect=True)
@pytest.mark.rocketmq_explore(group="refunds", depth=2, faults=FAULTS)
def test_each_order_is_refunded_once(rocketmq: Emulator, refunds: Broken) -> None:
    refunds_once(rocketmq, refunds)
