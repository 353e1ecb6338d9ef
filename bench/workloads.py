"""What is measured: the same clients do the same work on either server."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, start
from servers import Server, cpu_seconds, create_topic, pop_mode

BODY_BYTES = 1024
DRAIN_DEADLINE_SECONDS = 300
GLANCE_SECONDS = 0.02
_names = (f"bench-{n}" for n in itertools.count())


@dataclass(frozen=True)
class Figure:
    """Outcome of one workload: a rate, and the server's processor time for each unit of work."""

    per_second: float
    cpu_micros: float


def _driver(server: Server, sdk: str) -> Driver:
    return start(sdk, Addresses(namesrv=server.namesrv, endpoint=server.endpoint), load=True)


def _check(reply: dict[str, Any], count: int) -> float:
    """The rate of a reply. A client of a busy machine may give up on a call or two; more is no measurement."""
    if reply["count"] != count or reply["errors"] > max(2, count // 1000):
        raise RuntimeError(f"work was lost: {reply}")
    rate: float = reply["per_second"] * (count - reply["errors"]) / count
    return rate


def send(sdk: str, threads: int, count: int) -> Callable[[Server], Figure]:
    """`count` sends of 1 KiB by one producer with `threads` threads, after a warm-up."""

    def run(server: Server) -> Figure:
        topic = next(_names)
        create_topic(server, topic)
        with _driver(server, sdk) as driver:
            driver.call("producer", as_="p", topics=[topic], group="bench-producer")
            load = {"on": "p", "topic": topic, "size": BODY_BYTES, "threads": threads}
            driver.call("send_many", timeout=300, count=max(count // 4, 2000), **load)
            before = cpu_seconds(server)
            reply = driver.call("send_many", timeout=300, count=count, **load)
            rate = _check(reply, count)
            return Figure(rate, (cpu_seconds(server) - before) / count * 1e6)

    return run


def _fill(server: Server, topic: str, count: int) -> None:
    with _driver(server, "java-remoting") as driver:
        driver.call("producer", as_="p", topics=[topic], group="bench-producer")
        missing = count
        while missing > 0:
            load = {"on": "p", "topic": topic, "size": BODY_BYTES, "threads": 64, "count": missing}
            missing = int(driver.call("send_many", timeout=600, **load)["errors"])


def push_drain(count: int, mode: str = "concurrent") -> Callable[[Server], Figure]:
    """A Java push consumer drains `count` stored messages of 1 KiB; timed from its first to its last delivery.

    `mode`: `concurrent` (it pulls and commits offsets) or `pop` (it pops and acknowledges each).
    """

    def run(server: Server) -> Figure:
        topic = next(_names)
        group = f"{topic}-group"
        create_topic(server, topic)
        _fill(server, topic, count)
        if mode == "pop":
            pop_mode(server, topic, group)
        with _driver(server, "java-remoting") as driver:
            before = cpu_seconds(server)
            driver.call(
                "push",
                timeout=120,
                **{"as": "c", "from": "first"},
                group=group,
                sub={topic: {"expr": "*", "type": "TAG"}},
                mode=mode,
                threads=8,
                quiet=True,
            )
            seconds = _seconds_to_drain(driver, count)
            return Figure(count / seconds, (cpu_seconds(server) - before) / count * 1e6)

    return run


def _seconds_to_drain(driver: Driver, count: int) -> float:
    """Seconds from the first to the last of `count` deliveries. Raises RuntimeError when they have not come in time.

    A driver tells how many came and cannot be waited for, so it is asked again, seldom enough not to disturb it.
    """
    deadline = time.perf_counter() + DRAIN_DEADLINE_SECONDS
    begin, done = time.perf_counter(), 0
    while (done := int(driver.call("count", on="c")["count"])) < count:
        now = time.perf_counter()
        if done == 0:
            begin = now
        if now > deadline:
            raise RuntimeError(f"{done} of {count} messages after {DRAIN_DEADLINE_SECONDS} s")
        time.sleep(GLANCE_SECONDS)
    return time.perf_counter() - begin


def simple_drain(threads: int, count: int) -> Callable[[Server], Figure]:
    """A Java gRPC SimpleConsumer receives 32 at a time and acknowledges each, with `threads` threads."""

    def run(server: Server) -> Figure:
        topic = next(_names)
        create_topic(server, topic)
        _fill(server, topic, count)
        with _driver(server, "java-grpc") as driver:
            driver.call(
                "simple",
                timeout=60,
                **{"as": "c"},
                group=f"{topic}-group",
                sub={topic: {"expr": "*", "type": "TAG"}},
                await_ms=5000,
            )
            before = cpu_seconds(server)
            reply = driver.call("drain", timeout=600, on="c", count=count, threads=threads, max=32, invisible_ms=60_000)
            rate = _check(reply, count)
            return Figure(rate, (cpu_seconds(server) - before) / count * 1e6)

    return run
