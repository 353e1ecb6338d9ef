"""Real SDKs with a broker that is slow, busy or about to stop, and a second broker that works."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, start
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.overload.request_pools import RefusalForm
from rocketmq_testkit.fixtures import Emulator
from sdks import JAVA_REMOTING

SENDS = 8


@contextmanager
def two_brokers(sdk: str, **keys: object) -> Iterator[tuple[Emulator, Driver]]:
    """Start two brokers, the second with these keys, and an SDK that sends to a topic with a queue on each."""
    brokers: list[dict[str, object]] = [{"brokerName": "broker-a"}, {"brokerName": "broker-b", **keys}]
    with (
        Emulator(brokers=brokers, topics=["orders:NORMAL:1"]) as emulator,
        start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver,
    ):
        yield emulator, driver


def send(driver: Driver, numbers: Iterable[int] = range(SENDS)) -> None:
    """Send messages whose bodies are numbers; each send has to succeed."""
    for number in numbers:
        driver.call("send", on="p", topic="orders", body=b"%d" % number)


def stored(emulator: Emulator, numbers: range = range(SENDS)) -> Counter[str]:
    """Return the number of these messages at each broker, and check that none is lost."""
    found = {int(message.body): message.broker for message in emulator.messages("orders")}
    return Counter(found[number] for number in numbers)


def refusals(emulator: Emulator, code: ResponseCode) -> int:
    """Return the number of requests that were rejected with this code."""
    entries = emulator.journal.entries(lambda entry: isinstance(entry.outcome, EngineError))
    return sum(isinstance(entry.outcome, EngineError) and entry.outcome.code is code for entry in entries)


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_a_producer_with_latency_fault_tolerance_avoids_a_slow_broker(sdk: str) -> None:
    """A producer with latency fault tolerance avoids a slow broker; another producer sends to both by turns.

    To the slow broker it sends one message in two seconds (5.3) or in half a minute (4.9).
    """
    with two_brokers(sdk, requestTimes="send=600") as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="minding", latency_fault=True)
        send(driver)
        assert stored(emulator) == {"broker-a": SENDS - 1, "broker-b": 1}
        driver.call("close", on="p")
        driver.call("producer", as_="p", topics=["orders"], group="not-minding")
        send(driver, range(SENDS, 2 * SENDS))
        assert stored(emulator, range(SENDS, 2 * SENDS)) == {"broker-a": SENDS // 2, "broker-b": SENDS // 2}


@pytest.mark.parametrize("latency_fault", [True, False])
@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_a_producer_with_latency_fault_tolerance_sends_to_a_busy_broker_once(sdk: str, latency_fault: bool) -> None:
    """A producer with latency fault tolerance sends to a busy broker once, another producer repeatedly.

    5.3 then retries with the other broker, 4.9 raises the error to its caller.
    """
    with two_brokers(sdk, requestRefusals="send=TIMEOUT_CLEAN_QUEUE") as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop", latency_fault=latency_fault)
        codes: list[int | None] = []
        for number in range(SENDS):
            try:
                send(driver, [number])
            except DriverError as refused:
                codes.append(refused.code)
        busy = refusals(emulator, ResponseCode.SYSTEM_BUSY)
        assert (busy == 1) is latency_fault
        assert codes == ([ResponseCode.SYSTEM_BUSY] * busy if sdk == "java-remoting-4.9" else [])
        assert {message.broker for message in emulator.messages("orders")} == {"broker-a"}


@pytest.mark.parametrize("form", RefusalForm)
def test_each_form_of_a_busy_response_makes_clients_use_another_broker(form: RefusalForm) -> None:
    """Each form of a busy response makes the client send to another broker, because all have the same code."""
    with two_brokers("java-remoting", requestRefusals=f"send={form.name}") as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send(driver)
        assert stored(emulator) == {"broker-a": SENDS}


def send_twice_at_most(driver: Driver, numbers: Iterable[int]) -> None:
    """Send like `send`, for a client that receives GO_AWAY.

    Its heartbeat may receive GO_AWAY at the same moment. The reconnect of the heartbeat then closes the connection over
    which the message was just sent. The SDK waits for that response until its timeout, since both of its attempts
    shared it.
    """
    for number in numbers:
        try:
            send(driver, [number])
        except DriverError as lost:
            if lost.kind != "RemotingTooMuchRequestException":
                raise
            send(driver, [number])


def test_new_clients_leave_a_broker_that_responds_go_away() -> None:
    """New clients reconnect once to a broker that responds GO_AWAY, and then use the other broker."""
    with two_brokers("java-remoting", goAwayEnable=True) as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send_twice_at_most(driver, range(SENDS))
        assert stored(emulator) == {"broker-a": SENDS}
        assert refusals(emulator, ResponseCode.GO_AWAY) >= 2


def test_new_clients_leave_a_broker_during_its_graceful_shutdown() -> None:
    """New clients leave a broker during its graceful shutdown, and no message is lost."""
    with two_brokers("java-remoting", enableShutdownGracefully=True, shutdownWaitTimeSeconds=30) as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send(driver)
        assert set(stored(emulator)) == {"broker-a", "broker-b"}
        emulator.stop_broker("broker-b")
        send_twice_at_most(driver, range(SENDS, 2 * SENDS))
        assert stored(emulator, range(SENDS, 2 * SENDS)) == {"broker-a": SENDS}
        assert [member.running for member in emulator.broker_states] == [True, True]
        emulator.clock.advance("30s")
        assert [member.running for member in emulator.broker_states] == [True, False]


def test_old_clients_are_served_by_a_broker_with_go_away_enable() -> None:
    """Old clients are served by a broker during its graceful shutdown as long as they know its address."""
    with two_brokers("java-remoting-4.9", goAwayEnable=True) as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send(driver)
        assert stored(emulator) == {"broker-a": SENDS // 2, "broker-b": SENDS // 2}
