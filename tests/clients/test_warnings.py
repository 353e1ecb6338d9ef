"""Warnings that explain why an unmodified SDK fails, where the SDK itself does not."""

import subprocess
import sys

import pytest
from rocketmq_testkit.fixtures import ClockTimeout, Emulator, WarningKind

_PRODUCER = """
import sys
from rocketmq import ClientConfiguration, Credentials, Message, Producer

address, topic = sys.argv[1:]
producer = Producer(ClientConfiguration(address, Credentials(), "", 3), [topic])
try:
    producer.startup()
    message = Message()
    message.topic = topic
    message.body = b"two teas"
    producer.send(message)
except Exception as error:
    print("failed", type(error).__name__)
"""


def _produce(address: str, topic: str) -> str:
    """Run the producer in another process, because the SDK leaves threads behind."""
    command = [sys.executable, "-c", _PRODUCER, address, topic]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_the_warning_of_a_grpc_sdk_at_the_remoting_port_names_the_endpoint() -> None:
    """The Python SDK fails at the remoting port, and the warning names the endpoint."""
    with Emulator(topics=["orders"]) as emulator:
        assert "failed" in _produce(emulator.namesrv, "orders")
        found = [warning for warning in emulator.warnings if warning.kind is not WarningKind.CONFIGURATION]
        assert found
        assert all("name server" in warning.text for warning in found), found
        text = " ".join(warning.text for warning in found)
        assert f"gRPC clients connect to {emulator.endpoint}" in text or "handshake" in text


def test_the_warning_of_an_sdk_with_a_missing_topic_names_the_nearest_topic() -> None:
    """The Python SDK fails for a missing topic; the warning names the nearest topic, also in errors of the clock."""
    with Emulator(time="frozen", topics=["orders"]) as emulator:
        assert "failed" in _produce(emulator.endpoint, "order")
        assert list(emulator.topics) == ["orders"]
        text = "QueryRoute for 'order': there is no such topic; there is 'orders'"
        assert text in [warning.text for warning in emulator.warnings]
        with pytest.raises(ClockTimeout, match="there is 'orders'"):
            emulator.clock.advance_until(lambda: emulator.topic("orders").messages, limit="1m", wait=None)
