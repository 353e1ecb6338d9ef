"""Message traces of real clients, found with Apache's own mqadmin."""

import time
from typing import Any, Protocol

from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.conformance.drivers.process import Driver
from rocketmq_testkit.fixtures import Emulator

TRACES = "RMQ_SYS_TRACE_TOPIC"
SECONDS = 30.0


class Server(Protocol):
    """The attributes of the fixture `server` that the tests use."""

    @property
    def emulator(self) -> Emulator: ...

    def start(self, sdk: str) -> Driver: ...


def test_query_msg_trace_by_id_prints_producer_and_consumer(server: Server) -> None:
    emulator = server.emulator
    emulator.topic("traced")
    with server.start("java-remoting-4.9") as driver:
        driver.call("producer", as_="p", topics=["traced"], group="traced-producer", trace=TRACES)
        subscription = {"traced": {"expr": "*", "type": "TAG"}}
        consumer: dict[str, Any] = {"group": "traced-group", "sub": subscription, "mode": "concurrent", "trace": TRACES}
        driver.call("push", as_="c", from_="first", **consumer)
        sent = driver.call("send", on="p", topic="traced", body=b"hello")
        driver.wait_for_event(lambda event: event["ev"] == "msg", timeout=SECONDS)
        found = _until_traced(emulator, sent["id"])
    groups = [line.split()[:2] for line in found.splitlines() if line.startswith(("Pub", "Sub"))]
    assert groups == [["Pub", "traced-producer"], ["Sub", "traced-group"]]


def _until_traced(emulator: Emulator, message_id: str) -> str:
    """Return mqadmin's output once the clients have sent their traces, which they do periodically."""
    end = time.monotonic() + SECONDS
    while True:
        found = mqadmin(emulator.namesrv, "queryMsgTraceById", "-i", message_id)
        if ("Pub" in found and "Sub" in found) or time.monotonic() > end:
            return found
