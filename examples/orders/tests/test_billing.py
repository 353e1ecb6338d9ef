"""Tests of billing. They move the clock instead of waiting until a message is redelivered."""

import pytest
from orders.billing import Billing
from orders.order import Order
from rocketmq_testkit import Emulator


class CardMachine:
    """A card machine that records charges and can fail."""

    def __init__(self) -> None:
        self.charged: list[Order] = []
        self.broken = False

    def __call__(self, order: Order) -> None:
        if self.broken:
            raise ConnectionError("the bank does not answer")
        self.charged.append(order)


def test_an_order_is_charged_once(rocketmq: Emulator) -> None:
    """An order that was charged is not redelivered, even ten minutes later."""
    order = Order("1003", "tea", 1)
    rocketmq.topic("orders", queues=1).send(order.to_body())
    machine = CardMachine()

    with Billing(rocketmq.endpoint, machine) as billing:
        assert billing.run_once() == 1
        rocketmq.clock.advance("10m")
        assert billing.run_once() == 0

    assert machine.charged == [order]


def test_an_order_whose_charge_failed_is_charged_a_minute_later(rocketmq: Emulator) -> None:
    """An order whose charge failed is redelivered after its invisible duration; the test moves the clock there."""
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
