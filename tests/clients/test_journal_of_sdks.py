"""The journal of unmodified SDKs: the entries of one request, one client and one message can be joined."""

import time
from collections.abc import Iterator

import pytest
from rocketmq_testkit.fixtures import Emulator
from shared_drivers import EVERYTHING, SharedDrivers

SDKS = ("go-remoting", "python")
SECONDS = 30.0
WAITING = {"go-remoting": "PullMessage", "python": "Notification"}
"""SDK -> operation that waits for messages. The proxy sends a notification request, and pops after its response."""
DELIVERING = {"go-remoting": "PullMessage", "python": "PopMessage"}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with Emulator(topics=[f"orders-{sdk}:NORMAL:1" for sdk in SDKS]) as running:
        yield running


@pytest.fixture(scope="module")
def drivers(emulator: Emulator) -> Iterator[SharedDrivers]:
    with SharedDrivers(emulator, *SDKS) as running:
        yield running


def until_a_request_waits(emulator: Emulator, topic: str, operation: str) -> None:
    """Wait until a consumer's request for a topic waits at the broker."""
    end = time.monotonic() + SECONDS
    while not emulator.journal.where(topic=topic, event="parked", operation=operation):
        assert time.monotonic() < end, emulator.journal.where(topic=topic).lines()


@pytest.mark.parametrize("sdk", SDKS)
def test_entries_of_an_sdk_are_joined_by_request_client_and_message(
    emulator: Emulator, drivers: SharedDrivers, sdk: str
) -> None:
    """The entries of a waiting request and of its outcome have one request id; a message id finds each step.

    All requests of the consumer have the client id under which it registered.
    """
    topic, group, driver = f"orders-{sdk}", f"warehouse-{sdk}", drivers[sdk]
    emulator.group(group)
    driver.call("producer", as_="producer", topics=[topic], group=f"{group}-p")
    driver.call("push", as_="consumer", group=group, sub={topic: EVERYTHING}, mode="concurrent")
    until_a_request_waits(emulator, topic, WAITING[sdk])
    sent = driver.call("send", on="producer", topic=topic, body=b"two teas")
    driver.wait_for_event(lambda event: event["of"] == "consumer", SECONDS)
    [client] = [member.id for member in emulator.groups[group].members]

    rows = emulator.journal.where(message=sent["id"]).rows()
    assert {"SendMessage", DELIVERING[sdk]} <= {row.operation for row in rows}
    delivery = next(row for row in rows if row.operation == DELIVERING[sdk])
    assert (delivery.client, delivery.group, delivery.messages) == (client, group, (sent["id"],))
    of_request = emulator.journal.where(request=delivery.request).rows()
    assert [(row.event, row.operation) for row in of_request if row.event == "parked"] == [("parked", WAITING[sdk])]
    assert of_request[-1] == delivery
    assert {row.client for row in emulator.journal.where(connection=delivery.connection).rows()} == {client}
