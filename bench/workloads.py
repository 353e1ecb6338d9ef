"""The workloads: the same clients do the same work with either server."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, start
from servers import Server, cpu_seconds, create_group, create_topic, pop_mode

BODY_BYTES = 1024
DRAIN_DEADLINE_SECONDS = 300
POLL_SECONDS = 0.02
WARM_UP_MESSAGES = 60_000
"""Messages before the measurement.

After 15,000 messages the JVM of the client still compiles: 34 to 73 µs of the client's processor time for each message
were the compiler's.
"""
RECEIVED_MAX = 32
"""Messages that a receive of the gRPC workloads returns at most."""
WARM_UP_THREADS = 8
"""Threads of a warm-up, if the workload itself has fewer: one thread would take minutes."""
_names = (f"bench-{n}" for n in itertools.count())


@dataclass(frozen=True)
class Figure:
    """Result of one workload: messages per second, and processor time (µs) of server and client for each message."""

    per_second: float
    server_micros: float
    client_micros: float


class Meter:
    """Measures the processor time of a server and of its client from now on."""

    def __init__(self, server: Server, client: Driver) -> None:
        self._server = server
        self._client = client
        self._server_began = cpu_seconds(server)
        self._client_began = cpu_seconds(client)

    def figure(self, per_second: float, count: int) -> Figure:
        """Return the result for `count` messages."""
        server = cpu_seconds(self._server) - self._server_began
        client = cpu_seconds(self._client) - self._client_began
        return Figure(per_second, server / count * 1e6, client / count * 1e6)


Work = Callable[[Server], Figure]
"""One round of a workload with a server."""


def new_name() -> str:
    """Return a name that no topic has yet."""
    return next(_names)


def load_driver(server: Server, sdk: str, *, tls: bool = False) -> Driver:
    """Start a client that is tuned for load. With `tls` it accepts every certificate."""
    return start(sdk, Addresses(namesrv=server.namesrv, endpoint=server.endpoint, tls=tls), load=True)


def _check(reply: dict[str, Any], count: int) -> float:
    """Return the rate of a reply.

    A client on a busy machine may fail a call or two. More failures raise RuntimeError, because the rate would mean
    nothing.
    """
    if reply["count"] != count or reply["errors"] > max(2, count // 1000):
        raise RuntimeError(f"work was lost: {reply}")
    rate: float = reply["per_second"] * (count - reply["errors"]) / count
    return rate


@dataclass(frozen=True)
class Kind:
    """A kind of messages: its name in topics, and how a driver sends it.

    `group` is the message group; `seconds` is the time until the delivery, 0 for at once; `level` is a delay level.
    """

    name: str = "NORMAL"
    group: str | None = None
    seconds: int = 0
    level: int | None = None

    def fields(self) -> dict[str, object]:
        """Return the fields of the driver's command."""
        deliver_at = int((time.time() + self.seconds) * 1000) if self.seconds else None
        return {"group": self.group, "deliver_at": deliver_at, "delay_level": self.level}


NORMAL = Kind()


def send(sdk: str, threads: int, count: int, warm_up: int, *, tls: bool = False, kind: Kind = NORMAL) -> Work:
    """Send `count` messages of 1 KiB by one producer with `threads` threads, after `warm_up` unmeasured sends."""

    def run(server: Server) -> Figure:
        topic = next(_names)
        create_topic(server, topic, kind=kind.name)
        with load_driver(server, sdk, tls=tls) as driver:
            driver.call("producer", as_="p", topics=[topic], group="bench-producer")
            load = {"on": "p", "topic": topic, "size": BODY_BYTES, **kind.fields()}
            driver.call("send_many", timeout=300, count=warm_up, threads=max(threads, WARM_UP_THREADS), **load)
            meter = Meter(server, driver)
            reply = driver.call("send_many", timeout=300, count=count, threads=threads, **load)
            return meter.figure(_check(reply, count), count)

    return run


def _fill(server: Server, topic: str, count: int, kind: Kind = NORMAL) -> None:
    create_topic(server, topic, kind=kind.name)
    with load_driver(server, "java-remoting") as driver:
        driver.call("producer", as_="p", topics=[topic], group="bench-producer")
        missing = count
        while missing > 0:
            load = {"on": "p", "topic": topic, "size": BODY_BYTES, "threads": 64, "count": missing, **kind.fields()}
            missing = int(driver.call("send_many", timeout=600, **load)["errors"])


def push_drain(mode: str, count: int, warm_up: int) -> Work:
    """Drain `count` stored messages of 1 KiB by a Java push consumer, timed from its first to its last delivery.

    Before, another consumer of the same process drains another topic of `warm_up` messages. `mode`: `concurrent` (pull,
    commit offsets) or `pop` (pop, acknowledge each message).
    """

    def run(server: Server) -> Figure:
        warm, topic = next(_names), next(_names)
        for name, messages in ((warm, warm_up), (topic, count)):
            _fill(server, name, messages)
            if mode == "pop":
                pop_mode(server, name, f"{name}-group")
        with load_driver(server, "java-remoting") as driver:
            _push_consumer(driver, "warm-up", warm, mode)
            _seconds_to_drain(driver, "warm-up", warm_up)
            driver.call("close", on="warm-up")
            meter = Meter(server, driver)
            _push_consumer(driver, "measured", topic, mode)
            seconds = _seconds_to_drain(driver, "measured", count)
            return meter.figure(count / seconds, count)

    return run


def _push_consumer(driver: Driver, name: str, topic: str, mode: str) -> None:
    driver.call(
        "push",
        timeout=120,
        **{"as": name, "from": "first"},
        group=f"{topic}-group",
        sub={topic: {"expr": "*", "type": "TAG"}},
        mode=mode,
        threads=8,
        quiet=True,
    )


def _seconds_to_drain(driver: Driver, consumer: str, count: int) -> float:
    """Return the seconds from the first to the last of `count` deliveries. Raises RuntimeError after the deadline.

    A driver reports the number of deliveries only on request. The requests are rare enough not to disturb it.
    """
    deadline = time.perf_counter() + DRAIN_DEADLINE_SECONDS
    begin, done = time.perf_counter(), 0
    while (done := int(driver.call("count", on=consumer)["count"])) < count:
        now = time.perf_counter()
        if done == 0:
            begin = now
        if now > deadline:
            raise RuntimeError(f"{done} of {count} messages after {DRAIN_DEADLINE_SECONDS} s")
        time.sleep(POLL_SECONDS)
    return time.perf_counter() - begin


def simple_drain(threads: int, count: int, warm_up: int, *, kind: Kind = NORMAL) -> Work:
    """Receive 32 messages at a time and acknowledge each by a Java gRPC SimpleConsumer with `threads` threads.

    Before, it receives and acknowledges `warm_up` messages without measurement. A thread ends after the receive in
    which `count` is reached, so that a drain may take up to one receive per thread more. Messages for
    these receives are stored as well. With messages of the kind FIFO the group is an ordered one.
    """

    def run(server: Server) -> Figure:
        topic = next(_names)
        beyond = 2 * RECEIVED_MAX * max(threads, WARM_UP_THREADS)
        _fill(server, topic, warm_up + count + beyond, kind)
        create_group(server, f"{topic}-group", consumeMessageOrderly=kind.name == "FIFO")
        with load_driver(server, "java-grpc") as driver:
            driver.call(
                "simple",
                timeout=60,
                **{"as": "c"},
                group=f"{topic}-group",
                sub={topic: {"expr": "*", "type": "TAG"}},
                await_ms=5000,
            )
            load = {"on": "c", "max": RECEIVED_MAX, "invisible_ms": 60_000}
            driver.call("drain", timeout=600, count=warm_up, threads=max(threads, WARM_UP_THREADS), **load)
            meter = Meter(server, driver)
            reply = driver.call("drain", timeout=600, count=count, threads=threads, **load)
            drained = max(count, int(reply["count"]))
            return meter.figure(_check(reply, drained), drained)

    return run
