"""Real gRPC SDKs that receive new settings while they run, and consumers that apply them."""

import pytest
from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from sdks import GRPC_PUSH
from wait_budget import SECONDS, until

AGAIN = {
    "settingsPushAgainMillis": " ".join(str(500 * number) for number in range(1, 6 * int(SECONDS))),
    "pushedConsumerBackoff": "",
}
"""Responses to settings that are pushed again, with the retry policy of the group as upstream does.

An SDK sends its settings every five minutes and receives the response then. Here it receives responses as if it had
sent them.
"""
CUSTOMIZED = '{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[1000]}}'
EXPONENTIAL = '{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":1000,"max":1000,"multiplier":1}}'
POLICIES = {"node": EXPONENTIAL}
"""Node's SDK applies only this policy."""
TAKING = tuple(sdk for sdk in GRPC_PUSH if sdk != "python")
"""Push consumers that apply new settings.

Python's push consumer (5.1.2) stops reading its telemetry stream after the first settings, because of an error of its
own if metrics are disabled.
"""
MESSAGES_MAX = 20
ORDERS: Fields = {"sub": {"orders": {"expr": "*", "type": "TAG"}}, "mode": "orderly", "fail": {"*": 1000}}


def attempts_of(driver: Driver, content: bytes) -> int:
    """Return the number of attempts of a message in the listener."""
    return sum(event["ev"] == "msg" and body(event["msg"]) == content for event in driver.events("c"))


@pytest.mark.parametrize("sdk", TAKING)
def test_a_running_orderly_consumer_applies_the_changed_retries_of_its_group(sdk: str) -> None:
    """A running consumer applies a lower number of retries after an administrator has changed its group."""
    with (
        Emulator(topics=["orders:FIFO:1"], config=AGAIN) as emulator,
        start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver,
    ):
        broker = next(iter(emulator.brokers.values()))
        policy = POLICIES.get(sdk, CUSTOMIZED)

        def set_retries(retries: int) -> None:
            words = ("-g", "billing", "-b", broker, "-o", "true", "-r", str(retries), "-p", policy)
            assert "success" in mqadmin(emulator.namesrv, "updateSubGroup", *words)

        def until_dead(content: bytes) -> int:
            """Send a message and wait until it is a dead letter; return the number of its attempts."""
            emulator.topic("orders").send(content, message_group="g")
            until(
                lambda: content in [letter.body for letter in emulator.dlq("billing")], f"{content!r} is a dead letter"
            )
            driver.call("hello")  # the reply follows all earlier events
            return attempts_of(driver, content)

        set_retries(3)
        driver.call("push", as_="c", group="billing", **ORDERS)
        assert until_dead(b"before") == 4
        set_retries(1)
        # The first message with fewer attempts depends on the arrival of the new settings.
        found = (until_dead(b"after %d" % number) for number in range(MESSAGES_MAX))
        assert next((attempts for attempts in found if attempts != 4), None) == 2
