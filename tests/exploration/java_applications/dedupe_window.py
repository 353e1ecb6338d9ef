"""Wrong dedupe window, in Java: billing forgets an order at its first duplicate. Only a second one shows the bug.

`tests/exploration/test_java_applications.py` explores the tests of this module, and states which version must fail.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from java_application import JavaApplication
from rocketmq_testkit import Emulator, faults

BROKEN, REPAIRED = "remember-until-duplicate", "remember"
"""Names of two versions of the application in OrderConsumer.java."""
FAILED_ACKNOWLEDGEMENT = faults.respond("INTERNAL_SERVER_ERROR", operation="AckMessage")


@pytest.fixture
def billing(rocketmq: Emulator, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[JavaApplication]:
    rocketmq.topic("orders", queues=1)
    application = JavaApplication(rocketmq, request.param, "billing", tmp_path)
    application.start()
    yield application
    application.kill()


def charges_once(rocketmq: Emulator, billing: JavaApplication) -> None:
    rocketmq.topic("orders").send(b"two teas", keys=["order-1"])
    rocketmq.assert_no_loss("orders", group="billing", within="10m")
    billing.stop()
    assert billing.orders == ["order-1"]


@pytest.mark.parametrize("billing", [BROKEN], indirect=True, ids=["Broken"])
@pytest.mark.rocketmq_explore(group="billing", depth=1, faults=[FAILED_ACKNOWLEDGEMENT])
def test_one_fault_is_survived(rocketmq: Emulator, billing: JavaApplication) -> None:
    charges_once(rocketmq, billing)


@pytest.mark.parametrize("billing", [BROKEN, REPAIRED], indirect=True, ids=["Broken", "Repaired"])
@pytest.mark.rocketmq_explore(group="billing", depth=2, faults=[FAILED_ACKNOWLEDGEMENT])
def test_billing_charges_once(rocketmq: Emulator, billing: JavaApplication) -> None:
    charges_once(rocketmq, billing)
