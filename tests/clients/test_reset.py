"""Real SDKs after a reset of their emulator, which closes their connections."""

from collections.abc import Iterator

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, DriverError, body, start
from rocketmq_testkit.fixtures import Emulator
from sdks import ALL, GRPC_PUSH
from wait_budget import SECONDS


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """An emulator for the whole module, which each test resets."""
    with Emulator(topics=["orders:NORMAL:2"]) as running:
        yield running


@pytest.mark.parametrize("sdk", ALL)
def test_a_producer_sends_again_after_the_reset(emulator: Emulator, sdk: str) -> None:
    """A producer connects again, and its first successful send is the first message of the queue."""
    emulator.reset()
    with start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"before")
        emulator.reset()
        assert [len(topic.messages) for topic in emulator.topics.values()] == [0]
        for _ in range(10):
            try:
                driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"after")
                break
            except DriverError:
                continue
        assert [(message.body, message.queue_offset) for message in emulator.messages("orders")] == [(b"after", 0)]


@pytest.mark.parametrize("sdk", GRPC_PUSH)
def test_a_consumer_receives_again_after_the_reset(emulator: Emulator, sdk: str) -> None:
    """A gRPC consumer sends its settings again on a new connection, and receives."""
    emulator.reset()
    with start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
        subscription = {"orders": {"expr": "*", "type": "TAG"}}
        emulator.group("billing")
        driver.call("push", as_="c", group="billing", sub=subscription, mode="concurrent", from_="first")
        emulator.topics["orders"].send(b"before")
        driver.wait_for_event(lambda event: event["ev"] == "msg" and body(event["msg"]) == b"before", timeout=SECONDS)
        emulator.reset()
        emulator.group("billing")
        emulator.topics["orders"].send(b"after")
        driver.wait_for_event(lambda event: event["ev"] == "msg" and body(event["msg"]) == b"after", timeout=SECONDS)
