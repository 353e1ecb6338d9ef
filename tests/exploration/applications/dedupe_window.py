"""Wrong dedupe window: billing forgets an order when its duplicate arrives. Only a second duplicate shows the bug."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator, faults
from sdk_worker import Worker, key_of, message, send

LOST_ACKNOWLEDGEMENT = faults.drop_request(operation="AckMessage")


class Broken(Worker):
    """Remembers an order until its first duplicate."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator, "billing", "orders")
        self.charged: list[str] = []
        self.remembered: set[str] = set()

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        order = key_of(received)
        if order in self.remembered:
            self.forget(order)
        else:
            self.remembered.add(order)
            self.charged.append(order)
        acknowledge()

    def forget(self, order: str) -> None:
        self.remembered.remove(order)


class Repaired(Broken):
    """Remembers each order."""

    def forget(self, order: str) -> None:
        return


@pytest.fixture
def billing(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    rocketmq.topic("orders", queues=1)
    worker: Broken = request.param(rocketmq)
    worker.start()
    yield worker
    worker.stop()


def charges_once(rocketmq: Emulator, billing: Broken) -> None:
    send(rocketmq, message("orders", "order-1"))
    rocketmq.assert_no_loss("orders", group="billing", within="10m")
    assert billing.charged == ["order-1"]


@pytest.mark.parametrize("billing", [Broken], indirect=True)
@pytest.mark.rocketmq_explore(group="billing", depth=1, faults=[LOST_ACKNOWLEDGEMENT])
def test_one_fault_is_survived(rocketmq: Emulator, billing: Broken) -> None:
    charges_once(rocketmq, billing)


@pytest.mark.parametrize("billing", [Broken, Repaired], indirect=True)
@pytest.mark.rocketmq_explore(group="billing", depth=2, faults=[LOST_ACKNOWLEDGEMENT])
def test_billing_charges_once(rocketmq: Emulator, billing: Broken) -> None:
    charges_once(rocketmq, billing)
