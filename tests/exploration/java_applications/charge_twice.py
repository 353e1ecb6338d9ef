"""Non-idempotent handler, in Java: billing charges an order each time that the broker delivers it.

`tests/exploration/test_java_applications.py` explores the tests of this module, and states which version must fail.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from java_application import JavaApplication
from rocketmq_testkit import Emulator, faults

BROKEN, REPAIRED = "charge-each-delivery", "charge-each-order"
"""Names of two versions of the application in OrderConsumer.java."""


@pytest.fixture(params=[BROKEN, REPAIRED], ids=["Broken", "Repaired"])
def billing(rocketmq: Emulator, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[JavaApplication]:
    rocketmq.topic("orders", queues=1)
    application = JavaApplication(rocketmq, request.param, "billing", tmp_path)
    application.start()
    yield application
    application.kill()


@pytest.mark.rocketmq_explore(group="billing", faults=[faults.respond("INTERNAL_SERVER_ERROR", operation="AckMessage")])
def test_billing_charges_once(rocketmq: Emulator, billing: JavaApplication) -> None:
    rocketmq.topic("orders").send(b"two teas", keys=["order-1"])

    rocketmq.assert_no_loss("orders", group="billing", within="10m")

    billing.stop()
    assert billing.orders == ["order-1"]
