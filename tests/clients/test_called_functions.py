"""A rule calls a function of the test, which kills a real consumer at its first acknowledgement."""

from contextlib import ExitStack

import pytest
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, body, start
from rocketmq_testkit.fixtures import Emulator
from wait_budget import SECONDS, until


@pytest.mark.parametrize("sdk", ["python", "java-grpc"])
def test_a_consumer_killed_before_its_acknowledgement_is_stored_loses_no_message(sdk: str) -> None:
    """The broker stores the acknowledgement that had arrived, and redelivers the other message to a new consumer."""
    with ExitStack() as stack, Emulator(topics=["orders:NORMAL:1"]) as emulator:
        emulator.group("billing")
        for text in (b"one", b"two"):
            emulator.topic("orders").send(text)
        consumers = [_started(stack, emulator, sdk)]

        def crash() -> None:
            consumers[0].kill()
            consumers.append(_started(stack, emulator, sdk))

        rule = emulator.faults.add(faults.call(crash, operation="AckMessage", times=1, timeout="60s"))
        taken = consumers[0].call("receive", on="c", max=2, invisible_ms=30_000, timeout=SECONDS)["messages"]
        assert [body(each) for each in taken] == [b"one", b"two"]
        with pytest.raises(Exception, match=r".") as lost:
            consumers[0].call("ack", on="c", h=[taken[0]["h"]])
        assert rule.fired == 1, lost.value
        until(lambda: not emulator.run_on_loop(lambda host: host.running_calls()), "the function has returned")
        emulator.clock.advance("31s")
        again = consumers[1].call("receive", on="c", max=2, invisible_ms=30_000, timeout=SECONDS)["messages"]
        assert [body(each) for each in again] == [b"two"]
        assert emulator.remove_test_faults() == []


def _started(stack: ExitStack, emulator: Emulator, sdk: str) -> Driver:
    driver = stack.enter_context(start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)))
    subscription = {"orders": {"expr": "*", "type": "TAG"}}
    driver.call("simple", as_="c", await_ms=5000, group="billing", sub=subscription)
    return driver
