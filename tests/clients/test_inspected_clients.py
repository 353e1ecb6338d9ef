"""Inspection while real SDKs are connected, compared with the SDKs' own view and with mqadmin.

The drivers of all SDKs start together, and the tests share them.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from mqadmin_text import cells
from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, start
from rocketmq_testkit.conformance.drivers.registry import recipe
from rocketmq_testkit.fixtures import Emulator, NotFound
from rocketmq_testkit.fixtures.views.inspection import InspectionView
from sdks import ALL

pytestmark = pytest.mark.sampled

Drivers = dict[str, Driver]
WAIT_S = 60.0


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        for name in ("plain", "tagged", "ordered", "polled"):
            running.topic(name, queues=1)
        running.topic("paid", type="TRANSACTION", queues=1)
        running.topic("later", type="DELAY", queues=1)
        yield running


@pytest.fixture(scope="module")
def drivers(emulator: Emulator) -> Iterator[Drivers]:
    """All drivers, which start at the same time."""
    addresses = Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)
    with ExitStack() as opened:
        yield {sdk: opened.enter_context(start(sdk, addresses)) for sdk in ALL}


@pytest.fixture
def inspection(emulator: Emulator) -> InspectionView:
    return emulator.inspection


def until(condition: Callable[[], Any]) -> Any:
    """Return the first true value of a condition that an SDK fulfills some time later. Fails after 60 s."""
    deadline = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert time.monotonic() < deadline, condition
    return found


def subscribed(topic: str, expression: str = "*") -> dict[str, dict[str, str]]:
    return {topic: {"expr": expression, "type": "TAG"}}


@pytest.mark.parametrize("sdk", ALL)
def test_connection_of_each_sdk_is_listed_until_it_closes(
    emulator: Emulator, inspection: InspectionView, drivers: Drivers, sdk: str
) -> None:
    group, driver = f"group-{sdk.replace('.', '-')}", drivers[sdk]
    emulator.group(group)
    kind = "simple" if "simple" in driver.verbs else "push"
    driver.call(kind, as_="c", group=group, sub=subscribed("plain"))
    # On a busy machine the SDK for Python starts without a route. It asks for the route again after 30 s.
    emulator.wait_for_consumer(group, timeout="1m")
    found = [each for each in inspection.connections() if group in each.groups]
    assert found
    for connection in found:
        assert connection.protocol == recipe(sdk).protocol
        assert connection.language == emulator.clients[connection.client].language
        assert connection.version == emulator.clients[connection.client].version
        assert connection.address.startswith("127.0.0.1:")
        assert connection.last_heartbeat_ms is not None
        assert connection.since_ms <= connection.last_heartbeat_ms
    [member] = inspection.group(group).members
    client = emulator.clients[member.client]
    assert (member.language, member.version) == (client.language, client.version)
    driver.call("close", on="c")
    until(lambda: not [each for each in inspection.connections() if group in each.groups])
    # The SDK for Java closes its connections some time after it has left its groups.
    past = until(lambda: "it left at" in (text := lookup_error(emulator, client.id)) and text)
    assert f" ({client.language} {client.version}, " in past


def lookup_error(emulator: Emulator, client: str) -> str:
    with pytest.raises(NotFound) as missing:
        emulator.clients[client]
    return str(missing.value)


def test_receipt_names_the_client_and_progress_equals_mqadmin(
    emulator: Emulator, inspection: InspectionView, drivers: Drivers
) -> None:
    emulator.group("readers")
    driver = drivers["python"]
    driver.call("simple", as_="reader", group="readers", sub=subscribed("tagged"), await_ms=2_000)
    for body in (b"one", b"two", b"three"):
        emulator.topics["tagged"].send(body)
    first, second = [driver.call("receive", on="reader", max=1, invisible_ms=60_000)["messages"][0] for _ in range(2)]
    driver.call("ack", on="reader", h=first["h"])
    (receipt,) = inspection.receipts("readers")
    assert [receipt.client] == [client.id for client in emulator.groups["readers"].members]
    assert (receipt.attempt, receipt.place.topic, receipt.place.queue_offset) == (1, "tagged", second["offset"] or 1)
    (queue,) = inspection.queues("tagged")
    progress = queue.groups["readers"]
    assert (progress.committed, progress.delivered, progress.in_flight) == (2, 2, 1)
    shown = cells(mqadmin(emulator.namesrv, "consumerProgress", "-g", "readers"))
    (row,) = [row for row in shown if row[0] == "tagged"]
    assert row[3:5] == [str(queue.end), str(progress.committed)]
    driver.call("close", on="reader")


def test_members_that_subscribe_differently_disagree_as_mqadmin_shows(
    emulator: Emulator, inspection: InspectionView, drivers: Drivers
) -> None:
    for sdk, tag in (("java-remoting", "a"), ("java-remoting-4.9", "b")):
        drivers[sdk].call("push", as_="m", group="divided", sub=subscribed("tagged", tag), mode="concurrent")
    until(lambda: len(inspection.group("divided").members) == 2)
    found = inspection.group("divided")
    own = [{each.topic: each.expression for each in member.subscriptions}["tagged"] for member in found.members]
    assert sorted(own) == ["a", "b"]
    assert found.disagreements == ("tagged",)
    shown = mqadmin(emulator.namesrv, "consumerConnection", "-g", "divided")
    # The Java SDK renews the version of its subscription after each rebalance, so the newest one may change.
    used = [
        each.expression
        for view in (found, inspection.group("divided"))
        for each in view.subscriptions
        if each.topic == "tagged"
    ]
    assert [row for row in cells(shown) if row in [["tagged", expression] for expression in used]]
    assert {member.client for member in found.members} <= set(re.split(r"\s+", shown))
    for sdk in ("java-remoting", "java-remoting-4.9"):
        drivers[sdk].call("close", on="m")


@pytest.mark.parametrize("strategy", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"])
def test_assignment_equals_that_of_the_sdk(
    emulator: Emulator, inspection: InspectionView, drivers: Drivers, strategy: str
) -> None:
    topic, group = f"split-{strategy}", f"split-{strategy}"
    emulator.topic(topic, queues=8)
    members = {"java-remoting": drivers["java-remoting"], "java-remoting-4.9": drivers["java-remoting-4.9"]}
    for driver in members.values():
        driver.call("push", as_=group, group=group, sub=subscribed(topic), mode="concurrent", allocate=strategy)
    until(lambda: len(inspection.group(group).members) == 2)

    def agree() -> bool:
        assigned: dict[str, set[int]] = {}
        for view in inspection.assignments(group, topic):
            assigned.setdefault(view.client or "", set()).add(view.queue_id)
        own = [
            {queue["queue"] for queue in driver.call("queues", on=group)["queues"] if queue["topic"] == topic}
            for driver in members.values()
        ]
        # With consistent hashing a member may have no queue: the client ids differ in each run.
        theirs = [queues for queues in own if queues]
        return sorted(map(sorted, assigned.values())) == sorted(map(sorted, theirs)) and sum(map(len, own)) == 8

    until(agree)
    # A pull of the earlier owner that arrives late hides the strategy until the new owner pulls again.
    until(lambda: {view.strategy for view in inspection.assignments(group, topic)} == {strategy})
    for driver in members.values():
        driver.call("close", on=group)


def test_lock_of_an_orderly_consumer_names_its_client(
    emulator: Emulator, inspection: InspectionView, drivers: Drivers
) -> None:
    drivers["java-remoting"].call("push", as_="o", group="orderly", sub=subscribed("ordered"), mode="orderly")
    lock = until(lambda: next((lock for lock in inspection.locks() if lock.topic == "ordered"), None))
    assert [lock.client] == [member.client for member in inspection.group("orderly").members]
    assert (lock.group, lock.broker, lock.queue_id) == ("orderly", "broker-a", 0)
    drivers["java-remoting"].call("close", on="o")


def test_checks_of_a_half_message_are_counted(emulator: Emulator, inspection: InspectionView, drivers: Drivers) -> None:
    driver = drivers["java-grpc"]
    driver.call("producer", as_="tx", topics=["paid"], check="UNKNOWN")
    sent = driver.call("send_tx", on="tx", topic="paid", body=b"half", outcome="UNKNOWN")
    (half,) = inspection.half_messages()
    assert (half.message_id, half.topic, half.checks) == (sent["id"], "paid", 0)
    now_ms = emulator.run_on_loop(lambda host: host.engine.scheduler.now_ms)
    assert half.next_check_ms is not None
    emulator.clock.advance(f"{half.next_check_ms - now_ms + 1}ms")
    (half,) = inspection.half_messages()
    assert half.checks == 1
    driver.call("close", on="tx")


def test_timed_message_is_listed_until_its_time(
    emulator: Emulator, inspection: InspectionView, drivers: Drivers
) -> None:
    driver = drivers["go-grpc"]
    driver.call("producer", as_="t", topics=["later"])
    now_ms = emulator.run_on_loop(lambda host: host.engine.scheduler.now_ms)
    sent = driver.call("send", on="t", topic="later", body=b"timed", deliver_at=now_ms + 3_600_000)
    (timer,) = [timer for timer in inspection.timers() if timer.message_id == sent["id"]]
    assert (timer.topic, timer.kind) == ("later", "wheel")
    assert 0 <= timer.due_ms - now_ms - 3_600_000 <= 1_000
    emulator.clock.advance("1h 2s")
    assert sent["id"] not in {timer.message_id for timer in inspection.timers()}
    driver.call("close", on="t")


def test_waiting_pull_names_the_client(emulator: Emulator, inspection: InspectionView, drivers: Drivers) -> None:
    drivers["go-remoting"].call("push", as_="w", group="waiting", sub=subscribed("polled"), mode="concurrent")
    poll = until(lambda: next((poll for poll in inspection.polls() if poll.topic == "polled"), None))
    assert (poll.group, poll.kind, poll.queue_id) == ("waiting", "pull", 0)
    assert [poll.client] == [member.client for member in inspection.group("waiting").members]
    assert poll.since_ms < poll.until_ms
    drivers["go-remoting"].call("close", on="w")


def test_configuration_equals_that_of_mqadmin(emulator: Emulator, inspection: InspectionView) -> None:
    shown = mqadmin(emulator.namesrv, "getBrokerConfig", "-b", emulator.broker)
    pairs = re.findall(r"^(\w+) +=(.*)$", shown, re.MULTILINE)
    values = {key: value.strip() for key, value in pairs}
    found = {key.key: key.value for key in inspection.configuration("broker-a")}
    common = values.keys() & found.keys()
    assert len(common) > 100
    assert {key: found[key] for key in common if found[key] != "***"} == {
        key: values[key] for key in common if found[key] != "***"
    }
