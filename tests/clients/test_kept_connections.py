"""Unmodified SDKs while their emulator is reset and keeps their connections."""

from collections.abc import Iterator

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, DriverError, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.host.host import Host
from sdks import ALL, GRPC_PUSH, PUSH
from wait_budget import SECONDS


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """An emulator for the whole module, which each test resets."""
    with Emulator(topics=["orders:NORMAL:1"]) as running:
        yield running


@pytest.mark.parametrize("sdk", ALL)
def test_a_producer_sends_to_the_emptied_broker_without_an_error(emulator: Emulator, sdk: str) -> None:
    """The next message of a connected producer is the first one of the emptied queue."""
    emulator.reset()
    with start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"before")
        emulator.reset(keep_connections=True)
        errors = 0
        for _ in range(10):
            try:
                driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"after")
                break
            except DriverError:
                errors += 1
        assert [(message.body, message.queue_offset) for message in emulator.messages("orders")] == [(b"after", 0)]
        assert errors == 0


@pytest.mark.parametrize("sdk", PUSH)
def test_a_consumer_receives_from_the_emptied_broker(emulator: Emulator, sdk: str) -> None:
    """A gRPC consumer receives all new messages; a pulling consumer only those from its own offset on.

    The pulling consumer had consumed one message, so it continues at offset 1 of the emptied queue.
    """
    emulator.reset()
    with start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
        subscription = {"orders": {"expr": "*", "type": "TAG"}}
        emulator.group("billing")
        driver.call("push", as_="c", group="billing", sub=subscription, mode="concurrent", from_="first")
        emulator.topics["orders"].send(b"before")
        driver.wait_for_event(lambda event: event["ev"] == "msg" and body(event["msg"]) == b"before", timeout=SECONDS)

        def empty_and_send(host: Host) -> None:
            host.reset(keep_connections=True)
            host.direct.create_group("billing")
            for text in (b"at offset 0", b"at offset 1"):
                host.direct.send("orders", text)

        emulator.run_on_loop(empty_and_send)
        received: set[bytes] = set()

        def is_last(event: Fields) -> bool:
            if event["ev"] == "msg":
                received.add(body(event["msg"]))
            return b"at offset 1" in received and (b"at offset 0" in received or sdk not in GRPC_PUSH)

        driver.wait_for_event(is_last, timeout=SECONDS)
        assert (b"at offset 0" in received) == (sdk in GRPC_PUSH)
