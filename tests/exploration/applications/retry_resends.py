"""A retry that resends: billing sends a failed order to itself again, and the broker delivers the first one as well."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq import Producer
from rocketmq_testkit import Emulator, faults
from sdk_worker import Worker, configuration, key_of, message, send


class Broken(Worker):
    """Sends an invoice for each order. If that fails, it sends the order again, and does not acknowledge it."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator, "billing", "orders")
        self.producer = Producer(configuration(emulator), ["orders", "invoices"])

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        try:
            self.producer.send(message("invoices", f"invoice-of-{key_of(received)}"))
        except Exception:
            self.retry(key_of(received))
        else:
            acknowledge()

    def retry(self, order: str) -> None:
        self.producer.send(message("orders", order))


class Repaired(Broken):
    """Leaves the retry to the broker."""

    def retry(self, order: str) -> None:
        return


@pytest.fixture(params=[Broken, Repaired])
def billing(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    for topic in ("orders", "invoices"):
        rocketmq.topic(topic, queues=1)
    worker: Broken = request.param(rocketmq)
    worker.producer.startup()
    worker.start()
    yield worker
    worker.stop()
    worker.producer.shutdown()


@pytest.mark.rocketmq_explore(faults=[faults.respond("TOO_MANY_REQUESTS", operation="SendMessage", topic="invoices")])
def test_each_order_has_one_invoice(rocketmq: Emulator, billing: Broken) -> None:
    send(rocketmq, message("orders", "order-1"))

    rocketmq.assert_no_loss("orders", group="billing", within="10m")

    assert [each.keys for each in rocketmq.messages("invoices")] == [["invoice-of-order-1"]]
