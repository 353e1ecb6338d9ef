"""The workloads: the same clients do the same work with either server."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, start
from servers import Server, cpu_seconds, create_group, create_topic, pop_mode
from warm_up import WarmUp

BODY_BYTES = 1024
DRAIN_DEADLINE_SECONDS = 300
POLL_SECONDS = 0.02
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


def send(sdk: str, threads: int, count: int, warm_up: WarmUp, *, tls: bool = False, kind: Kind = NORMAL) -> Work:
    """Send `count` messages of 1 KiB by one producer with `threads` threads, after a warm-up."""

    def run(server: Server) -> Figure:
        topic = next(_names)
        create_topic(server, topic, kind=kind.name)
        with load_driver(server, sdk, tls=tls) as driver:
            driver.call("producer", as_="p", topics=[topic], group="bench-producer")
            load = {"on": "p", "topic": topic, "size": BODY_BYTES, **kind.fields()}
            warming = {"count": warm_up.messages, "threads": max(threads, WARM_UP_THREADS), **load}
            warm_up.run(driver, lambda: driver.call("send_many", timeout=300, **warming))
            meter = Meter(server, driver)
            reply = driver.call("send_many", timeout=300, count=count, threads=threads, **load)
            return meter.figure(_check(reply, count), count)

    return run


def fill(server: Server, topic: str, count: int, kind: Kind = NORMAL) -> None:
    """Create a topic if there is none, and send `count` messages of 1 KiB to it."""
    create_topic(server, topic, kind=kind.name)
    with load_driver(server, "java-remoting") as driver:
        driver.call("producer", as_="p", topics=[topic], group="bench-producer")
        missing = count
        while missing > 0:
            load = {"on": "p", "topic": topic, "size": BODY_BYTES, "threads": 64, "count": missing, **kind.fields()}
            missing = int(driver.call("send_many", timeout=600, **load)["errors"])


def push_drain(mode: str, count: int, warm_up: WarmUp) -> Work:
    """Drain `count` stored messages of 1 KiB by a Java push consumer, timed from its first to its last delivery.

    Before, consumers of the same process drain another topic one after another, each in a group of its own. `mode`:
    `concurrent` (pull, commit offsets) or `pop` (pop, acknowledge each message).
    """

    def run(server: Server) -> Figure:
        warm, topic = next(_names), next(_names)
        # To start a consumer takes seconds.
        rounds = warm_up.times(10 if mode == "concurrent" else 3)
        fill(server, warm, rounds.messages)
        fill(server, topic, count)
        with load_driver(server, "java-remoting") as driver:

            def drain_once() -> None:
                group = next(_names)
                _push_consumer(server, driver, group, warm, mode=mode)
                _seconds_to_drain(driver, group, rounds.messages)
                driver.call("close", on=group)

            rounds.run(driver, drain_once)
            meter = Meter(server, driver)
            _push_consumer(server, driver, f"{topic}-group", topic, mode=mode)
            seconds = _seconds_to_drain(driver, f"{topic}-group", count)
            return meter.figure(count / seconds, count)

    return run


def _push_consumer(server: Server, driver: Driver, name: str, topic: str, *, mode: str) -> None:
    """Start a consumer whose group has the same name."""
    if mode == "pop":
        pop_mode(server, topic, name)
    driver.call(
        "push",
        timeout=120,
        **{"as": name, "from": "first"},
        group=name,
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


def simple_drain(threads: int, count: int, warm_up: WarmUp, *, kind: Kind = NORMAL) -> Work:
    """Receive 32 messages at a time and acknowledge each by a Java gRPC SimpleConsumer with `threads` threads.

    Before, it receives and acknowledges others without measurement. A thread ends after the receive in which `count` is
    reached, so that a drain may take up to one receive per thread more. Messages for these receives are stored as well.
    With messages of the kind FIFO the group is an ordered one.
    """

    def run(server: Server) -> Figure:
        topic = next(_names)
        beyond = 2 * RECEIVED_MAX * max(threads, WARM_UP_THREADS)
        create_topic(server, topic, kind=kind.name)
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

            def drain_once() -> None:
                fill(server, topic, warm_up.messages, kind)
                warming = {"count": warm_up.messages - beyond, "threads": max(threads, WARM_UP_THREADS), **load}
                driver.call("drain", timeout=600, **warming)

            warm_up.run(driver, drain_once)
            fill(server, topic, count + beyond, kind)
            meter = Meter(server, driver)
            reply = driver.call("drain", timeout=600, count=count, threads=threads, **load)
            drained = max(count, int(reply["count"]))
            return meter.figure(_check(reply, drained), drained)

    return run
