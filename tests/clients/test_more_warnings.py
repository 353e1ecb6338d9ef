"""Warnings about mistakes that unmodified SDKs do not report, each provoked by an application."""

from collections.abc import Iterator
from typing import Any

import pytest
from acl_keys import ACL_KEYS
from rocketmq_testkit.conformance.drivers.process import Driver, DriverError, body
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.warnings.warnings import EmulatorWarning
from rocketmq_testkit.remoting.client import Credentials
from shared_drivers import EVERYTHING, SharedDrivers

WAIT = "30s"
FIRST: dict[str, Any] = {"from": "first"}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """One emulator for all kinds of warnings. The tests use distinct names."""
    with Emulator(config={"initPopOffsetByCheckMsgInMem": False}) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def drivers(emulator: Emulator) -> Iterator[SharedDrivers]:
    with SharedDrivers(emulator, "java-remoting", "java-grpc", "go-remoting", "python") as drivers:
        yield drivers


def _of(emulator: Emulator, group: str) -> list[EmulatorWarning]:
    return [each for each in emulator.warnings if each.group == group]


def _consume(driver: Driver, name: str, group: str, topic: str, **fields: Any) -> None:
    """Start a push consumer named `name` of a group, of all messages of a topic from the first on."""
    subscribed = {topic: {"expr": fields.pop("tags", "*"), "type": "TAG"}}
    driver.call("push", as_=name, group=group, sub=subscribed, **{**FIRST, **fields})


@pytest.mark.parametrize("sdk", ["python", "java-remoting"])
def test_order(emulator: Emulator, drivers: SharedDrivers, sdk: str) -> None:
    """Consumers of a FIFO topic with a group that is not orderly, or with a concurrent listener, cause a warning."""
    topic, group = f"tables-{sdk}", f"waiters-{sdk}"
    emulator.topic(topic, type="FIFO", queues=1)
    if sdk == "python":
        drivers[sdk].call("simple", as_=group, group=group, sub={topic: EVERYTHING}, await_ms=1000)
    else:
        _consume(drivers[sdk], group, group, topic)
    emulator.wait_for_consumer(group, assigned=sdk != "python", timeout=WAIT)
    [warning] = _of(emulator, group)
    assert (warning.kind, warning.topic) == ("order", topic)
    assert f"reads the FIFO topic '{topic}' and is not orderly" in warning.text


def test_subscriptions(emulator: Emulator, drivers: SharedDrivers) -> None:
    """Two members with different tags cause a warning that names both tags."""
    emulator.topic("orders")
    for name, tags in (("dine-in", "table"), ("take-away", "street")):
        _consume(drivers["java-remoting"], name, "kitchen", "orders", tags=tags)
    emulator.wait_for_consumer("kitchen", timeout=WAIT)
    [warning] = _of(emulator, "kitchen")
    assert (warning.kind, warning.topic) == ("subscriptions", "orders")
    assert "to 'table'" in warning.text
    assert "to 'street'" in warning.text


def test_shared_group(emulator: Emulator, drivers: SharedDrivers) -> None:
    """Listeners of two topics in one group cause a warning that names both topics."""
    for topic in ("bills", "refunds"):
        emulator.topic(topic)
        _consume(drivers["go-remoting"], topic, "accounting", topic)
    emulator.wait_for_consumer("accounting", timeout=WAIT)
    [warning] = _of(emulator, "accounting")
    assert (warning.kind, warning.topic) == ("shared group", None)
    assert "'bills'" in warning.text
    assert "'refunds'" in warning.text


def test_missing_topic(emulator: Emulator, drivers: SharedDrivers) -> None:
    """A producer whose topic does not exist, or was deleted, causes a warning with the name of the topic."""
    driver = drivers["python"]
    emulator.topic("menus")
    driver.call("producer", as_="printer", topics=["menus"])
    with pytest.raises(DriverError):
        driver.call("send", on="printer", topic="menu", body=b"soup")
    emulator.delete_topic("menus")
    with pytest.raises(DriverError):
        driver.call("send", on="printer", topic="menus", body=b"soup")
    found = {each.topic: each.text for each in emulator.warnings if each.kind == "missing topic"}
    assert found["menu"] == "QueryRoute for 'menu': there is no such topic; there is 'menus'"
    assert found["menus"].startswith("SendMessage for 'menus': there is no such topic")


@pytest.mark.parametrize(("sdk", "mode", "offset"), [("java-grpc", "concurrent", 2), ("java-remoting", "broadcast", 3)])
def test_starts_at_end(emulator: Emulator, drivers: SharedDrivers, sdk: str, mode: str, *, offset: int) -> None:
    """A group that starts at the end after the test has sent causes a warning with the number of skipped messages.

    A gRPC group starts at the last message of a queue whose first messages are no longer in memory, a broadcasting
    group behind the last message.
    """
    topic, group = f"reservations-{sdk}", f"host-{sdk}"
    emulator.topic(topic, queues=1)
    for guests in (b"two", b"four", b"six"):
        emulator.topic(topic).send(guests)
    _consume(drivers[sdk], group, group, topic, mode=mode, **{"from": "last"})
    emulator.wait_for_consumer(group, assigned=True, timeout=WAIT)
    [warning] = _of(emulator, group)
    assert (warning.kind, warning.topic) == ("starts at end", topic)
    assert f"(offset {offset}), so {offset} messages" in warning.text


@pytest.mark.parametrize("sdk", ["python", "java-grpc"])
def test_slow_listener(emulator: Emulator, drivers: SharedDrivers, sdk: str) -> None:
    """An acknowledgement after the invisible duration causes a warning with the delay and the duration."""
    driver, topic, group = drivers[sdk], f"dishes-{sdk}", f"washers-{sdk}"
    emulator.topic(topic, queues=1)
    driver.call("simple", as_=group, group=group, sub={topic: EVERYTHING}, await_ms=20_000)
    emulator.topic(topic).send(b"plate")
    [message] = driver.call("receive", on=group, max=1, invisible_ms=10_000)["messages"]
    emulator.clock.advance("12s", wait=None)
    with pytest.raises(DriverError):
        driver.call("ack", on=group, h=message["h"])
    [warning] = _of(emulator, group)
    assert warning.kind == "slow listener"
    assert f"a message of '{topic}' (queue 0, offset 0)" in warning.text
    assert "its invisible duration of 10 s had ended" in warning.text


def test_hidden_refusal() -> None:
    """An orderly consumer without the right on its retry topic causes a warning; its SDK reports nothing."""
    with Emulator(topics=["orders:NORMAL:1"], config=ACL_KEYS) as emulator:
        emulator.user("shop", "shop-secret", allow={"Topic:orders": ["Pub", "Sub"], "Group:kitchen": "Sub"})
        keys = Credentials("shop", "shop-secret")
        with SharedDrivers(emulator, "java-remoting", credentials=keys) as drivers:
            fails = {"mode": "orderly", "max_reconsume": 1, "fail": {"*": 9}, "suspend_ms": 10}
            _consume(drivers["java-remoting"], "c", "kitchen", "orders", **fails)
            emulator.topic("orders").send(b"two teas")
            emulator.clock.advance_until(lambda: emulator.warnings, limit="1m", wait=WAIT)
        [warning] = emulator.warnings
    assert (warning.kind, warning.topic) == ("hidden refusal", "%RETRY%kitchen")
    assert warning.text.startswith("SEND_MESSAGE_V2 of ")
    assert "was refused with NO_PERMISSION" in warning.text


def _remoting_application(emulator: Emulator, driver: Driver) -> None:
    """Send before and after the start of two consumers, one of which fails once; read a FIFO topic in order."""
    driver.call("producer", as_="p", topics=["orders", "tables"], group="shop")
    driver.call("send", on="p", topic="orders", body=b"early", tag="a")
    _consume(driver, "c1", "kitchen", "orders", fail={"late": 1})
    _consume(driver, "c2", "kitchen", "orders", fail={"late": 1})
    _consume(driver, "c3", "waiters", "tables", mode="orderly")
    driver.call("send", on="p", topic="orders", body=b"late", tag="b")
    driver.call("send", on="p", topic="tables", body=b"one", group="t")
    emulator.clock.advance_until(lambda: _bodies(driver) == {b"early", b"late", b"one"}, limit="1m", wait=WAIT)


def _bodies(driver: Driver) -> set[bytes]:
    return {body(event["msg"]) for event in driver.events() if event["ev"] == "msg" and event["ok"]}


def _grpc_application(emulator: Emulator, driver: Driver) -> None:
    """Receive and acknowledge with simple consumers, of a normal topic and of a FIFO topic in order."""
    emulator.group("waiters", orderly=True)
    driver.call("producer", as_="p", topics=["orders", "tables"])
    for name, group, topic in (("c1", "kitchen", "orders"), ("c2", "kitchen", "orders"), ("c3", "waiters", "tables")):
        driver.call("simple", as_=name, group=group, sub={topic: EVERYTHING}, await_ms=20_000)
    driver.call("send", on="p", topic="orders", body=b"two teas", tag="a")
    driver.call("send", on="p", topic="tables", body=b"one", group="t")
    for name in ("c1", "c3"):
        [message] = driver.call("receive", on=name, max=1, invisible_ms=30_000)["messages"]
        driver.call("ack", on=name, h=message["h"])


@pytest.mark.parametrize(
    ("sdk", "run"),
    [("java-remoting", _remoting_application), ("go-remoting", _remoting_application), ("python", _grpc_application)],
)
def test_an_ordinary_application_causes_no_warning(sdk: str, run: Any) -> None:
    """Applications that send, consume, fail once and read in order cause no warning."""
    with Emulator(topics=["orders:NORMAL:2", "tables:FIFO:1"]) as emulator, SharedDrivers(emulator, sdk) as drivers:
        run(emulator, drivers[sdk])
        assert emulator.warnings == ()
