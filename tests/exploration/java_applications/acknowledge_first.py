"""Acknowledging before work, in Java: an acknowledged order is lost if the process is killed before its work.

`tests/exploration/test_java_applications.py` explores the test of this module, and states which version must fail.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from java_application import JavaApplication
from rocketmq_testkit import Emulator, faults

BROKEN, REPAIRED = "acknowledge-then-ship", "ship-then-acknowledge"
"""Names of two versions of the application in OrderConsumer.java."""
RUNNING: list[JavaApplication] = []
"""All applications that tests have started: a fault calls `crash` without arguments, and it crashes the last one."""


def crash() -> None:
    """Kill the process of the application, and start it again."""
    RUNNING[-1].crash()


@pytest.fixture(params=[BROKEN, REPAIRED], ids=["Broken", "Repaired"])
def shipping(rocketmq: Emulator, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[JavaApplication]:
    rocketmq.topic("orders", queues=1)
    application = JavaApplication(rocketmq, request.param, "shipping", tmp_path)
    RUNNING.append(application)
    application.start()
    yield application
    application.kill()


@pytest.mark.rocketmq_explore(group="shipping", faults=[faults.call(crash, operation="AckMessage", timeout="30s")])
def test_each_order_is_shipped(rocketmq: Emulator, shipping: JavaApplication) -> None:
    rocketmq.topic("orders").send(b"two teas", keys=["order-1"])

    rocketmq.assert_no_loss("orders", group="shipping", within="10m")

    shipping.stop()
    assert set(shipping.orders) == {"order-1"}
