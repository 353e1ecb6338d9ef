"""Workloads with transactions: sends that are committed at once, and sends that are committed after a check."""

import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future

from rocketmq_testkit.conformance.drivers.process import Driver, Fields
from servers import Server, create_topic
from warm_up import WarmUp
from workloads import BODY_BYTES, Figure, Meter, Work, load_driver, new_name

OUTSTANDING = 32
"""Commands that a driver carries out at a time. They are sent by this process, one for each transaction."""
CHECK_SETTINGS: Mapping[str, str] = {"transactionCheckInterval": "1000", "transactionTimeOut": "1000"}
"""Keys of a broker that checks a transaction after 1 to 2 s (values in ms); the defaults are 30 s and 6 s."""
PART = 1 / 6
"""Transactions in a round of a warm-up, as a part of its usual messages."""
CHECKS_SECONDS_MAX = 120.0
"""Timeout for the checks of all transactions."""


def _send(driver: Driver, topic: str, count: int, outcome: str) -> None:
    """Send transactions with an outcome. Raises DriverError if one fails."""
    running: deque[Future[Fields]] = deque()
    body = bytes(BODY_BYTES)
    for _ in range(count):
        running.append(driver.post("send_tx", on="p", topic=topic, body=body, outcome=outcome, bg=True))
        if len(running) >= OUTSTANDING:
            driver.result(running.popleft())
    for each in running:
        driver.result(each)


def _producer(driver: Driver, topic: str) -> None:
    driver.call("producer", as_="p", topics=[topic], group=f"{topic}-producer", check="COMMIT")


def transactions(sdk: str, count: int, warm_up: WarmUp) -> Work:
    """Send transactions that are committed at once, after a warm-up.

    A broker stores three messages for each (half message, op message, message), and a client sends two requests.
    """
    rounds = warm_up.times(PART)

    def run(server: Server) -> Figure:
        topic = new_name()
        create_topic(server, topic, kind="TRANSACTION")
        with load_driver(server, sdk) as driver:
            _producer(driver, topic)
            rounds.run(driver, lambda: _send(driver, topic, rounds.messages, "COMMIT"))
            meter = Meter(server, driver)
            begin = time.perf_counter()
            _send(driver, topic, count, "COMMIT")
            return meter.figure(count / (time.perf_counter() - begin), count)

    return run


def checks(count: int, warm_up: WarmUp) -> Work:
    """Send transactions of unknown outcome, and wait until the broker has checked each of them.

    The producer answers each check with COMMIT.
    """
    rounds = warm_up.times(PART)

    def run(server: Server) -> Figure:
        topic = new_name()
        create_topic(server, topic, kind="TRANSACTION")
        with load_driver(server, "java-remoting") as driver:
            _producer(driver, topic)
            rounds.run(driver, lambda: _send(driver, topic, rounds.messages, "COMMIT"))
            meter = Meter(server, driver)
            begin = time.perf_counter()
            _send(driver, topic, count, "UNKNOWN")
            # The only events of a producer are checks.
            driver.wait_until(lambda events: len(events) >= count, timeout=CHECKS_SECONDS_MAX)
            return meter.figure(count / (time.perf_counter() - begin), count)

    return run
