"""SDKs with races at their start, which a fast server makes more likely, start reliably with either profile."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, start
from rocketmq_testkit.fixtures import Emulator

STARTS = 100


class Server(Protocol):
    """The methods of a server that the tests use."""

    def create_topic(self, name: str) -> None: ...

    def create_group(self, name: str) -> None: ...

    def start(self, sdk: str) -> Driver: ...


@dataclass(frozen=True)
class OfProfile:
    """An emulator with a profile: `fast` is that of fixtures, `faithful` that of the command and the image."""

    emulator: Emulator

    def create_topic(self, name: str) -> None:
        self.emulator.topic(name)

    def create_group(self, name: str) -> None:
        self.emulator.group(name)

    def start(self, sdk: str) -> Driver:
        return start(sdk, Addresses(namesrv=self.emulator.namesrv, endpoint=self.emulator.endpoint))


@pytest.fixture(params=["fast", "faithful"])
def either(request: pytest.FixtureRequest) -> Iterator[Server]:
    """An emulator with either profile."""
    with Emulator(profile=request.param) as emulator:
        yield OfProfile(emulator)


def test_100_node_producers_of_three_topics_start_in_a_row(either: Server) -> None:
    """100 Node producers with three topics each start in a row; with the real proxy about a third of them hang."""
    topics = [f"node-start-{n}" for n in range(3)]
    for topic in topics:
        either.create_topic(topic)
    with either.start("node") as driver:
        for number in range(STARTS):
            driver.call("producer", timeout=15, as_=f"p{number}", topics=topics, at_once=True)
            driver.call("close", on=f"p{number}")


def test_100_node_consumers_of_three_topics_start_in_a_row(either: Server) -> None:
    topics = [f"node-consumer-{n}" for n in range(3)]
    for topic in topics:
        either.create_topic(topic)
    either.create_group("node-consumer")
    subscription = {topic: {"expr": "*", "type": "TAG"} for topic in topics}
    with either.start("node") as driver:
        for number in range(STARTS):
            driver.call("simple", timeout=15, as_=f"c{number}", group="node-consumer", sub=subscription, await_ms=5000)
            driver.call("close", on=f"c{number}")


def test_100_python_consumers_receive_before_their_settings_arrive(either: Server) -> None:
    """100 Python consumers in a row may receive before the server has seen their settings."""
    either.create_topic("python-start")
    either.create_group("python-start")
    subscription = {"python-start": {"expr": "*", "type": "TAG"}}
    with either.start("python") as driver:
        driver.call("producer", as_="p", topics=["python-start"])
        for number in range(STARTS):
            driver.call("send", on="p", topic="python-start", body=f"{number}".encode())
            name = f"c{number}"
            driver.call("simple", as_=name, group="python-start", sub=subscription, await_ms=5000)
            received = driver.call("receive", on=name, max=1, invisible_ms=30_000)["messages"]
            assert len(received) == 1, number
            driver.call("ack", on=name, h=received[0]["h"])
            driver.call("close", on=name)


@pytest.mark.parametrize("sdk", ["java-grpc", "go-grpc", "rust"])
def test_ten_producers_of_other_sdks_start_and_send_in_a_row(server: Server, sdk: str) -> None:
    server.create_topic(f"{sdk}-start")
    with server.start(sdk) as driver:
        for number in range(10):
            driver.call("producer", timeout=20, as_=f"p{number}", topics=[f"{sdk}-start"])
            driver.call("send", on=f"p{number}", topic=f"{sdk}-start", body=b"x")
            driver.call("close", on=f"p{number}")
