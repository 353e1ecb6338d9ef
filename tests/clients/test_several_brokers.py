"""Real SDKs with three brokers, and mqadmin with two brokers and their slaves."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from sdks import ALL, JAVA_REMOTING
from wait_budget import SECONDS, until

ORDERS: Fields = {"sub": {"orders": {"expr": "*", "type": "TAG"}}, "mode": "concurrent", "from": "first"}


def started(emulator: Emulator, sdk: str) -> Driver:
    return start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint))


def send(driver: Driver, numbers: Iterable[int]) -> None:
    """Send messages whose bodies are numbers; each send has to succeed."""
    for number in numbers:
        driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"%d" % number)


def holders(emulator: Emulator, numbers: range) -> set[str]:
    """Return the brokers that store these messages, and check that none is lost."""
    found = {int(message.body): message.broker for message in emulator.messages("orders")}
    return {found[number] for number in numbers}


def received(driver: Driver, consumer: str) -> set[bytes]:
    """Return the bodies that a push consumer received."""
    return {body(event["msg"]) for event in driver.events(consumer) if event["ev"] == "msg"}


def until_received(driver: Driver, expected: set[bytes]) -> None:
    """Wait until a push consumer has received all of these bodies."""
    driver.wait_until(lambda _: expected <= received(driver, "c"), SECONDS)


def until_held(driver: Driver, consumer: str, count: int) -> None:
    """Wait until a push consumer holds this number of the topic's queues."""

    def held() -> int:
        return sum(queue["topic"] == "orders" for queue in driver.call("queues", on=consumer)["queues"])

    until(lambda: held() == count, f"{consumer} holds {count} queues")


def until_connections_closed(address: str) -> None:
    """Wait until each client of a stopped broker has closed its connections to `address` (`host:port`) as well.

    Until then the broker's ends of them are in state FIN_WAIT1 or FIN_WAIT2.
    """
    port = f":{int(address.rpartition(':')[2]):04X}"

    def closing() -> list[list[str]]:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        return [row for row in rows if row[1].endswith(port) and row[3] in ("04", "05")]

    until(lambda: not closing(), f"no client is connected to {address}")


@pytest.mark.parametrize("sdk", ALL)
def test_sends_go_to_other_brokers_while_one_is_stopped(sdk: str) -> None:
    """No send fails while a broker is stopped.

    Remoting SDKs retry with another broker, and the proxy avoids the stopped one at once. The sends begin after the
    client has closed its connection to the broker: version 4.9 of the Java SDK waits for the whole timeout if it sends
    on a connection that the broker has closed and its own I/O thread has not (its `NettyConnectManageHandler` has no
    `channelInactive`, unlike that of 5.x), and then fails without a retry.
    """
    with Emulator(brokers=3, topics=["orders:NORMAL:2"]) as emulator, started(emulator, sdk) as driver:
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send(driver, range(18))
        assert holders(emulator, range(18)) == set(emulator.brokers)
        stopped = emulator.brokers["broker-b"]
        emulator.stop_broker("broker-b")
        until_connections_closed(stopped)
        send(driver, range(18, 36))
        assert holders(emulator, range(18, 36)) == {"broker-a", "broker-c"}


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_two_consumers_share_the_queues_of_all_brokers_until_one_leaves(sdk: str) -> None:
    """Two consumers hold half of the queues of all brokers each; after one has left, the other holds all.

    The remaining consumer also receives the messages of the other's queues.
    """
    with Emulator(brokers=3, topics=["orders:NORMAL:2"]) as emulator, started(emulator, sdk) as driver:
        emulator.group("billing")
        driver.call("push", as_="c", group="billing", **ORDERS)
        with started(emulator, sdk) as other:
            other.call("push", as_="d", group="billing", **ORDERS)
            until_held(driver, "c", 3)
            until_held(other, "d", 3)
        until_held(driver, "c", 6)
        topic = emulator.topic("orders")
        for broker in emulator.brokers:
            topic.send(broker.encode(), broker=broker)
        until_received(driver, {broker.encode() for broker in emulator.brokers})


def test_mqadmin_administers_several_brokers() -> None:
    """mqadmin lists brokers with ids, creates topics by cluster and by broker, wipes a broker, and shows its slaves."""
    with Emulator(brokers=2, slaves=1) as emulator:
        listed = mqadmin(emulator.namesrv, "clusterList")
        assert all(address in listed for address in (*emulator.brokers.values(), *emulator.slaves.values()))
        second = emulator.brokers["broker-b"]
        mqadmin(emulator.namesrv, "updateTopic", "-c", "DefaultCluster", "-t", "everywhere")
        mqadmin(emulator.namesrv, "updateTopic", "-b", second, "-t", "there")
        assert emulator.topics["everywhere"].brokers == ("broker-a", "broker-b")
        assert emulator.topics["there"].brokers == ("broker-b",)
        wiped = mqadmin(emulator.namesrv, "wipeWritePerm", "-b", "broker-b")
        assert "wipe write perm of broker[broker-b] in name server" in wiped
        status = mqadmin(emulator.namesrv, "haStatus", "-b", second)
        assert emulator.slaves["broker-b:1"] in status
