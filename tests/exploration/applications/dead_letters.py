"""Dead letters that nobody drains: after two failures an order is a dead letter, and no invoice is ever sent."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq import Producer
from rocketmq_testkit import Emulator, faults
from sdk_worker import Worker, configuration, key_of, message, send

NO_INVOICE = faults.respond("TOO_MANY_REQUESTS", operation="SendMessage", topic="invoices")
ATTEMPTS = 2


class Broken(Worker):
    """Sends an invoice for each order. The broker delivers an order again if that fails."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator, "billing", "orders")
        self.producer = Producer(configuration(emulator), ["invoices"])
        self.for_people: set[str] = set()
        """Orders for manual processing."""

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        try:
            self.producer.send(message("invoices", key_of(received), b"12 euros"))
        except Exception:
            if not self.gives_up(key_of(received), received.delivery_attempt):
                return
        acknowledge()

    def gives_up(self, order: str, attempt: int) -> bool:
        return False


class Repaired(Broken):
    """Lists an order for manual processing at its last attempt."""

    def gives_up(self, order: str, attempt: int) -> bool:
        if attempt < ATTEMPTS:
            return False
        self.for_people.add(order)
        return True


@pytest.fixture
def billing(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    for topic in ("orders", "invoices"):
        rocketmq.topic(topic, queues=1)
    rocketmq.group("billing", retry_max_times=ATTEMPTS - 1)
    worker: Broken = request.param(rocketmq)
    worker.producer.startup()
    worker.start()
    yield worker
    worker.stop()
    worker.producer.shutdown()


def no_order_is_forgotten(rocketmq: Emulator, billing: Broken) -> None:
    send(rocketmq, message("orders", "order-1"))
    rocketmq.assert_idle("billing", within="30m")
    assert {key for each in rocketmq.messages("invoices") for key in each.keys} | billing.for_people == {"order-1"}


@pytest.mark.parametrize("billing", [Broken], indirect=True)
@pytest.mark.rocketmq_explore(depth=1, faults=[NO_INVOICE])
def test_one_fault_is_survived(rocketmq: Emulator, billing: Broken) -> None:
    no_order_is_forgotten(rocketmq, billing)


@pytest.mark.parametrize("billing", [Broken, Repaired], indirect=True)
@pytest.mark.rocketmq_explore(depth=2, faults=[NO_INVOICE])
def test_no_order_is_forgotten(rocketmq: Emulator, billing: Broken) -> None:
    no_order_is_forgotten(rocketmq, billing)
