"""Real consumers with an emulator that starts from a snapshot of another one."""

from pathlib import Path

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.host.host import Host
from sdks import PUSH
from wait_budget import SECONDS, until

pytestmark = pytest.mark.sampled

ORDERS: Fields = {"sub": {"orders": {"expr": "*", "type": "TAG"}}, "mode": "concurrent", "from": "first"}


def started(emulator: Emulator, sdk: str) -> Driver:
    return start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint))


def until_committed(emulator: Emulator, count: int) -> None:
    """Wait until the group has committed `count` messages: a client commits some seconds after its listener returns."""

    def of_group(host: Host) -> int:
        offsets = host.engine.brokers[0].offsets
        return sum(max(offsets.query("billing", "orders", queue), 0) for queue in range(2))

    until(lambda: emulator.run_on_loop(of_group) == count, "the client has committed")


def received(driver: Driver) -> list[bytes]:
    """Return the bodies that the consumer received, sorted."""
    return sorted(body(event["msg"]) for event in driver.events("c") if event["ev"] == "msg")


@pytest.mark.parametrize("sdk", PUSH)
def test_a_consumer_continues_at_the_offset_of_the_snapshot(sdk: str, tmp_path: Path) -> None:
    """A consumer of the restored emulator receives the messages that were not consumed before, and new ones."""
    with Emulator(topics=["orders:NORMAL:2"]) as emulator, started(emulator, sdk) as driver:
        emulator.group("billing")
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        driver.call("push", as_="c", group="billing", **ORDERS)
        for number in range(4):
            driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"%d" % number)
        driver.wait_until(lambda _: len(received(driver)) == 4, SECONDS)
        until_committed(emulator, 4)
        # The offset may be committed before the last acknowledgement, and messages that a leaving client has not
        # acknowledged are redelivered. A jump waits for these acknowledgements.
        emulator.clock.advance("1ms")
        driver.call("close", on="c", timeout=SECONDS)
        for number in range(4, 7):
            driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"%d" % number)
        snapshot = emulator.snapshot(tmp_path / "shop.snapshot")
    with Emulator(snapshot=snapshot) as emulator, started(emulator, sdk) as driver:
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"7")
        driver.call("push", as_="c", group="billing", **ORDERS)
        driver.wait_until(lambda _: len(received(driver)) == 4, SECONDS)
        assert received(driver) == [b"4", b"5", b"6", b"7"]
        assert [message.body for message in emulator.dlq("billing")] == []
