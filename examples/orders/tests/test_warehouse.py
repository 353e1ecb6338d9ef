"""Tests of the warehouse. The broker pushes messages, and redelivers them as soon as the test moves the clock."""

from collections.abc import Iterator

import pytest
from orders.order import Order
from orders.shop import Shop
from orders.warehouse import Warehouse
from rocketmq_testkit import Emulator

PATIENCE = 20.0
"""Seconds to wait for a delivery."""


@pytest.fixture
def warehouse(rocketmq: Emulator) -> Iterator[Warehouse]:
    """A running warehouse with ten packets of tea and no coffee."""
    rocketmq.topic("orders")
    with Warehouse(rocketmq.endpoint, stock={"tea": 10}) as warehouse:
        yield warehouse


def test_every_order_is_shipped_once(rocketmq: Emulator, warehouse: Warehouse) -> None:
    """The warehouse ships every order that the shop takes exactly once."""
    orders = [Order(str(number), "tea", 2) for number in range(5)]

    with Shop(rocketmq.endpoint) as shop:
        for order in orders:
            shop.place(order)
    shipped = [warehouse.shipped.get(timeout=PATIENCE) for _ in orders]

    assert sorted(shipped, key=lambda order: order.number) == orders
    assert warehouse.stock == {"tea": 0}


def test_an_order_that_is_out_of_stock_is_shipped_after_the_delivery(rocketmq: Emulator, warehouse: Warehouse) -> None:
    """An order that is out of stock is redelivered; the test moves the clock there, and the order is shipped."""
    order = Order("1002", "coffee", 1)

    # A test may also send messages itself.
    rocketmq.topic("orders").send(order.to_body(), tag="coffee", keys=["1002"])
    assert warehouse.refused.get(timeout=PATIENCE) == order
    warehouse.stock["coffee"] = 1
    rocketmq.clock.advance_until(warehouse.shipped.qsize, limit="1h")

    assert warehouse.shipped.get_nowait() == order
