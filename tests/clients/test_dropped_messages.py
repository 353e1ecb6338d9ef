"""Real SDKs whose next message was deleted from a full store while no consumer was running."""

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from sdks import PUSH

pytestmark = pytest.mark.sampled

SECONDS = 60.0
"""Timeout. SDKs of the remoting protocol wait ten seconds before they continue at another offset."""
SMALL = {"storeMaxBytes": 1024 * 1024, "mappedFileSizeCommitLog": 256 * 1024, "maxMessageSize": 64 * 1024}
FILLER = b"x" * 30_000
COUNT = 60


def until_received(driver: Driver, consumer: str, expected: set[bytes]) -> list[bytes]:
    """Wait until a push consumer has received all of these; return the first words of all received bodies."""

    def given() -> list[bytes]:
        events = [event for event in driver.events(consumer) if event["ev"] == "msg"]
        return [body(event["msg"]).split()[0] for event in events]

    driver.wait_until(lambda _: expected <= set(given()), SECONDS)
    return given()


@pytest.mark.parametrize("sdk", PUSH)
def test_a_consumer_whose_messages_were_deleted_continues_with_the_first_kept_one(sdk: str) -> None:
    """A consumer whose next messages were deleted continues with the first remaining message.

    Consumers of the remoting protocol receive the new offset; gRPC consumers notice nothing.
    """
    subscription: Fields = {"sub": {"orders": {"expr": "*", "type": "TAG"}}, "mode": "concurrent", "from": "first"}
    with Emulator(topics=["orders:NORMAL:1"], config=SMALL) as emulator:
        emulator.group("billing")
        topic = emulator.topic("orders")
        addresses = Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)
        with start(sdk, addresses) as driver:
            driver.call("push", as_="c", group="billing", **subscription)
            topic.send(b"first")
            until_received(driver, "c", {b"first"})
            driver.call("close", on="c", timeout=SECONDS)
        for number in range(COUNT):
            topic.send(b"%d " % number + FILLER)
        kept = [message.body.split()[0] for message in topic.messages]
        assert 0 < len(kept) < COUNT
        with start(sdk, addresses) as driver:
            driver.call("push", as_="d", group="billing", **subscription)
            assert sorted(set(until_received(driver, "d", set(kept)))) == sorted(kept)
