"""Real SDKs after their emulator has restored a snapshot, on the same ports."""

from collections.abc import Callable

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, DriverError, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from wait_budget import SECONDS


@pytest.mark.parametrize("sdk", ["python", "java-remoting"])
def test_a_producer_sends_behind_the_messages_of_the_snapshot(sdk: str) -> None:
    """A producer connects again; its message follows that of the snapshot, and later messages are deleted."""
    with (
        Emulator(topics=["orders:NORMAL:1"]) as emulator,
        start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver,
    ):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"kept")
        saved = emulator.snapshot()
        driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"undone")
        emulator.restore(saved)
        assert [message.body for message in emulator.messages("orders")] == [b"kept"]
        for _ in range(10):  # the first sends may fail, because the restore closed the producer's connections
            try:
                driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"after")
                break
            except DriverError:
                continue
        assert [message.body for message in emulator.messages("orders")] == [b"kept", b"after"]


@pytest.mark.parametrize("sdk", ["python", "node"])
def test_a_consumer_receives_after_the_restore(sdk: str) -> None:
    """A consumer sends its settings again on a new connection, and receives a message sent after the restore."""

    def received(text: bytes) -> Callable[[Fields], bool]:
        return lambda event: event["ev"] == "msg" and body(event["msg"]) == text

    with Emulator(topics=["orders:NORMAL:1"]) as emulator:
        emulator.group("billing")
        saved = emulator.snapshot()
        with start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
            subscription = {"orders": {"expr": "*", "type": "TAG"}}
            driver.call("push", as_="c", group="billing", sub=subscription, mode="concurrent", from_="first")
            emulator.topics["orders"].send(b"before")
            driver.wait_for_event(received(b"before"), timeout=SECONDS)
            emulator.restore(saved)
            emulator.topics["orders"].send(b"after")
            driver.wait_for_event(received(b"after"), timeout=SECONDS)
