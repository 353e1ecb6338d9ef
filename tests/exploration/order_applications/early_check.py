"""A check that arrives before the commit: the shop takes the order for abandoned, cancels it, and sends it as well.

A broker executes a commit after a rollback, because it reads only the half message (EndTransactionProcessor).
"""

from collections.abc import Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator
from transaction_shop import Shop, running


class Broken(Shop):
    """Lists an order as accepted after its commit. A check of an order that is not listed cancels the order."""

    def commit(self, transaction: Any, name: str) -> None:
        if self.try_to_commit(transaction) or name not in self.cancelled:
            self.accepted.add(name)


class Repaired(Shop):
    """Lists an order as accepted before its commit."""

    def commit(self, transaction: Any, name: str) -> None:
        self.accepted.add(name)
        self.try_to_commit(transaction)


@pytest.fixture(params=[Broken, Repaired])
def shop(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Shop]:
    yield from running(request.param, rocketmq)


@pytest.mark.rocketmq_explore(orders=True)
def test_an_order_is_either_sent_or_cancelled(rocketmq: Emulator, shop: Shop) -> None:
    shop.order("order-1")

    rocketmq.clock.advance("5m")

    assert shop.sent == shop.accepted
    assert shop.sent.isdisjoint(shop.cancelled)
