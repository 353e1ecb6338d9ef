"""Driver verbs beyond sending and receiving: scripts of listeners, transaction checks, pull, administration."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, Fields, body, start
from rocketmq_testkit.emulator.operations.consume import PullMessage
from rocketmq_testkit.fixtures import Emulator
from sdks import JAVA_REMOTING, PUSH

pytestmark = pytest.mark.sampled

TRANSACTIONAL = [sdk for sdk in registry.names() if sdk != "cpp"]
STORE_SHOWN = {*JAVA_REMOTING, "go-remoting", "cpp"}
"""SDKs that show the store time and the offset id of a message."""
MESSAGE_FIELDS = {
    *("h", "id", "topic", "body", "tag", "keys", "props", "group", "attempt", "queue", "offset", "born", "deliver_at"),
    *("stored", "offset_id", "broker", "born_host", "store_host"),
}
QUICK = {
    "messageDelayLevel": "1s 1s 1s 1s",
    "transactionTimeOut": 500,
    "transactionCheckInterval": 500,
    "transactionOpBatchInterval": 200,
}
"""Short delays for second attempts and second transaction checks."""
SECONDS = 30.0


class RunningDrivers:
    """One emulator, and one process of each driver that a test uses; tests use distinct names."""

    def __init__(self, emulator: Emulator, processes: contextlib.ExitStack) -> None:
        self.emulator = emulator
        self._processes = processes
        self._drivers: dict[str, Driver] = {}

    def driver(self, sdk: str) -> Driver:
        if sdk not in self._drivers:
            addresses = Addresses(namesrv=self.emulator.namesrv, endpoint=self.emulator.endpoint)
            self._drivers[sdk] = self._processes.enter_context(start(sdk, addresses))
        return self._drivers[sdk]


@pytest.fixture(scope="module")
def running() -> Iterator[RunningDrivers]:
    with Emulator(config=QUICK) as emulator, contextlib.ExitStack() as processes:
        yield RunningDrivers(emulator, processes)


def _everything(topic: str) -> Fields:
    return {topic: {"expr": "*", "type": "TAG"}}


def _queue(topic: str, number: int) -> Fields:
    return {"topic": topic, "broker": "broker-a", "queue": number}


def _about(text: bytes) -> Callable[[Fields], bool]:
    def about(event: Fields) -> bool:
        return body(event["msg"]) == text

    return about


@pytest.mark.parametrize("sdk", PUSH)
def test_a_listener_returns_the_outcomes_of_its_script(running: RunningDrivers, sdk: str) -> None:
    """A listener executes its script: the first attempt of each listed body has that outcome, the next one succeeds."""
    driver = running.driver(sdk)
    topic = group = f"script-{sdk.replace('.', '-')}"
    running.emulator.topic(topic, queues=1)
    running.emulator.group(group)
    script: Fields = {name: {f"{name}-me": 1} for name in ("fail", "throw", "suspend") if name in driver.outcomes}
    wanted = {b"plain": ["success"], **{f"{name}-me".encode(): [name, "success"] for name in script}}
    # An orderly consumer of a remoting SDK retries locally; other consumers wait for their SDK's next rebalance.
    mode = "orderly" if driver.hello["protocol"] == "remoting" else "concurrent"
    fields: Fields = {"sub": _everything(topic), "mode": mode, "from": "first", "begin": True, "suspend_ms": 100}
    driver.call("push", as_="script-c", group=group, hang_ms={"plain": 200, "*": 1}, **script, **fields)
    driver.call("producer", as_="script-p", topics=[topic], group=f"{group}-p")
    for one in wanted:
        driver.call("send", on="script-p", topic=topic, body=one, queue=0 if mode == "orderly" else None)

    def told(events: Sequence[Fields]) -> dict[bytes, list[str]]:
        mine = [event for event in events if event["of"] == "script-c" and event["ev"] == "msg"]
        return {one: [event["did"] for event in mine if body(event["msg"]) == one] for one in wanted}

    driver.wait_until(lambda events: all("success" in did for did in told(events).values()), SECONDS)
    events = driver.events("script-c")
    assert told(events) == wanted
    for event in events:
        assert set(event["msg"]) == MESSAGE_FIELDS
        assert (event["msg"]["stored"] is not None) == (sdk in STORE_SHOWN)
        assert (event["msg"]["offset_id"] is not None) == (sdk in STORE_SHOWN)
        assert event["msg"]["born_host"]
        if event["ev"] == "msg":
            assert event["ok"] == (event["did"] == "success")
            begun = {"ev": "begin", "of": "script-c", "t": event["t"], "msg": event["msg"]}
            assert begun in events[: events.index(event)]


@pytest.mark.parametrize("sdk", PUSH)
def test_a_script_with_an_outcome_that_the_consumer_lacks_is_refused(running: RunningDrivers, sdk: str) -> None:
    """A script with an outcome that the kind of consumer lacks is rejected, and no consumer is created."""
    driver = running.driver(sdk)
    lacking = {"throw", "suspend"} - driver.outcomes or {"suspend"}  # only orderly consumers have it
    for name in lacking:
        refused: Fields = {"sub": _everything("t"), "mode": "concurrent", name: {"x": 1}}
        with pytest.raises(DriverError) as caught:
            driver.call("push", as_="refused", group="g", **refused)
        assert caught.value.kind == "Unsupported"


@pytest.mark.parametrize("sdk", TRANSACTIONAL)
def test_transaction_checks_are_answered_by_body_and_number(running: RunningDrivers, sdk: str) -> None:
    """A list answers the n-th transaction check with its n-th item, a map by the body; every check is reported."""
    driver, emulator = running.driver(sdk), running.emulator
    topic = f"checks-{sdk.replace('.', '-')}"
    emulator.topic(topic, type="TRANSACTION", queues=1)
    check = {"later": ["UNKNOWN", "COMMIT"], "*": "ROLLBACK"}
    driver.call("producer", as_="checks-p", topics=[topic], group=f"{topic}-p", check=check)
    for text in (b"later", b"never"):
        driver.call("send_tx", on="checks-p", topic=topic, body=text, outcome="UNKNOWN")
    # The second check of the one message, and the only check of the other.
    driver.wait_until(lambda events: len([one for one in events if one["of"] == "checks-p"]) >= 3, SECONDS)
    events = driver.events("checks-p")
    asked = sorted((body(event["msg"]), event["n"], event["answer"]) for event in events)
    assert asked == [(b"later", 1, "UNKNOWN"), (b"later", 2, "COMMIT"), (b"never", 1, "ROLLBACK")]
    for event in events:
        assert set(event["msg"]) == MESSAGE_FIELDS
        # The broker also counts checks without a connected producer.
        assert event["times"] is None or event["times"] >= event["n"]
        assert abs(event["t"] - time.time() * 1000) < 60_000
    deadline = time.monotonic() + SECONDS
    while not emulator.messages(topic) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [message.body for message in emulator.messages(topic)] == [b"later"]


def _bodies(driver: Driver, count: int) -> list[bytes]:
    """Return the messages of polls until there are ``count``, or a poll is empty.

    A poll is longer than the second after which a paused client pulls again.
    """
    bodies: list[bytes] = []
    came = True
    while len(bodies) < count and came:
        messages = driver.call("poll", on="lite", ms=1500)["messages"]
        bodies += map(body, messages)
        came = bool(messages)
    return sorted(bodies)


def _until_it_waits(emulator: Emulator, topic: str, queue: int, offset: int) -> None:
    """Wait until a client that has pulled the message before `offset` holds a pull at `offset`."""

    def waits() -> bool:
        pulls = [
            (entry.event, entry.subject.queue_offset)
            for entry in emulator.journal
            if isinstance(entry.subject, PullMessage)
            and (entry.subject.topic, entry.subject.queue_id) == (topic, queue)
        ]
        responded = [number for number, pull in enumerate(pulls) if pull == ("responded", offset - 1)]
        return bool(responded) and ("parked", offset) in pulls[responded[-1] :]

    deadline = time.monotonic() + 30
    while not waits():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_a_lite_pull_consumer_assigns_pauses_resumes_and_seeks(running: RunningDrivers, sdk: str) -> None:
    """A lite pull consumer can assign, pause and resume queues, and seek and query by offset, end and time."""
    driver = running.driver(sdk)
    topic = group = f"lite-{sdk.replace('.', '-')}"
    running.emulator.topic(topic, queues=2)
    driver.call("producer", as_="lite-p", topics=[topic], group=f"{group}-p")
    for number in range(6):
        driver.call("send", on="lite-p", topic=topic, body=f"{number}".encode(), queue=number % 2)
    driver.call("lite", as_="lite", group=group, assign=topic, from_="first")
    assert driver.call("queues", on="lite")["queues"] == [_queue(topic, 0), _queue(topic, 1)]
    assert _bodies(driver, 6) == [b"0", b"1", b"2", b"3", b"4", b"5"]

    driver.call("assign", on="lite", topic=topic, numbers=[1])
    assert driver.call("queues", on="lite")["queues"] == [_queue(topic, 1)]
    driver.call("seek", on="lite", topic=topic, queue=1, to="first")
    assert _bodies(driver, 3) == [b"1", b"3", b"5"]
    driver.call("seek", on="lite", topic=topic, queue=1, offset=2)
    assert _bodies(driver, 1) == [b"5"]
    _until_it_waits(running.emulator, topic, 1, 3)

    driver.call("pause", on="lite", topic=topic, queue=1)
    # The pull that is already held returns the first of them; no further pull follows.
    for text in (b"6", b"7"):
        driver.call("send", on="lite-p", topic=topic, body=text, queue=1)
    early = _bodies(driver, 2)
    assert early in ([], [b"6"])
    driver.call("resume", on="lite", topic=topic)
    assert early + _bodies(driver, 2 - len(early)) == [b"6", b"7"]

    stored = [message.stored_at_ms for message in running.emulator.messages(topic) if message.queue_id == 1]
    offsets = driver.call("offsets", on="lite", topic=topic, queue=1, at=stored[-1] + 1)
    assert (offsets["min"], offsets["max"], offsets["at"]) == (0, 5, 5)
    assert offsets["earliest"] == stored[0]
    assert driver.call("offsets", on="lite", topic=topic, queue=1, at=stored[0])["at"] == 0
    driver.call("close", on="lite")


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_the_java_admin_creates_a_topic_and_finds_a_message(running: RunningDrivers, sdk: str) -> None:
    """The admin of the Java SDK creates a topic, shows its queues, and finds a message by offset id, id and key."""
    driver = running.driver(sdk)
    topic = f"admin-{sdk.replace('.', '-')}"
    driver.call("admin", as_="admin")
    driver.call("create_topic", on="admin", topic=topic, queues=2)
    assert running.emulator.topics[topic].queues == 2
    assert driver.call("route", on="admin", topic=topic)["queues"] == [_queue(topic, 0), _queue(topic, 1)]
    driver.call("producer", as_="admin-p", topics=[topic], group=f"{topic}-p")
    sent = driver.call("send", on="admin-p", topic=topic, body=b"found", keys=["k1"])
    for name in ("offset_id", "id"):
        assert body(driver.call("view", on="admin", topic=topic, id=sent[name])["message"]) == b"found"
    end = int(time.time() * 1000) + 60_000
    found = driver.call("query", on="admin", topic=topic, key="k1", begin=0, end=end)["messages"]
    assert [message["id"] for message in found] == [sent["id"]]
    assert driver.call("query", on="admin", topic=topic, key="k2")["messages"] == []
    driver.call("close", on="admin")


def test_the_go_admin_creates_lists_and_deletes_a_topic(running: RunningDrivers) -> None:
    """The admin of the Go SDK creates, lists, shows and deletes a topic, and lists groups."""
    driver, emulator = running.driver("go-remoting"), running.emulator
    emulator.group("admin-go-group")
    driver.call("admin", as_="admin")
    with pytest.raises(DriverError, match="broker"):
        driver.call("create_topic", on="admin", topic="admin-go")
    driver.call("create_topic", on="admin", topic="admin-go", queues=2, broker=emulator.broker)
    assert "admin-go" in driver.call("topics", on="admin")["topics"]
    queues = driver.call("route", on="admin", topic="admin-go")["queues"]
    assert queues == [_queue("admin-go", 0), _queue("admin-go", 1)]
    assert "admin-go-group" in driver.call("groups", on="admin", broker=emulator.broker)["groups"]
    driver.call("delete_topic", on="admin", topic="admin-go", broker=emulator.broker)
    assert "admin-go" not in driver.call("topics", on="admin")["topics"]
    driver.call("close", on="admin")


@pytest.mark.parametrize("sdk", [*JAVA_REMOTING, "go-remoting"])
def test_a_paused_push_consumer_pulls_nothing_until_it_is_resumed(running: RunningDrivers, sdk: str) -> None:
    driver = running.driver(sdk)
    topic = group = f"pause-{sdk.replace('.', '-')}"
    running.emulator.topic(topic, queues=1)
    driver.call("producer", as_="pause-p", topics=[topic], group=f"{group}-p")
    driver.call("push", as_="pause-c", group=group, sub=_everything(topic), mode="concurrent", from_="first")
    driver.call("send", on="pause-p", topic=topic, body=b"before the pause")
    driver.wait_for_event(_about(b"before the pause"), SECONDS)
    if "queues" in driver.verbs:
        assert _queue(topic, 0) in driver.call("queues", on="pause-c")["queues"]
    driver.call("pause", on="pause-c")
    # The pull that is already held returns the first.
    for text in (b"first in the pause", b"second in the pause"):
        driver.call("send", on="pause-p", topic=topic, body=text)
    time.sleep(0.5)
    assert b"second in the pause" not in {body(message) for message in driver.messages("pause-c")}
    driver.call("resume", on="pause-c")
    if sdk in JAVA_REMOTING:  # the Go SDK pulls again only after half a minute
        driver.wait_for_event(_about(b"second in the pause"), SECONDS)
