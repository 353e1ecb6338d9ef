"""A check that commits unknown orders: a rejected order whose rollback was lost is sent nevertheless."""

from collections.abc import Iterator
from typing import Any

import pytest
from rocketmq import Producer, TransactionResolution
from rocketmq_testkit import Emulator, faults
from sdk_worker import configuration, message
from transaction_checks import checker


class Broken:
    """Takes orders in transactions. It rolls the message back if it rejects the order."""

    def __init__(self, emulator: Emulator) -> None:
        self.accepted: set[str] = set()
        self.producer = Producer(configuration(emulator), ["orders"], checker=checker(self.resolution))

    def resolution(self, order: str) -> Any:
        return TransactionResolution.COMMIT

    def order(self, name: str, *, accepts: bool) -> None:
        transaction = self.producer.begin_transaction()
        self.producer.send(message("orders", name), transaction)
        if accepts:
            self.accepted.add(name)
            transaction.commit()
        else:
            transaction.rollback()


class Repaired(Broken):
    """Answers by its table of orders."""

    def resolution(self, order: str) -> Any:
        return TransactionResolution.COMMIT if order in self.accepted else TransactionResolution.ROLLBACK


@pytest.fixture(params=[Broken, Repaired])
def shop(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    rocketmq.topic("orders", type="TRANSACTION", queues=1)
    found: Broken = request.param(rocketmq)
    found.producer.startup()
    yield found
    found.producer.shutdown()


@pytest.mark.rocketmq_explore(
    depth=2,
    faults=[
        faults.drop_request(operation="EndTransaction"),
        faults.drop_push(operation="CheckTransactionState"),
        faults.duplicate_push(operation="CheckTransactionState"),
    ],
)
def test_only_accepted_orders_are_sent(rocketmq: Emulator, shop: Broken) -> None:
    for name, accepts in (("order-1", True), ("order-2", False)):
        try:
            shop.order(name, accepts=accepts)
        except Exception:  # the broker checks the transaction later
            continue

    rocketmq.clock.advance("5m")

    assert {key for each in rocketmq.messages("orders") for key in each.keys} == shop.accepted
