"""Order assumption across queues: a payment may arrive before its order. Billing waits for one redelivery only."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator, faults
from sdk_worker import Worker, key_of, message, send

LATE_ORDER = faults.skip_delivery(key="order-1")


class Broken(Worker):
    """Postpones a payment without an order once, then ignores it."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator, "ledger", "sales")
        self.orders: set[str] = set()
        self.paid: set[str] = set()

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        order = received.body.decode()
        if key_of(received) == order:
            self.orders.add(order)
        elif order in self.orders:
            self.paid.add(order)
        elif self.postpones(received.delivery_attempt):
            return  # without an acknowledgement: the broker delivers the payment again
        acknowledge()

    def postpones(self, attempt: int) -> bool:
        return attempt == 1


class Repaired(Broken):
    """Postpones a payment until its order is there."""

    def postpones(self, attempt: int) -> bool:
        return True


@pytest.fixture
def ledger(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    rocketmq.topic("sales", queues=2)
    worker: Broken = request.param(rocketmq)
    worker.start()
    yield worker
    worker.stop()


def all_payments_are_booked(rocketmq: Emulator, ledger: Broken) -> None:
    send(rocketmq, message("sales", "order-1", b"order-1"), message("sales", "payment-1", b"order-1"))
    rocketmq.assert_no_loss("sales", group="ledger", within="10m")
    assert ledger.paid == {"order-1"}


@pytest.mark.parametrize("ledger", [Broken], indirect=True)
@pytest.mark.rocketmq_explore(group="ledger", depth=1, faults=[LATE_ORDER])
def test_one_fault_is_survived(rocketmq: Emulator, ledger: Broken) -> None:
    all_payments_are_booked(rocketmq, ledger)


@pytest.mark.parametrize("ledger", [Broken, Repaired], indirect=True)
@pytest.mark.rocketmq_explore(group="ledger", depth=2, faults=[LATE_ORDER])
def test_all_payments_are_booked(rocketmq: Emulator, ledger: Broken) -> None:
    all_payments_are_booked(rocketmq, ledger)
