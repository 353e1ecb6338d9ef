"""Jumps directly after the start of a push consumer, with real SDKs that keep their own long intervals."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, body, start
from rocketmq_testkit.fixtures import Emulator

SDKS = ("java-remoting", "go-remoting", "java-grpc", "python")
WAIT = "90s"
ATTEMPTS = 17


@dataclass
class Started:
    """An emulator, and an SDK that keeps its own intervals."""

    emulator: Emulator
    driver: Driver

    def push(self, **script: Any) -> None:
        """Start a push consumer without waiting for it."""
        fields: dict[str, Any] = {"mode": "concurrent", "from": "first", **script}
        self.driver.call("push", as_="g", group="g", sub={"orders": {"expr": "*", "type": "TAG"}}, **fields)

    def received(self) -> list[bytes]:
        self.driver.call("hello")  # the reply follows all earlier events
        return [body(message) for message in self.driver.messages("g")]


@contextlib.contextmanager
def started(sdk: str, profile: Literal["faithful", "fast"]) -> Iterator[Started]:
    with Emulator(profile=profile, topics=["orders:NORMAL:1"]) as emulator:
        addresses = Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)
        with start(sdk, addresses, slow=True) as driver:
            yield Started(emulator, driver)


@pytest.mark.parametrize(("sdk", "profile"), [*((sdk, "fast") for sdk in SDKS), ("java-remoting", "faithful")])
def test_a_message_is_consumed_within_four_jumps_after_a_start(sdk: str, profile: Literal["faithful", "fast"]) -> None:
    """A message is consumed within four jumps after a start: the first waits for the consumer's queue and response."""
    with started(sdk, profile) as now:
        now.push()
        now.emulator.topic("orders").send(b"x")
        for _ in range(4):
            now.emulator.clock.advance("31s", wait=WAIT)
        assert now.received() == [b"x"]


@pytest.mark.parametrize("sdk", SDKS)
def test_a_message_that_always_fails_becomes_a_dead_letter(sdk: str) -> None:
    """With the profile `fast`, a message that always fails is delivered seventeen times and becomes a dead letter.

    The consumer reads its retry topic from its start.
    """
    with started(sdk, "fast") as now:
        now.push(fail={"*": 1000})
        now.emulator.topic("orders").send(b"x")
        now.emulator.clock.advance_until(lambda: now.emulator.dlq("g"), limit="6h", wait=WAIT)
        assert now.received() == [b"x"] * ATTEMPTS
        queried = [entry for entry in now.emulator.journal if entry.label == "GET_ROUTEINFO_BY_TOPIC"]
        assert not [
            entry for entry in queried if "%RETRY%g" in repr(entry.subject) and "TOPIC_NOT_EXIST" in repr(entry)
        ]


def test_a_jump_waits_until_the_sdk_finds_its_retry_topic() -> None:
    """With the profile `faithful`, a jump waits until the SDK has found its retry topic, or its error names the topic.

    The SDK queries the topic at an interval of its own clock.
    """
    with started("java-remoting", "faithful") as now:
        now.push(fail={"*": 1000})
        now.emulator.topic("orders").send(b"x")
        now.emulator.clock.advance_until(lambda: now.emulator.dlq("g"), limit="6h", wait=WAIT)
        assert now.received() == [b"x"] * ATTEMPTS
