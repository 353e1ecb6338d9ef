"""What drivers can do beyond sending and receiving: scripts of listeners, checks, pull, administration."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from sdk_ways import WAYS

PUSHING = [sdk for sdk, ways in WAYS.items() if "concurrent" in ways]
JAVA_REMOTING = ("java-remoting", "java-remoting-4.9")
TRANSACTIONAL = [sdk for sdk in registry.names() if sdk != "cpp"]
STORED_SHOWN = {"java-remoting", "java-remoting-4.9", "go-remoting", "cpp"}
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
"""So that a second attempt and a second check come soon."""
SECONDS = 30.0


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """One emulator for the tests of this module; names keep them apart."""
    with Emulator(config=QUICK) as emulator:
        yield emulator


def _start(emulator: Emulator, sdk: str) -> Driver:
    return start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint))


def _everything(topic: str) -> Fields:
    return {topic: {"expr": "*", "type": "TAG"}}


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about within {SECONDS:g} s"
        time.sleep(0.05)


@pytest.mark.parametrize("sdk", PUSHING)
def test_a_listener_does_what_its_script_says(emulator: Emulator, sdk: str) -> None:
    """Each outcome in `hello` is done for the first attempt of its body and told, and another follows; no other is taken."""
    topic = group = f"script-{sdk.replace('.', '-')}"
    remoting = registry.recipe(sdk).protocol == "remoting"
    emulator.topic(topic, queues=1)
    emulator.group(group)
    with _start(emulator, sdk) as driver:
        wanted = {"fail": {"fail-me": 1}, "throw": {"throw-me": 1}, "suspend": {"suspend-me": 1}}
        for name in {"throw", "suspend"} - driver.outcomes:
            with pytest.raises(DriverError) as caught:
                driver.call("push", as_="n", group=group, sub=_everything(topic), mode="orderly", **{name: {"x": 1}})
            assert caught.value.kind == "Unsupported"
        script: Fields = {name: table for name, table in wanted.items() if name in driver.outcomes}
        bodies = [b"plain", *(f"{name}-me".encode() for name in script)]
        # An orderly consumer of a remoting SDK tries again by itself; others wait for their SDK's next rebalance.
        mode = "orderly" if remoting else "concurrent"
        fields: Fields = {"sub": _everything(topic), "mode": mode, "from": "first", "begin": True, "suspend_ms": 100}
        driver.call("push", as_="c", group=group, hang_ms={"plain": 200, "*": 1}, **script, **fields)
        driver.call("producer", as_="p", topics=[topic], group=f"{group}-p")
        for one in bodies:
            driver.call("send", on="p", topic=topic, body=one, **({"queue": 0} if mode == "orderly" else {}))

        def answered(events: Sequence[Fields]) -> bool:
            return {body(event["msg"]) for event in events if event["ev"] == "msg" and event["ok"]} == set(bodies)

        driver.wait_until(answered, SECONDS)
        events = driver.events("c")
    did = {one: [event["did"] for event in events if event["ev"] == "msg" and body(event["msg"]) == one] for one in bodies}
    assert did == {one: [*([] if one == b"plain" else [one.decode().removesuffix("-me")]), "success"] for one in bodies}
    for event in events:
        assert set(event["msg"]) == MESSAGE_FIELDS
        assert (event["msg"]["stored"] is not None) == (sdk in STORED_SHOWN)
        assert event["msg"]["born_host"]
        if event["ev"] == "msg":
            assert event["ok"] == (event["did"] == "success")
            begun = {"ev": "begin", "of": "c", "t": event["t"], "msg": event["msg"]}
            assert begun in events[: events.index(event)]


@pytest.mark.parametrize("sdk", TRANSACTIONAL)
def test_checks_are_answered_by_body_and_in_turn(emulator: Emulator, sdk: str) -> None:
    """A list answers the n-th check with its n-th item, a map goes by the body, and every check is told."""
    topic = f"checks-{sdk.replace('.', '-')}"
    emulator.topic(topic, type="TRANSACTION", queues=1)
    with _start(emulator, sdk) as driver:
        check = {"later": ["UNKNOWN", "COMMIT"], "*": "ROLLBACK"}
        driver.call("producer", as_="p", topics=[topic], group=f"{topic}-p", check=check)
        for text in (b"later", b"never"):
            driver.call("send_tx", on="p", topic=topic, body=text, outcome="UNKNOWN")
        _until(lambda: [message.body for message in emulator.messages(topic)] == [b"later"], "the commit")
        events = [event for event in driver.events("p") if event["ev"] == "check"]
    asked = {text: [(one["n"], one["answer"]) for one in events if body(one["msg"]) == text] for text in (b"later", b"never")}
    assert asked == {b"later": [(1, "UNKNOWN"), (2, "COMMIT")], b"never": [(1, "ROLLBACK")]}
    for event in events:
        assert set(event["msg"]) == MESSAGE_FIELDS
        assert event["times"] in (None, event["n"])
        assert abs(event["t"] - time.time() * 1000) < 60_000


def _bodies(driver: Driver, count: int) -> list[bytes]:
    """What polls bring until there are ``count`` messages, or nothing comes for a second."""
    bodies: list[bytes] = []
    came = True
    while len(bodies) < count and came:
        messages = driver.call("poll", on="l", ms=1000)["messages"]
        bodies += map(body, messages)
        came = bool(messages)
    return sorted(bodies)


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_lite_pull_is_steered(emulator: Emulator, sdk: str) -> None:
    """Queues are assigned, paused and resumed; positions are set and asked by offset, end and time."""
    topic = group = f"lite-{sdk.replace('.', '-')}"
    emulator.topic(topic, queues=2)
    with _start(emulator, sdk) as driver:
        driver.call("producer", as_="p", topics=[topic], group=f"{group}-p")
        for number in range(6):
            driver.call("send", on="p", topic=topic, body=f"{number}".encode(), queue=number % 2)
        driver.call("lite", as_="l", group=group, assign=topic, from_="first")
        assert driver.call("queues", on="l")["queues"] == [_queue(topic, 0), _queue(topic, 1)]
        assert _bodies(driver, 6) == [b"0", b"1", b"2", b"3", b"4", b"5"]

        driver.call("assign", on="l", topic=topic, numbers=[1])
        assert driver.call("queues", on="l")["queues"] == [_queue(topic, 1)]
        driver.call("seek", on="l", topic=topic, queue=1, to="first")
        assert _bodies(driver, 3) == [b"1", b"3", b"5"]
        driver.call("seek", on="l", topic=topic, queue=1, offset=2)
        assert _bodies(driver, 1) == [b"5"]

        driver.call("pause", on="l", topic=topic, queue=1)
        # The pull that is under way at the broker brings the first of them, no other follows it.
        for text in (b"6", b"7"):
            driver.call("send", on="p", topic=topic, body=text, queue=1)
        early = _bodies(driver, 2)
        assert early in ([], [b"6"])
        driver.call("resume", on="l", topic=topic)
        assert early + _bodies(driver, 2 - len(early)) == [b"6", b"7"]

        first = emulator.messages(topic)[0].store_timestamp_ms
        offsets = driver.call("offsets", on="l", topic=topic, queue=1, at=0)
        assert (offsets["min"], offsets["max"], offsets["at"]) == (0, 5, 0)
        assert offsets["earliest"] >= first


def _queue(topic: str, number: int) -> Fields:
    return {"topic": topic, "broker": "broker-a", "queue": number}


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_the_java_client_administers(emulator: Emulator, sdk: str) -> None:
    """An admin creates a topic, shows its queues, and finds a message by offset id, by id and by key."""
    topic = f"admin-{sdk.replace('.', '-')}"
    with _start(emulator, sdk) as driver:
        driver.call("admin", as_="a")
        driver.call("create_topic", on="a", topic=topic, queues=2)
        assert emulator.topics[topic].queues == 2
        assert driver.call("route", on="a", topic=topic)["queues"] == [_queue(topic, 0), _queue(topic, 1)]
        driver.call("producer", as_="p", topics=[topic], group=f"{topic}-p")
        sent = driver.call("send", on="p", topic=topic, body=b"found", keys=["k1"])
        for name in ("offset_id", "id"):
            assert body(driver.call("view", on="a", topic=topic, id=sent[name])["message"]) == b"found"
        found = driver.call("query", on="a", topic=topic, key="k1", begin=0, end=int(time.time() * 1000) + 60_000)
        assert [message["id"] for message in found["messages"]] == [sent["id"]]
        assert driver.call("query", on="a", topic=topic, key="k2")["messages"] == []
        driver.call("close", on="a")


def test_the_go_client_administers(emulator: Emulator) -> None:
    """An admin creates, lists, shows and deletes a topic, and lists groups."""
    emulator.group("admin-go-group")
    with _start(emulator, "go-remoting") as driver:
        driver.call("admin", as_="a")
        with pytest.raises(DriverError, match="broker"):
            driver.call("create_topic", on="a", topic="admin-go")
        driver.call("create_topic", on="a", topic="admin-go", queues=2, broker=emulator.broker)
        assert "admin-go" in driver.call("topics", on="a")["topics"]
        assert driver.call("route", on="a", topic="admin-go")["queues"] == [_queue("admin-go", 0), _queue("admin-go", 1)]
        assert "admin-go-group" in driver.call("groups", on="a", broker=emulator.broker)["groups"]
        driver.call("delete_topic", on="a", topic="admin-go", broker=emulator.broker)
        assert "admin-go" not in driver.call("topics", on="a")["topics"]
        driver.call("close", on="a")


@pytest.mark.parametrize("sdk", [*JAVA_REMOTING, "go-remoting"])
def test_a_push_consumer_pauses(emulator: Emulator, sdk: str) -> None:
    """A paused consumer is given nothing more, and all of it once it is resumed."""
    topic = group = f"pause-{sdk.replace('.', '-')}"
    emulator.topic(topic, queues=1)
    with _start(emulator, sdk) as driver:
        driver.call("producer", as_="p", topics=[topic], group=f"{group}-p")
        driver.call("push", as_="c", group=group, sub=_everything(topic), mode="concurrent", from_="first")

        def send_and_see(text: bytes) -> None:
            driver.call("send", on="p", topic=topic, body=text)
            driver.wait_for_event(lambda event: body(event["msg"]) == text, SECONDS)

        send_and_see(b"before")
        if "queues" in driver.verbs:
            held = driver.call("queues", on="c")["queues"]
            assert _queue(topic, 0) in held
        driver.call("pause", on="c")
        # One pull may be under way at the broker.
        driver.call("send", on="p", topic=topic, body=b"first")
        driver.call("send", on="p", topic=topic, body=b"second")
        time.sleep(0.5)
        assert b"second" not in {body(message) for message in driver.messages("c")}
        driver.call("resume", on="c")
        for text in (b"first", b"second"):
            driver.wait_for_event(_about(text), SECONDS)


def _about(text: bytes) -> Callable[[Fields], bool]:
    def about(event: dict[str, Any]) -> bool:
        return body(event["msg"]) == text

    return about
