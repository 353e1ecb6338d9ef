"""Real consumers whose process is killed or hangs, and other consumers of their group that take over."""

import re

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, Fields, body, start
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.clients import ConsumerListResult, GetConsumerListByGroup
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.host.host import Host
from suspended import suspended
from wait_budget import SECONDS, until

pytestmark = pytest.mark.sampled

ORDERS: Fields = {"group": "billing", "sub": {"orders": {"expr": "*", "type": "TAG"}}}
FOREVER_MS = 600_000
"""Time (ms) that a listener hangs: longer than any test."""
PUSHED: Fields = {**ORDERS, "mode": "concurrent", "from": "first"}


def started(emulator: Emulator, sdk: str) -> Driver:
    return start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint))


def until_held(driver: Driver, count: int) -> None:
    """Wait until a push consumer holds this number of the topic's queues, if its SDK reports them."""
    if "queues" not in driver.verbs:
        return

    def held() -> int:
        return sum(queue["topic"] == "orders" for queue in driver.call("queues", on="c")["queues"])

    until(lambda: held() == count, f"it holds {count} queues")


def until_members(emulator: Emulator, count: int) -> None:
    """Wait until the broker has registered this number of consumers of the group."""

    def listed(host: Host) -> int:
        try:
            found = host.engine.execute(host.engine.brokers[0], GetConsumerListByGroup("billing"))
        except EngineError:
            return 0
        assert isinstance(found, ConsumerListResult)
        return len(found.client_ids)

    until(lambda: emulator.run_on_loop(listed) == count, f"there are {count} members")


@pytest.mark.parametrize("sdk", ["java-remoting", "java-remoting-4.9", "go-remoting", "cpp"])
def test_the_queues_of_a_killed_consumer_are_assigned_to_another(sdk: str) -> None:
    """When a consumer is killed, the broker detects the closed connection and notifies the group, which rebalances."""
    with Emulator(topics=["orders:NORMAL:2"]) as emulator:
        emulator.group("billing")
        with started(emulator, sdk) as first, started(emulator, sdk) as second:
            for driver in (first, second):
                driver.call("push", as_="c", **PUSHED)
            until_members(emulator, 2)
            for driver in (first, second):
                until_held(driver, 1)
            first.kill()
            until_members(emulator, 1)
            until_held(second, 2)
            sent = {b"%d" % number for number in range(8)}
            for content in sent:
                emulator.topic("orders").send(content)
            second.wait_until(
                lambda _: sent <= {body(event["msg"]) for event in second.events("c") if event["ev"] == "msg"}, SECONDS
            )


def received(driver: Driver) -> list[bytes]:
    return [body(message) for message in driver.messages("c")]


def held(driver: Driver) -> list[bytes]:
    """Return the bodies of the messages that a listener has begun to process."""
    return [body(event["msg"]) for event in driver.events("c") if event["ev"] == "begin"]


@pytest.mark.parametrize(
    ("sdk", "mode"), [("java-remoting", "orderly"), ("java-remoting", "concurrent"), ("go-remoting", "concurrent")]
)
def test_queues_and_messages_of_an_expired_hanging_consumer_go_to_another(sdk: str, mode: str) -> None:
    """The test expires a consumer in a suspended process, which would keep its connection for another 130 s.

    The broker assigns its queues, locks and unacknowledged messages to another consumer.
    """
    with Emulator(time="frozen", topics=["orders:NORMAL:2"]) as emulator:
        emulator.group("billing", orderly=mode == "orderly")
        with started(emulator, sdk) as first, started(emulator, sdk) as second:
            for driver, hang_ms in ((first, FOREVER_MS), (second, 0)):
                driver.call("push", as_="c", **{**PUSHED, "mode": mode}, begin=True, hang_ms={"*": hang_ms})
            until_members(emulator, 2)
            for driver in (first, second):
                until_held(driver, 1)
            before = set(emulator.clients)
            sent = {b"%d" % number for number in range(8)}
            for content in sent:
                emulator.topic("orders").send(content)
            first.wait_until(lambda _: held(first) != [], SECONDS)
            [process] = first.pids
            with suspended(process):
                in_flight = held(first)
                [hung] = [each for each in emulator.clients.values() if re.search(rf"\b{process}\b", each.id)]
                hung.expire()
                assert set(emulator.clients) == before - {hung.id}
                until_held(second, 2)
                second.wait_until(lambda _: sent <= {*received(second)}, SECONDS)
                emulator.clock.advance("150s", wait="60s")
            assert received(first) == []
            assert {*in_flight} <= {*received(second)}


@pytest.mark.parametrize("sdk", ["java-grpc", "go-grpc", "python", "node"])
def test_a_message_of_an_expired_hanging_push_consumer_goes_to_another(sdk: str) -> None:
    """The message that a gRPC push consumer has not acknowledged is redelivered a second after the consumer expires.

    Until then the proxy renews the invisible duration of the message; with the client it ends the duration (upstream:
    ReceiptHandleProcessor.clearGroup).
    """
    with Emulator(time="frozen", topics=["orders:NORMAL:1"]) as emulator:
        emulator.group("billing")
        with started(emulator, sdk) as first, started(emulator, sdk) as second:
            first.call("push", as_="c", **PUSHED, begin=True, hang_ms={"*": FOREVER_MS})
            emulator.wait_for_consumer("billing", timeout="1m")
            emulator.topic("orders").send(b"hello")
            first.wait_until(lambda _: held(first) == [b"hello"], SECONDS)
            [hung] = emulator.clients.values()
            with suspended(first.pids[0]):
                second.call("push", as_="c", **PUSHED)
                until_members(emulator, 2)
                emulator.clock.advance("10m", wait=None)
                second.call("hello")
                assert received(second) == []
                hung.expire()
                assert hung.id not in emulator.clients
                emulator.clock.advance_until(lambda: received(second), limit="2s", wait="60s")
            [again] = second.messages("c")
            assert (body(again), again["attempt"]) == (b"hello", 2)


@pytest.mark.parametrize("sdk", ["java-grpc", "java-grpc-5.0", "go-grpc", "python", "node", "rust"])
def test_a_message_of_an_expired_hanging_simple_consumer_goes_to_another(sdk: str) -> None:
    """The message of a suspended and expired simple consumer is redelivered when its invisible duration ends."""
    with Emulator(time="frozen", topics=["orders:NORMAL:1"]) as emulator:
        emulator.group("billing")
        emulator.topic("orders").send(b"hello")
        with started(emulator, sdk) as first, started(emulator, sdk) as second:
            first.call("simple", as_="c", await_ms=5000, **ORDERS)
            emulator.wait_for_consumer("billing", timeout="1m")
            [taken] = first.call("receive", on="c", max=1, invisible_ms=30_000)["messages"]
            [hung] = emulator.clients.values()
            with suspended(first.pids[0]):
                second.call("simple", as_="c", await_ms=5000, **ORDERS)
                until_members(emulator, 2)
                hung.expire()
                assert hung.id not in emulator.clients
                emulator.clock.advance("29s")
                assert second.call("receive", on="c", max=1, invisible_ms=30_000, timeout=SECONDS)["messages"] == []
                emulator.clock.advance("6s")
                [again] = second.call("receive", on="c", max=1, invisible_ms=30_000, timeout=SECONDS)["messages"]
            assert (body(again), again["attempt"]) == (body(taken), 2)


@pytest.mark.parametrize("sdk", ["java-grpc", "java-grpc-5.0", "go-grpc", "python", "node", "rust"])
def test_messages_of_a_killed_consumer_are_redelivered_to_another(sdk: str) -> None:
    """Messages received by a killed consumer are redelivered to another one when their invisible duration ends."""
    with Emulator(time="frozen", topics=["orders:NORMAL:1"]) as emulator:
        emulator.group("billing")
        emulator.topic("orders").send(b"hello")
        with started(emulator, sdk) as first, started(emulator, sdk) as second:
            for driver in (first, second):
                driver.call("simple", as_="c", await_ms=5000, **ORDERS)
            until_members(emulator, 2)  # some SDKs receive before they have settings
            [taken] = first.call("receive", on="c", max=1, invisible_ms=30_000)["messages"]
            first.kill()
            emulator.clock.advance("29s")
            assert second.call("receive", on="c", max=1, invisible_ms=30_000, timeout=SECONDS)["messages"] == []
            emulator.clock.advance("6s")
            [again] = second.call("receive", on="c", max=1, invisible_ms=30_000, timeout=SECONDS)["messages"]
            assert (body(again), again["attempt"]) == (body(taken), 2)
