"""Non-idempotent handler: billing charges an order each time that the broker delivers it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator, faults
from sdk_worker import Worker, key_of, message, send


class Broken(Worker):
    """Charges each delivery."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator, "billing", "orders")
        self.charged: list[str] = []

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        self.charged.append(key_of(received))
        acknowledge()


class Repaired(Broken):
    """Charges each order once."""

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        if key_of(received) not in self.charged:
            self.charged.append(key_of(received))
        acknowledge()


@pytest.fixture(params=[Broken, Repaired])
def billing(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    rocketmq.topic("orders", queues=1)
    worker: Broken = request.param(rocketmq)
    worker.start()
    yield worker
    worker.stop()


@pytest.mark.rocketmq_explore(group="billing", faults=[faults.drop_request(operation="AckMessage")])
def test_billing_charges_once(rocketmq: Emulator, billing: Broken) -> None:
    send(rocketmq, message("orders", "order-1"), message("orders", "order-2"))

    rocketmq.assert_no_loss("orders", group="billing", within="10m")

    assert sorted(billing.charged) == ["order-1", "order-2"]
