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
from suspended import suspended

pytestmark = pytest.mark.sampled

Profile = Literal["faithful", "fast"]
SDKS = ("python", "java-remoting")
WAIT = "90s"
"""Timeout for a busy machine. With the profile `faithful` a client may wait 20 s for a rebalance."""
SECONDS = 90.0
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

    def push(self, **script: Any) -> None:
        """Start a push consumer `booking` of the topic `orders`, and wait until it has requested all queues."""
        subscribed = {"orders": {"expr": "*", "type": "TAG"}}
        fields: dict[str, Any] = {"mode": "concurrent", "from": "first", **script}
        self.driver.call("push", as_="booking", group="booking", sub=subscribed, **fields)
        self.post("wait/consumer", group="booking", assigned=True, timeout=WAIT)

    def hold(self, text: str, hang_ms: int) -> None:
        """Start a push consumer whose listener works for `hang_ms`, and wait until it has begun with a message."""
        self.post("topics", name="orders", queues=1)
        self.push(hang_ms={text: hang_ms}, begin=True)
        self.post("messages/orders", text=text)
        self.driver.wait_for_event(lambda event: event["ev"] == "begin", SECONDS)

    def producer(self, topic: str, **script: Any) -> str:
        self.driver.call("producer", as_="producer", topics=[topic], group="producers", **script)
        return "producer"


@pytest.fixture(scope="module", params=["faithful", "fast"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return "fast" if request.param == "fast" else "faithful"


@contextlib.contextmanager
def begun(sdk: str, emulator: Emulator) -> Iterator[Story]:
    """Start an emulator and the driver of an SDK."""
    with emulator, start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
        yield Story(emulator, driver)


@pytest.fixture(params=SDKS)
def story(request: pytest.FixtureRequest, profile: Profile) -> Iterator[Story]:
    with begun(request.param, Emulator(profile=profile)) as found:
        yield found


@pytest.fixture(params=SDKS)
def frozen_story(request: pytest.FixtureRequest, profile: Profile) -> Iterator[Story]:
    with begun(request.param, Emulator(profile=profile, time="frozen")) as found:
        yield found


def test_a_failing_message_becomes_a_dead_letter_after_17_deliveries(story: Story) -> None:
    """A message that always fails is delivered seventeen times and becomes a dead letter."""
    story.post("topics", name="orders", queues=1)
    story.push(fail={"*": 1000})
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


ALTERNATIVES = (
    'give them longer with wait="1m", jump without them with wait=null, '
    "or expire a client that hangs with POST /v1/clients/expire"
)


def test_a_jump_waits_for_a_listener_that_works_long(story: Story) -> None:
    """A jump fails after `wait` because of a slow listener, names it and the alternatives; a longer `wait` succeeds.

    The message is delivered once, although its invisible duration ends within the jump.
    """
    story.hold("a cake", 3_000)

    with pytest.raises(AssertionError, match="of group booking has not responded to the message") as refused:
        story.post("clock/advance", by="150s", wait="200ms")
    problem = json.loads(str(refused.value))
    assert (problem["status"], problem["type"]) == (504, "urn:rocketmq-testkit:problem:clock-timeout")
    assert ALTERNATIVES in problem["detail"]
    assert story.driver.messages("booking") == []

    story.post("clock/advance", by="150s", wait=WAIT)
    story.driver.call("hello")  # the reply follows all earlier events
    assert len(story.driver.messages("booking")) == 1


def test_a_hanging_client_holds_a_jump_until_it_expires(story: Story) -> None:
    """A jump waits for a client in a suspended process, but not with `wait: null`, nor after the client has expired."""
    story.hold("an order that is never answered", 600_000)
    [process] = story.driver.pids
    with suspended(process):
        with pytest.raises(AssertionError, match="POST /v1/clients/expire"):
            story.post("clock/advance", by="1s", wait="200ms")
        before = story.now
        story.post("clock/advance", by="1s", wait=None)
        assert story.now - before >= timedelta(seconds=1)

        [hung] = story.get("clients")["clients"]
        assert story.post("clients/expire", client=hung["id"]) == {"clients": []}
        story.post("clock/advance", by="150s", wait=WAIT)
        assert story.now - before >= timedelta(seconds=151)


def test_frozen_time_moves_by_jumps_alone_and_consumers_receive(frozen_story: Story) -> None:
    """Frozen time moves by jumps to the millisecond; a consumer receives the message of the last jump."""
    story = frozen_story
    story.post("topics", name="orders", queues=1)
    story.push()
    clock = story.get("clock")
    assert clock["frozen"] is True
    story.post("messages/orders", text="in ten seconds", properties={"DELAY": "3"})
    assert story.post("clock/advance", by="9s", wait=WAIT) == {"now_ms": clock["now_ms"] + 9_000}
    assert story.texts("orders") == []
    assert story.post("clock/advance", by="1.1s", wait=WAIT) == {"now_ms": clock["now_ms"] + 10_100}
    assert story.texts("orders") == ["in ten seconds"]
    story.driver.wait_until(lambda _: len(story.driver.messages("booking")) == 1, SECONDS)
    assert story.get("clock")["now_ms"] == clock["now_ms"] + 10_100


def test_waits_end_when_a_consumer_and_a_producer_have_registered(story: Story) -> None:
    """A wait for a client that does not start returns 504 with a hint; it ends once the clients have started.

    A producer of the Java remoting SDK registers with its first message, because before that it knows no broker.
    """
    story.post("topics", name="orders", queues=1)
    producers = "producers" if story.driver.hello["protocol"] == "remoting" else "orders"
    for path, name in (("consumer", {"group": "booking"}), ("producer", {"name": producers})):
        with pytest.raises(AssertionError) as missing:
            story.post(f"wait/{path}", **name, timeout="1ms")
        problem = json.loads(str(missing.value))
        assert (problem["status"], problem["type"]) == (504, "urn:rocketmq-testkit:problem:client-timeout")
        assert problem["detail"].endswith('start it first, or give it longer, as with timeout="1m"')

    story.push()
    story.driver.call("send", on=story.producer("orders"), topic="orders", body=b"an order")
    story.post("wait/producer", name=producers, timeout=WAIT)

    clients = story.get("clients")["clients"]
    assert [name for each in clients for name in each["consumer_groups"]] == ["booking"]
    assert producers in [name for each in clients for name in each["producer_groups"]]
