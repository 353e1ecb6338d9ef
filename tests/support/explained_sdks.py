"""SDKs connected to an emulator without a journal, for tests that provoke the reasons of explanations."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, body, start
from rocketmq_testkit.fixtures import Emulator, Explanation, Message, Reason

CONFIG = {"journalMaxEntries": 0, "enablePropertyFilter": True}
"""A verdict must not need the journal. The other key allows SQL92 filters of remoting consumers."""

NO_RESPONSE = re.compile("RemotingSendRequestException|RemotingTimeoutException")
"""Errors of Java's SDK: for a request on a connection that the broker has closed, and after 3 s without a response."""


@dataclass
class Sdks:
    """The drivers of an emulator. Each starts when a test first uses it, because Java takes seconds to start."""

    emulator: Emulator
    _drivers: dict[tuple[str, int], Driver] = field(default_factory=dict)

    def driver(self, sdk: str, number: int = 0) -> Driver:
        """Return a process of an SDK. Members that must not share a process have numbers of their own."""
        if (sdk, number) not in self._drivers:
            addresses = Addresses(namesrv=self.emulator.namesrv, endpoint=self.emulator.endpoint)
            self._drivers[sdk, number] = start(sdk, addresses)
        return self._drivers[sdk, number]

    def close(self) -> None:
        """End all processes."""
        for driver in self._drivers.values():
            driver.close()


@dataclass
class Scene:
    """A topic and a group of one test, both named by the test, and the clients that it has created."""

    sdks: Sdks
    name: str
    _clients: ExitStack

    @property
    def emulator(self) -> Emulator:
        return self.sdks.emulator

    def topic(self, kind: str = "NORMAL", queues: int = 1) -> str:
        """Create the topic of the test."""
        self.emulator.topic(self.name, kind, queues)
        return self.name

    def client(self, verb: str, sdk: str, name: str = "c1", *, number: int = 0, **fields: Any) -> Driver:
        """Create a client of the group with a verb of the driver. It is closed at the end of the test."""
        driver = self.sdks.driver(sdk, number)
        fields = {"group": self.name, **fields}
        try:
            driver.call(verb, as_=f"{self.name}-{name}", **fields)
        except DriverError as refused:
            # A jump of the clock may have closed idle connections. On a busy machine an SDK has not noticed that yet,
            # so that the first request of its new client fails, or the response takes longer than the SDK waits.
            if not NO_RESPONSE.search(refused.err):
                raise
            driver.call(verb, as_=f"{self.name}-{name}", **fields)
        self._clients.callback(self.close, driver, name)
        return driver

    def producer(self, sdk: str, **fields: Any) -> Driver:
        """Create a producer for the topic, named `p`."""
        return self.client("producer", sdk, "p", group=f"{self.name}-producer", topics=[self.name], **fields)

    def produce(self, driver: Driver, content: bytes = b"tea", *, verb: str = "send", **fields: Any) -> dict[str, Any]:
        """Send a message with the producer of this test; return the reply, which has the id."""
        return self.call(driver, verb, "p", topic=self.name, body=content, **fields)

    def push(self, sdk: str, name: str = "c1", *, expression: str = "*", number: int = 0, **script: Any) -> Driver:
        """Start a push consumer of the topic in the group."""
        fields: dict[str, Any] = {
            "mode": "concurrent",
            "from_": "first",
            "sub": self.subscription(expression),
            **script,
        }
        return self.client("push", sdk, name, number=number, **fields)

    def simple(self, sdk: str, name: str = "c1", *, expression: str = "*", kind: str = "TAG", **fields: Any) -> Driver:
        """Start a simple consumer of the topic in the group. Its receives wait 1 s."""
        fields = {"sub": self.subscription(expression, kind), "await_ms": 1000, **fields}
        return self.client("simple", sdk, name, **fields)

    def subscription(self, expression: str = "*", kind: str = "TAG") -> dict[str, Any]:
        return {self.name: {"expr": expression, "type": kind}}

    def call(self, driver: Driver, verb: str, name: str = "c1", **fields: Any) -> dict[str, Any]:
        """Call a verb of a client of this test."""
        return dict(driver.call(verb, on=f"{self.name}-{name}", **fields))

    def close(self, driver: Driver, name: str = "c1") -> None:
        """Close a client. A no-op if it is closed."""
        with suppress(Exception):
            driver.call("close", on=f"{self.name}-{name}")

    def bodies(self, driver: Driver, name: str = "c1") -> list[bytes]:
        """Return the bodies that a push consumer has received."""
        return [body(message) for message in driver.messages(f"{self.name}-{name}")]

    def wait_for(self, driver: Driver, content: bytes, name: str = "c1") -> None:
        """Wait until a push consumer has received a message."""
        of = f"{self.name}-{name}"
        driver.wait_for_event(lambda event: event.get("of") == of and "msg" in event and body(event["msg"]) == content)

    def send(self, content: bytes = b"tea", **fields: Any) -> Message:
        """Store a message directly, for tests in which only the consumer uses an SDK."""
        return self.emulator.topic(self.name).send(content, **fields)

    def leave_unread(self, driver: Driver, name: str = "c1") -> Message:
        """Pause a push consumer of a queue, and return a message that it leaves unread.

        The pause does not end the waiting long poll, which still receives the message before.
        """
        self.call(driver, "pause", name)
        self.send(b"of the long poll")
        self.wait_for(driver, b"of the long poll", name)
        return self.send(b"unread")

    def explain(self, message: Message | str, reason: Reason, group: str | None = None) -> Explanation:
        """Explain a message for the group of the test, and check the reason."""
        found = self.emulator.explain(message, group or self.name)
        assert found.reason is reason, found
        assert found.facts, found
        return found

    def client_id(self) -> str:
        """Return the id of the only connected client of the group."""
        [found] = [client for client in self.emulator.clients.values() if self.name in client.consumer_groups]
        return found.id


def scene_of(sdks: Sdks, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """Yield a scene whose topic and group are named by the test, and close its clients."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_")).strip("-")
    with ExitStack() as clients:
        yield Scene(sdks, name, clients)
