"""A crash of the broker between check and commit: the commit fails, but the answer to the check has committed already.

The shop concludes from an earlier check that the commit never arrived. It survives each other order of check, commit
and crash.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator, faults
from transaction_shop import Shop, running


class Broken(Shop):
    """Accepts orders before their commit. If the commit fails, it cancels orders that were checked."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator)
        self.checked: set[str] = set()

    def resolution(self, order: str) -> Any:
        self.checked.add(order)
        return super().resolution(order)

    def commit(self, transaction: Any, name: str) -> None:
        self.accepted.add(name)
        if not self.try_to_commit(transaction) and self.is_lost(name):
            self.cancelled.add(name)

    def is_lost(self, order: str) -> bool:
        return order in self.checked


class Repaired(Broken):
    """Treats an order as sent if it has answered a check."""

    def is_lost(self, order: str) -> bool:
        return False


@pytest.fixture(params=[Broken, Repaired])
def shop(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Shop]:
    yield from running(request.param, rocketmq)


@pytest.mark.rocketmq_explore(orders=True)
def test_an_order_is_sent_unless_it_is_cancelled(rocketmq: Emulator, shop: Shop) -> None:
    orders_once(rocketmq, shop)


@pytest.mark.parametrize("shop", [Broken], indirect=True)
@pytest.mark.rocketmq_explore(
    depth=2,
    never={"operation": "EndTransaction", "nth": 2},  # a crash at the second end of the transaction is another bug
    faults=[
        faults.restart_broker(kill=True, operation="EndTransaction"),
        faults.drop_push(operation="CheckTransactionState"),
        faults.duplicate_push(operation="CheckTransactionState"),
    ],
)
def test_faults_without_another_order_are_survived(rocketmq: Emulator, shop: Shop) -> None:
    orders_once(rocketmq, shop)


def orders_once(rocketmq: Emulator, shop: Shop) -> None:
    shop.order("order-1")

    rocketmq.clock.advance("5m")

    assert shop.sent == shop.accepted - shop.cancelled
