"""The helpers of explored tests that run in a pytest of their own, as the text of a module."""

HELPER = """
import pytest
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.remoting.client import RemotingClient

def send(emulator, *keys, attempts=2):
    \"\"\"Send messages. A message whose response is lost is sent again.\"\"\"
    for number, key in enumerate(keys):
        properties = {"KEYS": key, "UNIQ_KEY": f"{number:032X}"}
        for attempt in range(attempts):
            with RemotingClient(emulator.broker, timeout=5) as client:
                try:
                    client.request(*send_request("orders", b"x", born_ms=1, properties=properties))
                    break
                except Exception:
                    if attempt == attempts - 1:
                        raise

def keys(emulator):
    return [key for message in emulator.messages("orders") for key in message.keys]

LOST = faults.drop_response(how="close", operation="SendMessage")
"""
