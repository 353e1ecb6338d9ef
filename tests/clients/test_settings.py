"""Real SDKs of the gRPC protocol that are sent new settings while they work: their consumers go by them."""

import pytest
from patience import SECONDS, until
from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from sdks import GRPC_PUSH

AGAIN = {
    "settingsPushAgainMillis": " ".join(str(500 * number) for number in range(1, 6 * int(SECONDS))),
    "pushedConsumerBackoff": "",
}
"""An SDK sends its settings anew every five minutes, and is answered then; here it is answered as if it had, and as by
upstream with what its group says."""
CUSTOMIZED = '{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[1000]}}'
EXPONENTIAL = '{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":1000,"max":1000,"multiplier":1}}'
POLICIES = {"node": EXPONENTIAL}
"""Node's SDK goes by no other one."""
TAKING = tuple(sdk for sdk in GRPC_PUSH if sdk != "python")
"""Python's push consumer (5.1.2) reads nothing of the stream after its first settings: where no metrics are wanted, an
error of its own ends the reading then."""
MESSAGES_MAX = 20
ORDERS: Fields = {"sub": {"orders": {"expr": "*", "type": "TAG"}}, "mode": "orderly", "fail": {"*": 1000}}


def attempts_of(driver: Driver, content: bytes) -> int:
    """How often the listener was given a message."""
    return sum(event["ev"] == "msg" and body(event["msg"]) == content for event in driver.events("c"))


@pytest.mark.parametrize("sdk", TAKING)
def test_a_consumer_in_order_gives_up_after_as_many_attempts_as_its_group_has_now(sdk: str) -> None:
    """An administrator gives the group of a consumer that runs fewer retries than it had when that began."""
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
            """The attempts that a message has had by the time it is a dead letter."""
            emulator.topic("orders").send(content, message_group="g")
            until(
                lambda: content in [letter.body for letter in emulator.dlq("billing")], f"{content!r} is a dead letter"
            )
            driver.call("hello")  # all that it has told before is read when that is answered
            return attempts_of(driver, content)

        set_retries(3)
        driver.call("push", as_="c", group="billing", **ORDERS)
        assert until_dead(b"before") == 4
        set_retries(1)
        # Which is the first one that it gives up earlier depends on when its settings come.
        found = (until_dead(b"after %d" % number) for number in range(MESSAGES_MAX))
        assert next((attempts for attempts in found if attempts != 4), None) == 2
