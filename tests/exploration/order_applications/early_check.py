"""A check that arrives before the commit: the shop takes the order for abandoned, cancels it, and sends it as well.

A broker carries out a commit after a rollback, because it looks at the half message only (EndTransactionProcessor).
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from rocketmq import Producer, TransactionChecker, TransactionResolution
from rocketmq_testkit import Emulator
from sdk_worker import configuration, message


class Broken:
    """Lists an order as accepted after its commit. A check of an order that is not listed cancels the order."""

    def __init__(self, emulator: Emulator) -> None:
        self.accepted: set[str] = set()
        self.cancelled: set[str] = set()
        shop = self

        class Checker(TransactionChecker):  # type: ignore[misc]  # the SDK has no types
            def check(self, received: Any) -> Any:
                return shop.resolution(next(iter(received.keys)))

        self.producer = Producer(configuration(emulator), ["orders"], checker=Checker())

    def resolution(self, order: str) -> Any:
        if order in self.accepted:
            return TransactionResolution.COMMIT
        self.cancelled.add(order)
        return TransactionResolution.ROLLBACK

    def order(self, name: str) -> None:
        transaction = self.producer.begin_transaction()
        self.producer.send(message("orders", name), transaction)
        self.commit(transaction, name)

    def commit(self, transaction: Any, name: str) -> None:
        with suppress(Exception):  # if the commit fails, the broker checks the transaction later
            transaction.commit()
        self.accepted.add(name)


class Repaired(Broken):
    """Lists an order as accepted before its commit."""

    def commit(self, transaction: Any, name: str) -> None:
        self.accepted.add(name)
        with suppress(Exception):
            transaction.commit()


@pytest.fixture(params=[Broken, Repaired])
def shop(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    rocketmq.topic("orders", type="TRANSACTION", queues=1)
    found: Broken = request.param(rocketmq)
    found.producer.startup()
    yield found
    found.producer.shutdown()


@pytest.mark.rocketmq_explore(orders=True)
def test_an_order_is_either_sent_or_cancelled(rocketmq: Emulator, shop: Broken) -> None:
    shop.order("order-1")

    rocketmq.clock.advance("5m")

    sent = {key for each in rocketmq.messages("orders") for key in each.keys}
    assert sent == {"order-1"}
    assert not shop.cancelled
