"""Unmodified SDKs that consume from a fork and from its parent."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from wait_budget import SECONDS


@pytest.fixture(scope="module")
def parent() -> Iterator[Emulator]:
    """An emulator with two messages that no group has consumed."""
    with Emulator(topics=["orders:NORMAL:1"]) as emulator:
        for text in (b"first", b"second"):
            emulator.topics["orders"].send(text)
        yield emulator


@pytest.mark.parametrize("sdk", ["python", "java-remoting"])
def test_a_consumer_of_a_fork_and_one_of_its_parent_are_independent(parent: Emulator, sdk: str) -> None:
    """Both receive the messages sent before the fork, and each only the later message of its own emulator."""
    parent.reset()
    for text in (b"first", b"second"):
        parent.topics["orders"].send(text)
    parent.group("billing")
    with parent.fork() as fork, ExitStack() as drivers:
        for emulator, new in ((fork, b"of the fork"), (parent, b"of the parent")):
            addresses = Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)
            driver = drivers.enter_context(start(sdk, addresses))
            subscription = {"orders": {"expr": "*", "type": "TAG"}}
            driver.call("push", as_="c", group="billing", sub=subscription, mode="concurrent", from_="first")
            emulator.topics["orders"].send(new)
            received: list[bytes] = []

            expected = {b"first", b"second", new}

            def is_last(event: Fields, received: list[bytes] = received, expected: set[bytes] = expected) -> bool:
                if event["ev"] == "msg":
                    received.append(body(event["msg"]))  # in any order: the consumer has several threads
                return expected <= {*received}

            driver.wait_for_event(is_last, timeout=SECONDS)
            assert {*received} == expected
        assert [len(each.messages("orders")) for each in (fork, parent)] == [3, 3]
