"""Retries, delays and transactions of real SDKs that take hours on a real broker and no time in a test.

Each SDK has one emulator and one driver process here. The emulator's clock advances from test to test, while the clocks
of the clients do not follow. Delivery times are therefore based on the emulator's clock.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, Fields, body, start
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.names import TRANS_CHECK_MAX_TIME_TOPIC, retry_topic
from rocketmq_testkit.emulator.operations.consume import PopMessage, PullMessage
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

pytestmark = pytest.mark.sampled

REMOTING = ("java-remoting", "go-remoting")
GRPC = ("java-grpc", "go-grpc", "python", "node", "rust")
SDKS = (*REMOTING, *GRPC)
OLDER = ("java-remoting-4.9", "java-grpc-5.0", "cpp")
"""Further SDKs that can send timed messages."""
RECALLING = ("java-remoting", "java-grpc", "go-grpc", "python", "node")
SECONDS = 90.0
"""Timeout for actions of a client on a busy machine."""
WAIT = "60s"
HOUR_MS = 3_600_000
ATTEMPTS = 17
"""Deliveries of a message: one and sixteen retries."""
UPSTREAM_RETRIES = timedelta(hours=4, minutes=45, seconds=40)


class Client:
    """An emulator and the driver of one SDK. Every test uses names of its own."""

    def __init__(self, sdk: str, emulator: Emulator, driver: Driver) -> None:
        self.sdk = sdk
        self.emulator = emulator
        self.driver = driver
        self._names = 0
        self._producers: set[str] = set()

    @property
    def remoting(self) -> bool:
        """True if the SDK uses the remoting protocol."""
        return bool(self.driver.hello["protocol"] == "remoting")

    @property
    def clock_ms(self) -> int:
        """The emulator's time."""
        return self.emulator.clock.now_ms

    def topic(self, kind: str = "NORMAL") -> str:
        self._names += 1
        name = f"waiting-{self._names}"
        self.emulator.topic(name, type=kind, queues=1)
        return name

    def group(self) -> str:
        """Create a group with its retry topic, so that an SDK finds the topic without waiting for a rebalance."""
        self._names += 1
        name = f"group-{self._names}"
        self.emulator.group(name)
        if self.remoting:
            self.emulator.topic(retry_topic(name), queues=1)
        return name

    def producer(self, topic: str, check: object = None) -> str:
        """Return the producer of a topic; create it on first use."""
        name = f"{topic}-producer"
        if name not in self._producers:
            self._producers.add(name)
            self.driver.call("producer", as_=name, topics=[topic], group=name, check=check)
        return name

    def is_known(self, topic: str) -> bool:
        """Return True if the broker knows the producer of a topic, so that it can check transactions.

        Go's SDK registers its group a second after its start, or only after thirty.
        """
        group = f"{topic}-producer" if self.remoting else topic
        return self.emulator.run_on_loop(lambda host: group in host.engine.brokers[0].clients.producers)

    def send(self, topic: str, text: str, **fields: Any) -> Fields:
        return self.driver.call("send", on=self.producer(topic), topic=topic, body=text.encode(), **fields)

    def push(self, topic: str, group: str, **script: object) -> str:
        """Start a push consumer and wait until it requests messages."""
        name = f"{group}-consumer"
        fields: Fields = {"sub": {topic: {"expr": "*", "type": "TAG"}}, "mode": "concurrent", "from": "first", **script}
        self.driver.call("push", as_=name, group=group, **fields)
        asked = {topic, retry_topic(group)} if self.remoting else {topic}
        self.until(lambda: asked <= self._polled(group))
        return name

    def simple(self, topic: str, group: str) -> str:
        name = f"{group}-consumer"
        self.driver.call("simple", as_=name, group=group, sub={topic: {"expr": "*", "type": "TAG"}}, await_ms=2000)
        return name

    def received(self, name: str) -> list[bytes]:
        """Return the bodies that a push consumer received, including failed attempts."""
        return [body(message) for message in self.driver.messages(name)]

    def _polled(self, group: str) -> set[str]:
        return {
            entry.subject.topic
            for entry in self.emulator.journal
            if isinstance(entry.subject, PullMessage | PopMessage) and entry.subject.consumer_group == group
        }

    @staticmethod
    def until(condition: Callable[[], bool]) -> None:
        """Wait for an action of a client."""
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.fixture(scope="module")
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    sdk = request.param
    with contextlib.ExitStack() as stack:
        emulator = stack.enter_context(Emulator(config={"recallMessageEnable": True}))
        addresses = Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)
        yield Client(sdk, emulator, stack.enter_context(start(sdk, addresses)))


def through(*sdks: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("client", sdks, indirect=True, scope="module")


def _retry_until_dead(client: Client, text: str = "bad") -> tuple[int, float, timedelta]:
    """Let a message fail until it is a dead letter; return deliveries, wall seconds and the emulator's time for it."""
    topic, group = client.topic(), client.group()
    emulator = client.emulator
    if client.sdk != "rust":
        consumer = client.push(topic, group, fail={"*": 1000})
        client.producer(topic)
        begun, before = time.monotonic(), emulator.clock.now
        client.send(topic, text)
        emulator.clock.advance_until(lambda: emulator.dlq(group), limit="6h", wait=WAIT)
        took = time.monotonic() - begun, emulator.clock.now - before
        client.driver.call("hello")  # the reply follows all earlier events
        deliveries = len(client.received(consumer))
        # Before the consumer closes: Java's sends a message back once more if it closes before it gets the response.
        [dead] = emulator.dlq(group)
        client.driver.post("close", on=consumer)
    else:
        consumer = client.simple(topic, group)
        begun, before = time.monotonic(), emulator.clock.now
        client.send(topic, text)
        deliveries = 0
        while not emulator.dlq(group):
            assert deliveries <= ATTEMPTS
            deliveries += len(client.driver.call("receive", on=consumer, max=1, invisible_ms=10_000)["messages"])
            emulator.clock.advance("15s", wait=None)
        took = time.monotonic() - begun, emulator.clock.now - before
        [dead] = emulator.dlq(group)
        client.driver.call("close", on=consumer)
    assert dead.body == text.encode()
    return deliveries, *took


@through(*SDKS)
def test_a_failing_message_becomes_a_dead_letter_after_sixteen_retries(client: Client) -> None:
    """A message that always fails is delivered seventeen times and becomes a dead letter.

    With remoting SDKs that takes 4 h 45 min 40 s of the broker's time.
    """
    deliveries, _, took = _retry_until_dead(client)
    assert deliveries == ATTEMPTS
    if client.sdk in REMOTING:
        assert UPSTREAM_RETRIES <= took < UPSTREAM_RETRIES + timedelta(minutes=2)


@through(*REMOTING, "java-remoting-4.9", "cpp")
def test_delay_level_18_delivers_after_two_hours(client: Client) -> None:
    """A message of delay level 18 is delivered after two hours of the emulator's time, and not before."""
    topic, group = client.topic("DELAY"), client.group()
    consumer = client.push(topic, group)
    before = client.emulator.clock.now
    client.send(topic, "later", delay_level=18)
    client.emulator.clock.advance("1h59m", wait=WAIT)
    assert client.received(consumer) == []
    client.emulator.clock.advance_until(lambda: client.received(consumer), limit="10m", wait=WAIT)
    assert client.received(consumer) == [b"later"]
    assert timedelta(hours=2) <= client.emulator.clock.now - before < timedelta(hours=2, minutes=2)


@through(*SDKS, *OLDER)
def test_a_timed_message_of_23_hours_is_delivered_then(client: Client) -> None:
    """A message with a delivery time in 23 hours is delivered then, and is listed as scheduled until then."""
    topic = client.topic("DELAY")
    before = client.emulator.clock.now
    client.send(topic, "tomorrow", deliver_at=client.clock_ms + 23 * HOUR_MS)
    [waiting] = [each for each in client.emulator.clock.scheduled() if each.owner.endswith(f" of {topic}")]
    assert waiting.kind == "timer"
    client.emulator.clock.advance_until(lambda: client.emulator.messages(topic), limit="1d", wait=WAIT)
    assert [message.body for message in client.emulator.messages(topic)] == [b"tomorrow"]
    assert timedelta(hours=22, minutes=59) < client.emulator.clock.now - before < timedelta(hours=23, minutes=1)


@through(*SDKS, *OLDER)
def test_a_timed_message_of_forty_days_is_refused(client: Client) -> None:
    """A send with a delivery time in forty days fails, and nothing is stored."""
    topic = client.topic("DELAY")
    with pytest.raises(DriverError) as refused:
        client.send(topic, "never", deliver_at=client.clock_ms + 40 * 24 * HOUR_MS)
    outcomes = [entry.outcome for entry in client.emulator.journal if isinstance(entry.subject, SendMessage)]
    if client.remoting:
        last = outcomes[-1]
        assert isinstance(last, EngineError)
        assert last.code is ResponseCode.MESSAGE_ILLEGAL
    expected = ResponseCode.MESSAGE_ILLEGAL if client.remoting else pb.ILLEGAL_DELIVERY_TIME
    # The C++ SDK tries all queues and then reports a missing route.
    assert refused.value.code == (None if client.sdk == "cpp" else expected)
    assert not [each for each in client.emulator.clock.scheduled() if topic in each.owner]
    assert client.emulator.messages(topic) == []


@through(*RECALLING)
def test_a_recalled_message_is_not_delivered(client: Client) -> None:
    """Of two messages with one delivery time, the recalled one is not delivered."""
    topic = client.topic("DELAY")
    at = client.clock_ms + 2 * HOUR_MS
    recalled = client.send(topic, "recalled", deliver_at=at)
    client.send(topic, "kept", deliver_at=at)
    client.driver.call("recall", on=f"{topic}-producer", topic=topic, handle=recalled["recall"])
    client.emulator.clock.advance("3h", wait=WAIT)
    assert [message.body for message in client.emulator.messages(topic)] == [b"kept"]


def _transaction(client: Client, outcome: str, check: object) -> str:
    """Send one transactional message and return its topic."""
    topic = client.topic("TRANSACTION")
    producer = client.producer(topic, check)
    client.driver.call("send_tx", on=producer, topic=topic, body=b"paid", outcome=outcome)
    client.until(lambda: client.is_known(topic))
    return topic


def _checks(client: Client, topic: str, count: int) -> list[str]:
    """Wait until the producer's driver has reported `count` checks; return the producer's answers."""
    producer = f"{topic}-producer"

    def told(events: Sequence[Fields]) -> list[str]:
        return [event["answer"] for event in events if event["ev"] == "check" and event["of"] == producer]

    client.driver.wait_until(lambda events: len(told(events)) >= count, SECONDS)
    return told(client.driver.events())


@through(*SDKS)
def test_a_committed_transaction_is_delivered_and_a_rolled_back_one_is_not(client: Client) -> None:
    """A committed transaction is delivered, a rolled back one is not, and neither is checked."""
    committed = _transaction(client, "COMMIT", "UNKNOWN")
    dropped = _transaction(client, "ROLLBACK", "UNKNOWN")
    client.emulator.clock.advance("10m", wait=WAIT)
    assert [message.body for message in client.emulator.messages(committed)] == [b"paid"]
    assert client.emulator.messages(dropped) == []
    assert _checks(client, committed, 0) == _checks(client, dropped, 0) == []


@through(*SDKS)
def test_the_first_check_commits_a_transaction_that_was_left_unknown(client: Client) -> None:
    """A transaction that the producer left unknown is checked, and the answer commits it once.

    A slow producer of Java gRPC is checked again, because producers that leave a transaction unknown do not respond at
    all.
    """
    topic = _transaction(client, "UNKNOWN", "COMMIT")
    client.emulator.clock.advance_until(lambda: client.emulator.messages(topic), limit="1h", wait=WAIT)
    assert set(_checks(client, topic, 1)) == {"COMMIT"}
    assert [message.body for message in client.emulator.messages(topic)] == [b"paid"]


@through(*SDKS)
def test_the_fifteenth_check_commits_a_transaction(client: Client) -> None:
    """A transaction that stays unknown for fourteen checks is committed by the fifteenth, which is the last."""
    topic = _transaction(client, "UNKNOWN", [*["UNKNOWN"] * 14, "COMMIT"])
    client.emulator.clock.advance_until(lambda: client.emulator.messages(topic), limit="1h", wait=WAIT)
    assert _checks(client, topic, 15) == [*["UNKNOWN"] * 14, "COMMIT"]


@through(*SDKS)
def test_an_unknown_transaction_is_discarded_after_fifteen_checks(client: Client) -> None:
    """A transaction that stays unknown is discarded after fifteen checks and is never delivered."""
    topic = _transaction(client, "UNKNOWN", "UNKNOWN")

    def discarded() -> list[str]:
        if TRANS_CHECK_MAX_TIME_TOPIC not in client.emulator.run_on_loop(lambda host: host.direct.topics(system=True)):
            return []
        found = client.emulator.messages(TRANS_CHECK_MAX_TIME_TOPIC)
        return [message.message_id for message in found if message.properties["REAL_TOPIC"] == topic]

    client.emulator.clock.advance_until(discarded, limit="2h", wait=WAIT)
    assert len(discarded()) == 1
    assert _checks(client, topic, 15) == ["UNKNOWN"] * 15
    assert client.emulator.messages(topic) == []


@pytest.mark.alone
@through(*SDKS)
def test_sixteen_retries_take_less_than_two_seconds(client: Client, tell_figure: Callable[[str], None]) -> None:
    """Sixteen retries take less than a second with Java's push consumer, and less than two with others.

    The best of three counts, because a JVM is slow at first.
    """
    limit = 1.0 if client.sdk == "java-remoting" else 2.0
    seconds, times = [], []
    for text in ("one", "two", "three"):
        _, took, passed = _retry_until_dead(client, text)
        seconds.append(took)
        times.append(passed)
        if min(seconds) < limit:
            break
    best = seconds.index(min(seconds))
    tell_figure(f"sixteen retries with {client.sdk}: {seconds[best]:.2f} s, {times[best]} of the emulator's time")
    assert min(seconds) < limit, seconds


PUSHING = (*(each for each in SDKS if each != "rust"), "java-remoting-4.9", "java-grpc-5.0", "cpp")
"""SDKs with push consumers."""


@through(*PUSHING)
def test_a_jump_waits_for_a_slow_listener(client: Client) -> None:
    """A message in a slow listener is delivered once, although the clock jumps far beyond its invisible duration."""
    topic, group = client.topic(), client.group()
    consumer = client.push(topic, group, hang_ms={"slow": 1500}, begin=True)
    client.send(topic, "slow")
    client.driver.wait_until(lambda events: any(each["ev"] == "begin" and each["of"] == consumer for each in events))
    before = client.emulator.clock.now
    for _ in range(2):
        client.emulator.clock.advance("10m", wait=WAIT)
        client.until(lambda: client.received(consumer) == [b"slow"])
    assert client.emulator.clock.now - before >= timedelta(minutes=20)
    assert client.emulator.dlq(group) == []


def _pop(client: Client, topic: str, **script: object) -> str:
    """Start a Java push consumer that pops, as the request mode of its group demands."""
    group = client.group()
    mode = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 8}
    with RemotingClient(client.emulator.broker) as connection:
        assert connection.request(RequestCode.SET_MESSAGE_REQUEST_MODE, None, json.dumps(mode).encode()).code == 0
    name = f"{group}-consumer"
    made: Fields = {"sub": {topic: {"expr": "*", "type": "TAG"}}, "mode": "pop", "from": "first", **script}
    client.driver.call("push", as_=name, group=group, **made)
    return name


@through("java-remoting")
def test_a_popping_consumer_retries_a_message_after_10_s_30_s_and_a_minute(client: Client) -> None:
    """A popping consumer retries a message after 10 s, 30 s and a minute of the broker's time, and the clock jumps."""
    topic = client.topic()
    consumer = _pop(client, topic, fail={"bad": 3})
    before = client.emulator.clock.now
    client.send(topic, "bad")
    client.emulator.clock.advance_until(lambda: len(client.received(consumer)) == 4, limit="10m", wait=WAIT)
    assert timedelta(seconds=100) <= client.emulator.clock.now - before < timedelta(minutes=4)
    client.emulator.clock.advance("3h", wait=WAIT)
    assert client.received(consumer) == [b"bad"] * 4


@pytest.mark.parametrize("sdk", PUSHING)
def test_with_a_frozen_clock_long_polls_of_push_consumers_end_and_start_again(sdk: str) -> None:
    """With a frozen clock, long polls of push consumers end and start again, and a message sent then is received."""
    with Emulator(time="frozen", topics=["still:NORMAL:1"]) as emulator:
        addresses = Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)
        before = emulator.clock.now
        with start(sdk, addresses) as driver:
            client = Client(sdk, emulator, driver)
            consumer = client.push("still", client.group())

            def empty_polls() -> int:
                return len(
                    emulator.journal.entries(
                        lambda entry: (
                            entry.event == "responded"
                            and isinstance(entry.subject, PullMessage | PopMessage)
                            and entry.subject.topic == "still"
                        )
                    )
                )

            Client.until(lambda: empty_polls() >= 2)
            client.send("still", "awake")
            Client.until(lambda: client.received(consumer) == [b"awake"])
        assert emulator.clock.now == before


@contextlib.contextmanager
def _with_frozen_clock(sdk: str, *topics: str) -> Iterator[Client]:
    """Start a client of an emulator with a frozen clock, and check at the end that the clock has not moved."""
    with Emulator(time="frozen", topics=topics) as emulator:
        before = emulator.clock.now
        with start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
            yield Client(sdk, emulator, driver)
        assert emulator.clock.now == before


@pytest.mark.parametrize("sdk", [*GRPC, "java-grpc-5.0"])
def test_with_a_frozen_clock_a_receive_ends_at_the_timeout_of_the_client(sdk: str) -> None:
    """With a frozen clock, a receive without messages ends at the client's timeout; the next one gets the message."""
    with _with_frozen_clock(sdk, "still:NORMAL:1") as client:
        driver, consumer = client.driver, client.simple("still", client.group())
        nothing = driver.call("receive", on=consumer, max=1, invisible_ms=30_000, timeout=SECONDS)
        client.send("still", "awake")
        found = driver.call("receive", on=consumer, max=1, invisible_ms=30_000, timeout=SECONDS)
        assert (nothing["messages"], [body(each) for each in found["messages"]]) == ([], [b"awake"])
        driver.call("ack", on=consumer, h=[each["h"] for each in found["messages"]], timeout=SECONDS)


def test_with_a_frozen_clock_pops_of_a_push_consumer_end_and_start_again() -> None:
    """With a frozen clock, pops of Java's push consumer end and start again, and a message sent then is received."""
    with _with_frozen_clock("java-remoting", "still:NORMAL:1") as client:
        consumer = _pop(client, "still")

        def empty_pops() -> int:
            entries = [entry for entry in client.emulator.journal if isinstance(entry.subject, PopMessage)]
            return len([entry for entry in entries if entry.event == "responded"])

        client.until(lambda: empty_pops() >= 2)
        client.send("still", "awake")
        client.until(lambda: client.received(consumer) == [b"awake"])


def test_with_a_frozen_clock_a_lite_poll_ends_by_the_time_of_the_client() -> None:
    """With a frozen clock, a lite consumer's poll ends by the client's time; a later one gets the message."""
    with _with_frozen_clock("java-remoting", "still:NORMAL:1") as client:
        driver, group = client.driver, client.group()
        made: Fields = {"sub": {"still": {"expr": "*", "type": "TAG"}}, "from": "first"}
        driver.call("lite", as_="lite", group=group, **made)
        assert driver.call("poll", on="lite", ms=1000)["messages"] == []
        client.send("still", "awake")
        found: list[bytes] = []

        def polled() -> bool:
            found.extend(body(each) for each in driver.call("poll", on="lite", ms=1000)["messages"])
            return bool(found)

        client.until(polled)
        assert found == [b"awake"]
        driver.call("commit", on="lite")


@pytest.mark.parametrize("sdk", [*REMOTING, "java-remoting-4.9"])
def test_with_a_frozen_clock_a_reply_reaches_the_requesting_producer(sdk: str) -> None:
    with _with_frozen_clock(sdk, "still:NORMAL:1") as client:
        client.push("still", client.group(), answer="pong")
        client.send("still", "plain")
        client.until(lambda: client.is_known("still"))
        asked = {"topic": "still", "body": b"ping", "timeout_ms": 30_000}
        reply = client.driver.call("request", on=client.producer("still"), timeout=SECONDS, **asked)
        assert body(reply["message"]) == b"pong"


@pytest.mark.parametrize("sdk", [*SDKS, "java-remoting-4.9", "java-grpc-5.0"])
def test_with_a_frozen_clock_a_committed_transaction_is_delivered_at_once(sdk: str) -> None:
    """With a frozen clock, a committed transaction is delivered at once, and a rolled back one is not."""
    with _with_frozen_clock(sdk, "still:TRANSACTION:1") as client:
        producer = client.producer("still", "UNKNOWN")
        for outcome in ("ROLLBACK", "COMMIT"):
            client.driver.call("send_tx", on=producer, topic="still", body=outcome.encode(), outcome=outcome)
        # Remoting clients end transactions oneway.
        client.until(lambda: bool(client.emulator.messages("still")))
        assert [message.body for message in client.emulator.messages("still")] == [b"COMMIT"]


@pytest.mark.parametrize("sdk", [*REMOTING, "java-remoting-4.9", "java-grpc", "java-grpc-5.0", "go-grpc", "python"])
def test_with_a_frozen_clock_an_orderly_consumer_retries_a_message_locally(sdk: str) -> None:
    """With a frozen clock, an orderly consumer retries a failed message locally before the next one.

    Go's gRPC SDK continues with the next one meanwhile. Node's never retries a failed message of an ordered group.
    """
    with _with_frozen_clock(sdk, "still:FIFO:1") as client:
        client.emulator.group("in-order", orderly=not client.remoting)
        for text in ("one", "two"):
            client.send("still", text, group="g")
        sub = {"still": {"expr": "*", "type": "TAG"}}
        script: Fields = {"mode": "orderly", "fail": {"one": 1}, "from": "first"}
        client.driver.call("push", as_="consumer", group="in-order", sub=sub, **script)
        client.until(lambda: len(client.received("consumer")) >= 3)
        received = client.received("consumer")
        assert (sorted(received) if sdk == "go-grpc" else received) == [b"one", b"one", b"two"]
