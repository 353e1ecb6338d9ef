"""The steps of docs/waiting.md through the control port, with both profiles, with real SDKs and HTTP."""

import contextlib
import json
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.error import HTTPError

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, start
from rocketmq_testkit.fixtures import Emulator

Profile = Literal["faithful", "fast"]
SDKS = ("python", "java-remoting")
WAIT = "90s"
"""Timeout for a busy machine. With the profile `faithful` a client may wait 20 s for a rebalance."""
ATTEMPTS = 17
HOUR_MS = 3_600_000


class Story:
    """An emulator that is used only over HTTP, and the driver of one SDK."""

    def __init__(self, emulator: Emulator, driver: Driver) -> None:
        self.driver = driver
        self.control = emulator.control

    def post(self, path: str, **body: object) -> Any:
        """Send a request to the control port. Raises AssertionError with the problem of a rejection."""
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.control}/v1/{path}", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=600) as response:
                return json.load(response)
        except HTTPError as refused:
            raise AssertionError(refused.read().decode()) from None

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.control}/v1/{path}", timeout=60) as response:
            return json.load(response)

    def texts(self, topic: str) -> list[str]:
        return [message["text"] for message in self.get(f"messages/{topic}")["messages"]]

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.get("clock")["now_ms"] / 1000, UTC)

    def producer(self, topic: str, **script: Any) -> str:
        self.driver.call("producer", as_="producer", topics=[topic], group="producers", **script)
        return "producer"


@pytest.fixture(scope="module", params=["faithful", "fast"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return "fast" if request.param == "fast" else "faithful"


@pytest.fixture(params=SDKS)
def story(request: pytest.FixtureRequest, profile: Profile) -> Iterator[Story]:
    with contextlib.ExitStack() as stack:
        emulator = stack.enter_context(Emulator(profile=profile))
        addresses = Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)
        yield Story(emulator, stack.enter_context(start(request.param, addresses)))


def test_a_failing_message_becomes_a_dead_letter_after_17_deliveries(story: Story) -> None:
    """A message that always fails is delivered seventeen times and becomes a dead letter."""
    story.post("topics", name="orders", queues=1)
    subscribed = {"orders": {"expr": "*", "type": "TAG"}}
    failing: dict[str, Any] = {"mode": "concurrent", "from": "first", "fail": {"*": 1000}}
    story.driver.call("push", as_="booking", group="booking", sub=subscribed, **failing)
    story.post("messages/orders", text="an order for nobody")

    story.post("clock/advance_until", topic="%DLQ%booking", limit="6h", wait=WAIT)

    assert story.texts("%25DLQ%25booking") == ["an order for nobody"]
    story.driver.call("hello")  # the reply follows all earlier events
    assert len(story.driver.messages("booking")) == ATTEMPTS


def test_a_message_due_in_23_hours_is_delivered_after_24_and_not_after_22(story: Story) -> None:
    """A message with a delivery time 23 hours ahead is not delivered after 22 hours, but after 24."""
    story.post("topics", name="reminders", type="DELAY", queues=1)
    tomorrow_ms = story.get("clock")["now_ms"] + 23 * HOUR_MS
    body = {"topic": "reminders", "body": b"pay the baker", "deliver_at": tomorrow_ms}
    story.driver.call("send", on=story.producer("reminders"), **body)

    [waiting] = [each for each in story.get("clock/scheduled")["scheduled"] if each["visible"]]
    assert waiting["kind"] == "timer"
    assert waiting["owner"].endswith("of reminders")
    story.post("clock/advance", by="22h", wait=WAIT)
    assert story.texts("reminders") == []
    story.post("clock/advance", by="2h", wait=WAIT)
    assert story.texts("reminders") == ["pay the baker"]


def test_an_undecided_transaction_is_checked_and_committed(story: Story) -> None:
    """The broker checks an undecided transaction, and the producer's answer commits it."""
    story.post("topics", name="payments", type="TRANSACTION", queues=1)
    producer = story.producer("payments", check="COMMIT")
    story.driver.call("send_tx", on=producer, topic="payments", body=b"one tea", outcome="UNKNOWN")
    assert story.texts("payments") == []

    story.post("clock/advance_until", topic="payments", limit="1h", wait=WAIT)

    assert story.texts("payments") == ["one tea"]


def test_advance_to_next_delivers_a_message_of_a_delay_level(story: Story) -> None:
    """`advance_to_next` lists fired timers, an exceeded limit names scheduled ones, and a jump can skip the waiting."""
    story.post("topics", name="orders", queues=1)
    story.post("messages/orders", text="ask again", properties={"DELAY": "18"})
    with pytest.raises(AssertionError, match="still scheduled: delay level"):
        story.post("clock/advance_until", topic="orders", limit="1h", wait="100ms")

    [fired] = story.post("clock/advance_to_next")["fired"]
    assert fired["kind"] == "delay level"
    assert story.texts("orders") == ["ask again"]

    before = story.now
    story.post("clock/advance", by="2h", wait=None)
    assert story.now - before >= timedelta(hours=2)
