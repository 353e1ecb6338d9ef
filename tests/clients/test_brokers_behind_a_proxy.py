"""gRPC SDKs in front of a proxy that serves several brokers: what they send is spread, what they take goes back."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

SDKS = ("java-grpc", "java-grpc-5.0", "go-grpc", "python", "node", "rust")
RENEWERS = tuple(sdk for sdk in SDKS if sdk != "rust")
"""Those that can change the invisible time."""
RECALLERS = tuple(sdk for sdk in RENEWERS if sdk != "java-grpc-5.0")
"""Those that can take a timed message back."""
ORDERS: Fields = {"orders": {"expr": "*", "type": "TAG"}}
HIDDEN_MS = 20_000


@contextmanager
def brokers(sdk: str, kind: str = "NORMAL", **config: object) -> Iterator[tuple[Emulator, Driver]]:
    """Two brokers with a topic of two queues each, and an SDK in front of their proxy."""
    with Emulator(brokers=2, topics=[f"orders:{kind}:2"], config=config) as emulator:
        emulator.group("billing", orderly=kind == "FIFO")
        with start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
            yield emulator, driver


def consumer(driver: Driver) -> None:
    """A simple consumer that does not wait long."""
    driver.call("simple", as_="c", group="billing", sub=ORDERS, await_ms=1_000)


def received(driver: Driver, count: int) -> list[Fields]:
    """What is received until there are so many, and then no more."""
    found: list[Fields] = []
    for _ in range(4 * count + 4):
        found += driver.call("receive", on="c", max=32, invisible_ms=HIDDEN_MS)["messages"]
        if len(found) >= count > 0:
            break
    return found


def stored(emulator: Emulator) -> dict[str, set[bytes]]:
    """The bodies that each broker has."""
    found: dict[str, set[bytes]] = defaultdict(set)
    for message in emulator.messages("orders"):
        found[message.broker].add(message.body)
    return found


def fill(emulator: Emulator, count: int) -> set[bytes]:
    """Messages of each broker that say where they lie; all of them."""
    topic = emulator.topic("orders")
    bodies = [(name, b"%s %d" % (name.encode(), number)) for name in emulator.brokers for number in range(count)]
    for name, text in bodies:
        topic.send(text, broker=name)
    return {text for _, text in bodies}


@pytest.mark.parametrize("sdk", SDKS)
def test_what_is_taken_from_all_brokers_is_acknowledged_there(sdk: str) -> None:
    """A simple consumer gets the messages of both, and none of those that it acknowledges comes again."""
    with brokers(sdk) as (emulator, driver):
        bodies = fill(emulator, 4)
        consumer(driver)
        taken = received(driver, 8)
        assert {body(message) for message in taken} == bodies
        assert len(taken) == 8
        driver.call("ack", on="c", h=[message["h"] for message in taken])
        emulator.clock.advance("2m")
        assert received(driver, 0) == []


@pytest.mark.parametrize("sdk", RENEWERS)
def test_what_is_hidden_again_is_hidden_at_its_broker(sdk: str) -> None:
    """Messages of both come again after the time that was asked for last, each for the second time."""
    with brokers(sdk) as (emulator, driver):
        bodies = fill(emulator, 1)
        consumer(driver)
        for message in received(driver, 2):
            driver.call("invisible", on="c", h=message["h"], ms=120_000)
        emulator.clock.advance("90s")
        assert received(driver, 0) == []
        emulator.clock.advance("60s")
        again = received(driver, 2)
        assert {body(message) for message in again} == bodies
        assert {message["attempt"] for message in again} == {2}


@pytest.mark.parametrize("sdk", SDKS)
def test_a_message_waits_for_its_broker(sdk: str) -> None:
    """While that is down it cannot be acknowledged, that of another can; it comes again when its broker is back."""
    with brokers(sdk) as (emulator, driver):
        fill(emulator, 1)
        consumer(driver)
        taken = {body(message): message["h"] for message in received(driver, 2)}
        emulator.stop_broker("broker-b")
        driver.call("ack", on="c", h=taken[b"broker-a 0"])
        if sdk == "go-grpc":  # it does not look at the status
            driver.call("ack", on="c", h=taken[b"broker-b 0"])
        else:
            with pytest.raises(DriverError) as refused:
                driver.call("ack", on="c", h=taken[b"broker-b 0"])
            assert refused.value.code == pb.INVALID_RECEIPT_HANDLE
        emulator.start_broker("broker-b")
        emulator.clock.advance("1m")
        (again,) = received(driver, 1)
        assert body(again) == b"broker-b 0"
        driver.call("ack", on="c", h=again["h"])


@pytest.mark.parametrize("sdk", SDKS)
def test_a_message_group_has_one_queue_of_one_broker(sdk: str) -> None:
    """However many brokers and queues there are; several groups use more than one, and each keeps its order."""
    with brokers(sdk, "FIFO") as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        for number in range(3):
            for name in "abcdefgh":
                driver.call("send", on="p", topic="orders", body=f"{name}{number}".encode(), group=name)
        places: dict[bytes, list[tuple[str, int, bytes]]] = defaultdict(list)
        for message in emulator.messages("orders"):
            places[message.body[:1]].append((message.broker, message.queue_id, message.body[1:]))
        assert all(len({place[:2] for place in found}) == 1 for found in places.values())
        assert all([place[2] for place in found] == [b"0", b"1", b"2"] for found in places.values())
        assert len({found[0][:2] for found in places.values()}) > 1
        assert stored(emulator).keys() == set(emulator.brokers)


@pytest.mark.parametrize("sdk", SDKS)
def test_a_transaction_ends_at_its_broker(sdk: str) -> None:
    """Those of both brokers that are committed are there, at the broker that had the half message; others are not."""
    with brokers(sdk, "TRANSACTION") as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop", check="UNKNOWN")
        for number in range(8):
            outcome = "COMMIT" if number % 3 else "ROLLBACK"
            driver.call("send_tx", on="p", topic="orders", body=b"%d" % number, outcome=outcome)
        emulator.clock.advance("10s")
        found = stored(emulator)
        assert set().union(*found.values()) == {b"1", b"2", b"4", b"5", b"7"}
        assert found.keys() == set(emulator.brokers)


@pytest.mark.parametrize("sdk", RECALLERS)
def test_a_timed_message_is_taken_back_at_its_broker(sdk: str) -> None:
    """The handle of a send names the broker; what is not taken back comes from both."""
    with brokers(sdk, "DELAY", recallMessageEnable=True) as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        due_ms = emulator.clock.now_ms + 600_000
        sent = [
            driver.call("send", on="p", topic="orders", body=b"%d" % number, deliver_at=due_ms) for number in range(8)
        ]
        for each in sent[:4]:
            driver.call("recall", on="p", topic="orders", handle=each["recall"])
        emulator.clock.advance("11m")
        found = stored(emulator)
        assert set().union(*found.values()) == {b"4", b"5", b"6", b"7"}
        assert found.keys() == set(emulator.brokers)


@pytest.mark.parametrize("sdk", SDKS)
def test_an_order_topic_is_fixed_to_its_brokers(sdk: str) -> None:
    """The proxy sends to the brokers and queues of its order configuration alone."""
    with Emulator(brokers=2, topics=["orders:NORMAL:4"], config={"orderMessageEnable": True}) as emulator:
        with RemotingClient(emulator.namesrv) as admin:
            fixed = {"namespace": "ORDER_TOPIC_CONFIG", "key": "orders", "value": "broker-b:2"}
            assert admin.request(RequestCode.PUT_KV_CONFIG, fixed).code == 0
        with start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
            driver.call("producer", as_="p", topics=["orders"], group="shop")
            for number in range(8):
                driver.call("send", on="p", topic="orders", body=b"%d" % number)
        found = {(message.broker, message.queue_id) for message in emulator.messages("orders")}
        assert found == {("broker-b", 0), ("broker-b", 1)}
