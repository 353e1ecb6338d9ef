"""The warehouse ships orders. The broker pushes, waits for the answer, and delivers again as soon as a test says so."""

from collections.abc import Iterator

import pytest
from orders.order import Order
from orders.shop import Shop
from orders.warehouse import Warehouse
from rocketmq_testkit import Emulator

PATIENCE = 20.0


@pytest.fixture
def warehouse(rocketmq: Emulator) -> Iterator[Warehouse]:
    """A warehouse at work, with ten packets of tea and no coffee."""
    rocketmq.topic("orders")
    with Warehouse(rocketmq.endpoint, stock={"tea": 10}) as warehouse:
        yield warehouse


def test_every_order_is_shipped_once(rocketmq: Emulator, warehouse: Warehouse) -> None:
    """What the shop takes, the warehouse ships: all of it, and nothing twice."""
    orders = [Order(str(number), "tea", 2) for number in range(5)]

    with Shop(rocketmq.endpoint) as shop:
        for order in orders:
            shop.place(order)
    shipped = [warehouse.shipped.get(timeout=PATIENCE) for _ in orders]

    assert sorted(shipped, key=lambda order: order.number) == orders
    assert warehouse.stock == {"tea": 0}


def test_an_order_that_is_out_of_stock_is_shipped_after_the_delivery(rocketmq: Emulator, warehouse: Warehouse) -> None:
    """A refused order is not lost: the broker delivers it again, and the test goes to the instant at which it does."""
    order = Order("1002", "coffee", 1)

    # A test may also play the producer itself.
    rocketmq.topic("orders").send(order.to_body(), tag="coffee", keys=["1002"])
    assert warehouse.refused.get(timeout=PATIENCE) == order
    warehouse.stock["coffee"] = 1
    rocketmq.clock.advance_until(warehouse.shipped.qsize, limit="1h")

    assert warehouse.shipped.get_nowait() == order
