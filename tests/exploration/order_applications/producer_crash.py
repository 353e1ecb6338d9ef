"""A crash of the producer between check and commit: the shop takes an accepted order for abandoned.

The shop survives each other order of check, commit and crash of the producer or the broker. It is a process of its own,
and a crash kills it. The exploration calls `crash` where it likes; no criteria limit it to the transaction.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from order_process import OrderProcess
from rocketmq_testkit import Emulator, faults

BROKEN, REPAIRED = "broken", "repaired"
RUNNING: list[OrderProcess] = []


def crash() -> None:
    RUNNING[-1].crash()


@pytest.fixture
def shop(rocketmq: Emulator, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[OrderProcess]:
    rocketmq.topic("orders", type="TRANSACTION", queues=1)
    process = OrderProcess(rocketmq, request.param, tmp_path)
    RUNNING.append(process)
    process.start()
    yield process
    process.stop()


def order_once(rocketmq: Emulator, shop: OrderProcess) -> None:
    shop.order("order-1")

    rocketmq.clock.advance("5m")

    assert shop.sent == shop.accepted


@pytest.mark.parametrize("shop", [BROKEN, REPAIRED], indirect=True, ids=["Broken", "Repaired"])
@pytest.mark.rocketmq_explore(orders=True, faults=[faults.call(crash, timeout="30s")])
def test_each_accepted_order_is_sent(rocketmq: Emulator, shop: OrderProcess) -> None:
    order_once(rocketmq, shop)


@pytest.mark.parametrize("shop", [BROKEN], indirect=True, ids=["Broken"])
@pytest.mark.rocketmq_explore(
    depth=2,
    faults=[
        faults.call(crash, timeout="30s", operation="EndTransaction"),
        faults.respond("INTERNAL_SERVER_ERROR", operation="EndTransaction"),
    ],
)
def test_faults_without_another_order_are_survived(rocketmq: Emulator, shop: OrderProcess) -> None:
    order_once(rocketmq, shop)
