"""Start-up races of SDKs that a fast server makes worse do not bite."""

from typing import Protocol

import pytest
from rocketmq_testkit.conformance.drivers.process import Driver

STARTS = 100


class Server(Protocol):
    """What the fixture of this folder is to a test."""

    def create_topic(self, name: str) -> None: ...

    def create_group(self, name: str) -> None: ...

    def start(self, sdk: str) -> Driver: ...


def test_node_starts_with_several_topics(server: Server) -> None:
    """100 producers with three topics each start in a row; on the real proxy about a third of them hang for ever."""
    topics = [f"node-start-{n}" for n in range(3)]
    for topic in topics:
        server.create_topic(topic)
    with server.start("node") as driver:
        for number in range(STARTS):
            driver.call("producer", timeout=15, as_=f"p{number}", topics=topics, at_once=True)
            driver.call("close", on=f"p{number}")


def test_python_receives_at_once(server: Server) -> None:
    """100 consumers in a row may receive before the server has seen their settings."""
    server.create_topic("python-start")
    server.create_group("python-start")
    subscription = {"python-start": {"expr": "*", "type": "TAG"}}
    with server.start("python") as driver:
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
def test_others_start_again_and_again(server: Server, sdk: str) -> None:
    """Ten producers in a row start and send."""
    server.create_topic(f"{sdk}-start")
    with server.start(sdk) as driver:
        for number in range(10):
            driver.call("producer", timeout=20, as_=f"p{number}", topics=[f"{sdk}-start"])
            driver.call("send", on=f"p{number}", topic=f"{sdk}-start", body=b"x")
            driver.call("close", on=f"p{number}")
