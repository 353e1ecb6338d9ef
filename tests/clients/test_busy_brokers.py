"""Real SDKs in front of a broker that is slow, busy or about to stop, while another one is at their service."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, start
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.overload.request_pools import Form
from rocketmq_testkit.fixtures import Emulator
from sdks import JAVA_REMOTING

SENDS = 8


@contextmanager
def beside(sdk: str, **keys: object) -> Iterator[tuple[Emulator, Driver]]:
    """Two brokers, the second with these keys, and an SDK that sends to a topic with a queue at each."""
    brokers: list[dict[str, object]] = [{"brokerName": "broker-a"}, {"brokerName": "broker-b", **keys}]
    with (
        Emulator(brokers=brokers, topics=["orders:NORMAL:1"]) as emulator,
        start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver,
    ):
        yield emulator, driver


def send(driver: Driver, numbers: Iterable[int] = range(SENDS)) -> None:
    """Messages whose bodies are numbers; each call has to succeed."""
    for number in numbers:
        driver.call("send", on="p", topic="orders", body=b"%d" % number)


def stored(emulator: Emulator, numbers: range = range(SENDS)) -> Counter[str]:
    """How many of these messages each broker holds, none of which is lost."""
    found = {int(message.body): message.broker for message in emulator.messages("orders")}
    return Counter(found[number] for number in numbers)


def refusals(emulator: Emulator, code: ResponseCode) -> int:
    """How many requests were refused so."""
    entries = emulator.journal.entries(lambda entry: isinstance(entry.outcome, EngineError))
    return sum(isinstance(entry.outcome, EngineError) and entry.outcome.code is code for entry in entries)


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_a_producer_that_minds_latencies_keeps_away_from_a_slow_broker(sdk: str) -> None:
    """It sends it one message in two seconds (5.3) or half a minute (4.9); another producer takes turns."""
    with beside(sdk, requestTimes="send=600") as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="minding", latency_fault=True)
        send(driver)
        assert stored(emulator) == {"broker-a": SENDS - 1, "broker-b": 1}
        driver.call("close", on="p")
        driver.call("producer", as_="p", topics=["orders"], group="not-minding")
        send(driver, range(SENDS, 2 * SENDS))
        assert stored(emulator, range(SENDS, 2 * SENDS)) == {"broker-a": SENDS // 2, "broker-b": SENDS // 2}


@pytest.mark.parametrize("minds", [True, False])
@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_a_producer_that_minds_failures_asks_a_busy_broker_once(sdk: str, minds: bool) -> None:
    """Another one asks it again and again; 5.3 goes on to the other broker each time, 4.9 tells its caller."""
    with beside(sdk, requestRefusals="send=TIMEOUT_CLEAN_QUEUE") as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop", latency_fault=minds)
        told: list[int | None] = []
        for number in range(SENDS):
            try:
                send(driver, [number])
            except DriverError as refused:
                told.append(refused.code)
        busy = refusals(emulator, ResponseCode.SYSTEM_BUSY)
        assert (busy == 1) is minds
        assert told == ([ResponseCode.SYSTEM_BUSY] * busy if sdk == "java-remoting-4.9" else [])
        assert {message.broker for message in emulator.messages("orders")} == {"broker-a"}


@pytest.mark.parametrize("form", Form)
def test_each_form_of_being_busy_sends_clients_to_another_broker(form: Form) -> None:
    """They go by the code, which is the same."""
    with beside("java-remoting", requestRefusals=f"send={form.name}") as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send(driver)
        assert stored(emulator) == {"broker-a": SENDS}


def send_twice_at_most(driver: Driver, numbers: Iterable[int]) -> None:
    """As `send`, for a client that is told to go away.

    Its heartbeat may be told at the same moment, comes again too, and closes the connection that the message just went
    over: the SDK waits for that answer until its time is over, since both of its attempts shared it.
    """
    for number in numbers:
        try:
            send(driver, [number])
        except DriverError as lost:
            if lost.kind != "RemotingTooMuchRequestException":
                raise
            send(driver, [number])


def test_new_clients_leave_a_broker_that_tells_them_to() -> None:
    """They come again once and are told again, and then try the other broker."""
    with beside("java-remoting", goAwayEnable=True) as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send_twice_at_most(driver, range(SENDS))
        assert stored(emulator) == {"broker-a": SENDS}
        assert refusals(emulator, ResponseCode.GO_AWAY) >= 2


def test_a_broker_that_is_about_to_stop_is_left_in_time() -> None:
    """By new clients: nothing that they send is stored there any more, and nothing is lost."""
    with beside("java-remoting", enableShutdownGracefully=True, shutdownWaitTimeSeconds=30) as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send(driver)
        assert set(stored(emulator)) == {"broker-a", "broker-b"}
        emulator.stop_broker("broker-b")
        send_twice_at_most(driver, range(SENDS, 2 * SENDS))
        assert stored(emulator, range(SENDS, 2 * SENDS)) == {"broker-a": SENDS}
        assert [member.running for member in emulator.broker_states] == [True, True]
        emulator.clock.advance("30s")
        assert [member.running for member in emulator.broker_states] == [True, False]


def test_old_clients_are_served_to_the_end() -> None:
    """By a broker that is about to stop, as long as they know its address."""
    with beside("java-remoting-4.9", goAwayEnable=True) as (emulator, driver):
        driver.call("producer", as_="p", topics=["orders"], group="shop")
        send(driver)
        assert stored(emulator) == {"broker-a": SENDS // 2, "broker-b": SENDS // 2}
