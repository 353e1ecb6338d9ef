"""TLS and plaintext share each port; clients that verify trust the emulator's own authority."""

from pathlib import Path
from typing import Protocol

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, start
from rocketmq_testkit.fixtures import Emulator

TRUSTING = ("java-grpc", "go-grpc", "java-remoting", "java-remoting-4.9")
"""Take any certificate."""
VERIFYING = ("python", "node")
"""Check name and authority; they are given the file of the authority."""


class Server(Protocol):
    """What the fixture of this folder is to a test."""

    @property
    def emulator(self) -> Emulator: ...

    def create_topic(self, name: str) -> None: ...


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("sdk", [*TRUSTING, *VERIFYING])
def test_a_message_goes_through_tls(server: Server, sdk: str, host: str) -> None:
    """The SDK with TLS switched on sends on the same port as the others, by address and by name."""
    topic = f"tls-{sdk.replace('.', '-')}-{host.replace('.', '-')}"
    server.create_topic(topic)
    emulator = server.emulator
    addresses = Addresses(
        namesrv=f"{host}:{emulator.namesrv.rpartition(':')[2]}",
        endpoint=f"{host}:{emulator.endpoint.rpartition(':')[2]}",
        tls=True,
        ca=Path(emulator.ca_file) if sdk in VERIFYING else None,
    )
    with start(sdk, addresses) as driver:
        driver.call("producer", as_="p", topics=[topic], group="tls-producer")
        driver.call("send", on="p", topic=topic, body=b"secret")
    assert [message.body for message in emulator.messages(topic)] == [b"secret"]
