"""Real SDKs in front of several brokers: one is taken down, wiped or brought back, and a slave is read from."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle

import pytest
from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, Fields, body, start
from rocketmq_testkit.fixtures import Emulator, Topic
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request_code import RequestCode

JAVA = ("java-remoting", "java-remoting-4.9")
REMOTING = (*JAVA, "go-remoting")
PUSH = (*REMOTING, "cpp", "java-grpc", "java-grpc-5.0", "go-grpc", "python", "node")
"""Those that have push consumers."""
SHARING = tuple(sdk for sdk in PUSH if sdk != "cpp")
"""Told by several brokers at once that the group has changed, C++'s may wait for itself for ever.

The thread that rebalances waits for the answer to a pull; the others, as many as processors, may all wait for that one.
"""
PRODUCERS = (*PUSH, "rust")
SECONDS = 60.0
"""For what a client does by itself, on a machine that is busy with other things."""
ORDERS: Fields = {"sub": {"orders": {"expr": "*", "type": "TAG"}}, "mode": "concurrent", "from": "first"}


def started(emulator: Emulator, sdk: str) -> Driver:
    return start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint))


@contextmanager
def with_slave(sdk: str, **config: object) -> Iterator[tuple[Emulator, Topic, Driver]]:
    """A master and its slave, which may be read from, their topic, and an SDK in front of them."""
    keys = {"slaveReadEnable": True, **config}
    with Emulator(slaves=1, topics=["orders:NORMAL:1"], config=keys) as emulator, started(emulator, sdk) as driver:
        emulator.group("billing")
        yield emulator, emulator.topic("orders"), driver


@contextmanager
def consumed_by_one(sdk: str) -> Iterator[tuple[Emulator, Driver]]:
    """Three brokers with a topic, and a push consumer `c` of an SDK that has it for itself."""
    with Emulator(brokers=3, topics=["orders:NORMAL:2"]) as emulator, started(emulator, sdk) as driver:
        emulator.group("billing")
        driver.call("push", as_="c", group="billing", **ORDERS)
        yield emulator, driver


def send(driver: Driver, numbers: Iterable[int]) -> None:
    """Messages whose bodies are numbers; each call has to succeed."""
    for number in numbers:
        driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"%d" % number)


def holders(emulator: Emulator, numbers: range) -> set[str]:
    """The brokers that hold these messages, none of which is lost."""
    found = {int(message.body): message.broker for message in emulator.messages("orders")}
    return {found[number] for number in numbers}


def send_to_all(emulator: Emulator, first: int) -> set[bytes]:
    """Messages whose bodies are numbers, four for each of three brokers."""
    topic, numbers = emulator.topic("orders"), range(first, first + 12)
    for number, broker in zip(numbers, cycle(emulator.brokers), strict=False):
        topic.send(b"%d" % number, broker=broker)
    return {b"%d" % number for number in numbers}


def given(driver: Driver, consumer: str) -> set[bytes]:
    """The bodies that a push consumer was given."""
    return {body(event["msg"]) for event in driver.events(consumer) if event["ev"] == "msg"}


def until_given(driver: Driver, expected: set[bytes]) -> None:
    """Wait until a push consumer was given all of these."""
    driver.wait_until(lambda _: expected <= given(driver, "c"), SECONDS)


def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for what processes of their own do, of which no single one tells."""
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not so after {SECONDS:g} s"
        time.sleep(0.05)


def until_held(driver: Driver, consumer: str, count: int) -> None:
    """Wait until a push consumer holds so many queues of the topic."""

    def held() -> int:
        return sum(queue["topic"] == "orders" for queue in driver.call("queues", on=consumer)["queues"])

    until(lambda: held() == count, f"{consumer} holds {count} queues")


def until_pulled_from_slave(emulator: Emulator, offset: int) -> None:
    """Wait until the slave, the second broker, was pulled from up to an offset."""

    def pulled() -> int:
        return emulator.run_in_loop(lambda host: host.engine.brokers[1].offsets.pulled("billing", "orders", 0))

    until(lambda: pulled() == offset, f"the slave was pulled from up to {offset}")


@pytest.mark.parametrize("sdk", PRODUCERS)
def test_sends_go_to_other_brokers_while_one_is_down(sdk: str) -> None:
    """No send fails: SDKs of the remoting protocol try another broker, the proxy knows better at once."""
    with Emulator(brokers=3, topics=["orders:NORMAL:2"]) as emulator, started(emulator, sdk) as driver:
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send(driver, range(18))
        assert holders(emulator, range(18)) == set(emulator.brokers)
        emulator.stop_broker("broker-b")
        send(driver, range(18, 36))
        assert holders(emulator, range(18, 36)) == {"broker-a", "broker-c"}


@pytest.mark.parametrize("sdk", PRODUCERS)
def test_sends_avoid_a_broker_whose_write_permission_was_wiped(sdk: str) -> None:
    """Until it is given back, which a producer that starts then knows from its routes."""
    with (
        Emulator(brokers=2, topics=["orders:NORMAL:2"]) as emulator,
        started(emulator, sdk) as driver,
        RemotingClient(emulator.namesrv) as admin,
    ):
        for code, numbers, expected in (
            (RequestCode.WIPE_WRITE_PERM_OF_BROKER, range(12), {"broker-b"}),
            (RequestCode.ADD_WRITE_PERM_OF_BROKER, range(12, 24), {"broker-a", "broker-b"}),
        ):
            assert admin.request(code, {"brokerName": "broker-a"}).code == 0
            driver.call("producer", as_="p", topics=["orders"], group=f"shop-{numbers.start}")
            send(driver, numbers)
            assert holders(emulator, numbers) == expected
            driver.call("close", on="p")


@pytest.mark.parametrize("sdk", [*JAVA, "cpp"])
def test_an_order_topic_is_fixed_to_its_brokers(sdk: str) -> None:
    """A producer goes by the order configuration that comes with the route: to these brokers and queues alone."""
    keys = {"orderMessageEnable": True}
    with Emulator(brokers=2, topics=["orders:NORMAL:4"], config=keys) as emulator:
        mqadmin(emulator.namesrv, "updateOrderConf", "-m", "put", "-t", "orders", "-v", "broker-b:2")
        with started(emulator, sdk) as driver:
            driver.call("producer", as_="p", topics=["orders"], group="shop")
            send(driver, range(12))
        found = {(message.broker, message.queue_id) for message in emulator.messages("orders")}
        assert found == {("broker-b", 0), ("broker-b", 1)}


@pytest.mark.parametrize("sdk", JAVA)
def test_queues_of_all_brokers_are_spread_and_handed_over(sdk: str) -> None:
    """Two consumers have half of them each; when one has left, the other has all, and what that one did not consume."""
    with consumed_by_one(sdk) as (emulator, driver):
        with started(emulator, sdk) as other:
            other.call("push", as_="d", group="billing", **ORDERS)
            until_held(driver, "c", 3)
            until_held(other, "d", 3)
        until_held(driver, "c", 6)
        topic = emulator.topic("orders")
        for broker in emulator.brokers:
            topic.send(broker.encode(), broker=broker)
        until_given(driver, {broker.encode() for broker in emulator.brokers})


@pytest.mark.parametrize("sdk", SHARING)
def test_two_consumers_share_the_messages_of_all_brokers(sdk: str) -> None:
    """Both are given some; when one has left, the other is given what comes to whichever broker."""
    with consumed_by_one(sdk) as (emulator, driver):
        with started(emulator, sdk) as other:
            other.call("push", as_="d", group="billing", **ORDERS)
            sent: set[bytes] = set()

            def shared() -> bool:
                sent.update(send_to_all(emulator, len(sent)))
                return bool(given(driver, "c") and given(other, "d"))

            until(shared, "both are given some")
            until(lambda: sent <= given(driver, "c") | given(other, "d"), "one of them is given each")
            other.call("close", on="d", timeout=SECONDS)
        until_given(driver, send_to_all(emulator, len(sent)))


def test_mqadmin_administers_several_brokers() -> None:
    """It lists them with their ids, makes topics by cluster and by broker, wipes a broker, and asks for its slaves."""
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


@pytest.mark.parametrize("sdk", PUSH)
def test_a_consumer_goes_on_when_a_broker_is_back(sdk: str) -> None:
    """It gets what other brokers have meanwhile, and then what that one has, each message from its own broker."""
    with Emulator(brokers=2, topics=["orders:NORMAL:2"]) as emulator, started(emulator, sdk) as driver:
        emulator.group("billing")
        topic = emulator.topic("orders")
        driver.call("push", as_="c", group="billing", **ORDERS)
        topic.send(b"a 1", broker="broker-a")
        topic.send(b"b 1", broker="broker-b")
        until_given(driver, {b"a 1", b"b 1"})
        emulator.stop_broker("broker-b")
        topic.send(b"a 2", broker="broker-a")
        until_given(driver, {b"a 2"})
        emulator.start_broker("broker-b")
        topic.send(b"b 2", broker="broker-b")
        until_given(driver, {b"b 2"})


@pytest.mark.parametrize("sdk", [*JAVA, "cpp"])
def test_a_slave_is_consumed_from_while_its_master_is_down(sdk: str) -> None:
    """Also by a consumer that starts then: where its group was is known to the slave since its last look."""
    with with_slave(sdk) as (emulator, topic, driver):
        topic.send(b"1")
        topic.send(b"2")
        emulator.clock.advance("61s")
        emulator.stop_broker("broker-a")
        driver.call("push", as_="c", group="billing", **ORDERS)
        until_given(driver, {b"1", b"2"})


@pytest.mark.parametrize("sdk", REMOTING)
def test_a_consumer_goes_on_at_the_slave(sdk: str) -> None:
    """One that runs already: Go's SDK asks none but the master where its group was, and needs it once."""
    with with_slave(sdk) as (emulator, topic, driver):
        driver.call("push", as_="c", group="billing", **ORDERS)
        topic.send(b"1")
        until_given(driver, {b"1"})
        emulator.clock.advance("61s")
        driver.call("pause", on="c")
        topic.send(b"2")
        topic.send(b"3")
        emulator.stop_broker("broker-a")
        driver.call("resume", on="c")
        until_given(driver, {b"2", b"3"})
        until_pulled_from_slave(emulator, 3)


@pytest.mark.parametrize("sdk", [*REMOTING, "cpp"])
def test_who_is_far_behind_is_sent_to_the_slave(sdk: str) -> None:
    """A master suggests its slave, and the SDK pulls there next; offsets are committed at the master."""
    with with_slave(sdk, accessMessageInMemoryMaxRatio=0) as (emulator, topic, driver):
        for number in range(100):
            topic.send(b"%d" % number)
        emulator.clock.advance("61s")
        driver.call("push", as_="c", group="billing", **ORDERS)
        until_given(driver, {b"%d" % number for number in range(100)})
        until_pulled_from_slave(emulator, 100)
