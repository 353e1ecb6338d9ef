"""TLS and plaintext share each port; clients that verify certificates trust the emulator's own authority."""

from pathlib import Path
from typing import Protocol

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, body, start
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.host.host import Host
from wait_budget import SECONDS, until

pytestmark = pytest.mark.sampled

TRUSTING = ("java-grpc", "go-grpc", "java-remoting", "java-remoting-4.9")
"""SDKs that accept any certificate."""
VERIFYING = ("python", "node")
"""SDKs that verify name and authority; they get the authority's file."""
RECEIVING = ("java-grpc", "go-grpc", "python", "node")
PUSHED = ("java-grpc", "go-grpc", "java-remoting", "java-remoting-4.9")


class Server(Protocol):
    """The fixture of this folder as the tests use it."""

    @property
    def emulator(self) -> Emulator: ...

    def create_topic(self, name: str) -> None: ...

    def create_group(self, name: str) -> None: ...


def secure(server: Server, sdk: str, host: str = "127.0.0.1") -> Driver:
    """Start the driver of an SDK with TLS enabled."""
    emulator = server.emulator
    return start(
        sdk,
        Addresses(
            namesrv=f"{host}:{emulator.namesrv.rpartition(':')[2]}",
            endpoint=f"{host}:{emulator.endpoint.rpartition(':')[2]}",
            tls=True,
            ca=Path(emulator.ca_file) if sdk in VERIFYING else None,
        ),
    )


def until_a_request_waits(emulator: Emulator, topic: str) -> None:
    """Wait until a pull, pop or notification of a topic waits; a proxy sends a notification before it pops."""

    def waiting(host: Host) -> bool:
        return any(
            type(entry.subject).__name__ in ("PullMessage", "PopMessage", "Notification")
            and getattr(entry.subject, "topic", None) == topic
            and entry.outcome is None
            for entry in host.direct.journal
        )

    until(lambda: emulator.run_on_loop(waiting), f"somebody waits for {topic}")


def acknowledged(emulator: Emulator, group: str) -> int:
    """Return the number of successful acknowledgements of a group."""
    acks = [entry for entry in emulator.journal if type(entry.subject).__name__ in ("AckMessage", "BatchAckMessage")]
    return sum(type(entry.outcome).__name__ == "Done" and group in str(entry.subject) for entry in acks)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("sdk", [*TRUSTING, *VERIFYING])
def test_an_sdk_with_tls_sends_a_message(server: Server, sdk: str, host: str) -> None:
    """An SDK with TLS enabled sends through the same port as others, by address and by name."""
    topic = f"tls-{sdk.replace('.', '-')}-{host.replace('.', '-')}"
    server.create_topic(topic)
    with secure(server, sdk, host) as driver:
        driver.call("producer", as_="p", topics=[topic], group="tls-producer")
        driver.call("send", on="p", topic=topic, body=b"secret")
    assert [message.body for message in server.emulator.messages(topic)] == [b"secret"]


@pytest.mark.parametrize("sdk", RECEIVING)
def test_a_waiting_receive_over_tls_gets_the_message_on_arrival(server: Server, sdk: str) -> None:
    """A waiting receive over TLS gets the message on arrival, and its acknowledgement succeeds."""
    name = f"tls-receive-{sdk}"
    server.create_topic(name)
    server.create_group(name)
    emulator = server.emulator
    with secure(server, sdk) as driver:
        driver.call("simple", as_="c", group=name, sub={name: {"expr": "*", "type": "TAG"}}, await_ms=20_000)
        received = driver.post("receive", on="c", max=1, invisible_ms=30_000, bg=True)
        until_a_request_waits(emulator, name)
        emulator.topic(name).send(b"secret")
        (message,) = driver.result(received, timeout=SECONDS)["messages"]
        assert body(message) == b"secret"
        driver.call("ack", on="c", h=message["h"])
        assert acknowledged(emulator, name) == 1


@pytest.mark.parametrize("sdk", PUSHED)
def test_a_waiting_push_consumer_over_tls_gets_the_message_on_arrival(server: Server, sdk: str) -> None:
    """A waiting push consumer over TLS gets the message on arrival and consumes it."""
    name = f"tls-push-{sdk.replace('.', '-')}"
    server.create_topic(name)
    server.create_group(name)
    emulator = server.emulator
    emulator.topic(name, queues=1)
    with secure(server, sdk) as driver:
        driver.call("push", as_="c", group=name, sub={name: {"expr": "*", "type": "TAG"}}, from_="first")
        until_a_request_waits(emulator, name)
        emulator.topic(name).send(b"secret")
        event = driver.wait_for_event(lambda event: event["ev"] == "msg", SECONDS)
        assert (body(event["msg"]), event["ok"]) == (b"secret", True)
        if sdk.startswith("java-remoting"):

            def committed(host: Host) -> bool:
                return host.direct.broker(None).offsets.query(name, name, 0) == 1

            # The listener returns after its event, and the SDK commits periodically.
            until(lambda: emulator.run_on_loop(committed), "it is committed")
        driver.call("close", on="c", timeout=SECONDS)
    if not sdk.startswith("java-remoting"):
        assert acknowledged(emulator, name) == 1
