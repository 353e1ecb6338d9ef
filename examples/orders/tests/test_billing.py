"""Billing charges orders. A minute that the broker has to wait costs the test nothing."""

import pytest
from orders.billing import Billing
from orders.order import Order
from rocketmq_testkit import Emulator


class CardMachine:
    """Remembers what was charged, and can be broken."""

    def __init__(self) -> None:
        self.charged: list[Order] = []
        self.broken = False

    def __call__(self, order: Order) -> None:
        if self.broken:
            raise ConnectionError("the bank does not answer")
        self.charged.append(order)


def test_an_order_is_charged_once(rocketmq: Emulator) -> None:
    """An order that was charged does not come again, however long we wait."""
    order = Order("1003", "tea", 1)
    rocketmq.topic("orders", queues=1).send(order.to_body())
    machine = CardMachine()

    with Billing(rocketmq.endpoint, machine) as billing:
        assert billing.run_once() == 1
        rocketmq.clock.advance("10m")
        assert billing.run_once() == 0

    assert machine.charged == [order]


def test_an_order_whose_charge_failed_is_charged_a_minute_later(rocketmq: Emulator) -> None:
    """The order stays hidden for as long as billing said it needs; the test jumps over that time."""
    order = Order("1004", "tea", 1)
    rocketmq.topic("orders", queues=1).send(order.to_body())
    machine = CardMachine()

    with Billing(rocketmq.endpoint, machine) as billing:
        machine.broken = True
        with pytest.raises(ConnectionError):
            billing.run_once()
        machine.broken = False
        rocketmq.clock.advance("2m")
        assert billing.run_once() == 1

    assert machine.charged == [order]
