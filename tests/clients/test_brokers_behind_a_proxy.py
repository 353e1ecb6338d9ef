"""gRPC SDKs with a proxy of two brokers: sends are distributed, and each receipt handle is used at its own broker."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, Fields, body, start
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

pytestmark = pytest.mark.sampled

SDKS = ("java-grpc", "java-grpc-5.0", "go-grpc", "python", "node", "rust")
RENEWERS = tuple(sdk for sdk in SDKS if sdk != "rust")
"""SDKs that can change the invisible duration."""
RECALLERS = tuple(sdk for sdk in RENEWERS if sdk != "java-grpc-5.0")
"""SDKs that can recall a timed message."""
ORDERS: Fields = {"orders": {"expr": "*", "type": "TAG"}}
"""A subscription to all messages of the topic `orders`."""
INVISIBLE_MS = 20_000
"""The invisible duration of each receive."""


@contextmanager
def brokers(sdk: str, kind: str = "NORMAL", **config: object) -> Iterator[tuple[Emulator, Driver]]:
    """Start two brokers with a topic of two queues each, and an SDK that connects to their proxy."""
    with Emulator(brokers=2, topics=[f"orders:{kind}:2"], config=config) as emulator:
        emulator.group("billing", orderly=kind == "FIFO")
        with start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver:
            yield emulator, driver


def consumer(driver: Driver) -> None:
    """Start a simple consumer with short polls."""
    driver.call("simple", as_="c", group="billing", sub=ORDERS, await_ms=1_000)


def received(driver: Driver, count: int) -> list[Fields]:
    """Receive until there are `count` messages, and return them; with 0, receive four times.

    The field `h` of a message is its receipt handle, `attempt` the number of its delivery.
    """
    found: list[Fields] = []
    for _ in range(4 * count + 4):
        found += driver.call("receive", on="c", max=32, invisible_ms=INVISIBLE_MS)["messages"]
        if len(found) >= count > 0:
            break
    return found


def stored(emulator: Emulator) -> dict[str, set[bytes]]:
    """Return the bodies that each broker stores."""
    found: dict[str, set[bytes]] = defaultdict(set)
    for message in emulator.messages("orders"):
        found[message.broker].add(message.body)
    return found


def fill(emulator: Emulator, count: int) -> set[bytes]:
    """Store `count` messages at each broker; return all bodies, such as `broker-a 0`."""
    topic = emulator.topic("orders")
    bodies = [(name, b"%s %d" % (name.encode(), number)) for name in emulator.brokers for number in range(count)]
    for name, text in bodies:
        topic.send(text, broker=name)
    return {text for _, text in bodies}


@pytest.mark.parametrize("sdk", SDKS)
def test_acknowledged_messages_of_two_brokers_are_not_redelivered(sdk: str) -> None:
    """A simple consumer receives the messages of both brokers, and none that it acknowledges is redelivered."""
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
def test_a_changed_invisible_duration_applies_at_the_broker_of_the_message(sdk: str) -> None:
    """A changed invisible duration applies at the broker of each message, which redelivers it as a second attempt."""
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
def test_a_message_of_a_stopped_broker_is_redelivered_after_its_restart(sdk: str) -> None:
    """While its broker is stopped, a message cannot be acknowledged; it is redelivered after the restart.

    Messages of other brokers can be acknowledged meanwhile.
    """
    with brokers(sdk) as (emulator, driver):
        fill(emulator, 1)
        consumer(driver)
        taken = {body(message): message["h"] for message in received(driver, 2)}
        emulator.stop_broker("broker-b")
        driver.call("ack", on="c", h=taken[b"broker-a 0"])
        if sdk == "go-grpc":  # this SDK ignores the status
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
    """A message group uses one queue of one broker and keeps its order; several groups use several queues."""
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
def test_a_transaction_ends_at_the_broker_of_its_half_message(sdk: str) -> None:
    """A transaction is committed or rolled back at the broker of its half message."""
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
def test_a_recall_reaches_the_broker_of_the_timed_message(sdk: str) -> None:
    """A recall reaches the broker that the handle of the send names.

    Other timed messages are delivered by both brokers.
    """
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
def test_an_order_topic_uses_only_brokers_and_queues_of_its_configuration(sdk: str) -> None:
    """The proxy sends messages of an order topic only to the brokers and queues of its order configuration."""
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
