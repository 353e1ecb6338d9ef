"""An emulator with two brokers and a process of one SDK, in which the situations run one after the other."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Any

from rocketmq_testkit.fixtures import Emulator

from ..drivers.process import Addresses, Driver, Fields, start
from ..sdk.sdk_clients import Consumer, Producer, Style

QUICK = {"transactionTimeOut": 500, "transactionCheckInterval": 500, "transactionOpBatchInterval": 200}
"""The brokers check open transactions after half a second, so that a situation takes seconds."""
READY_SECONDS = 60.0
ANSWER_SECONDS = 45.0
"""The longest time to wait for the result of a call; afterwards the SDK counts as silent."""
STEP_SECONDS = 0.05
VERIFYING = ("python", "node")
"""SDKs that verify a server's certificate; their drivers get the certificate of the emulator's authority."""
BROKER = "broker-a"
"""The broker that holds topics of which all messages must be in one queue."""


class SituationContext:
    """A context manager. `consumer` gets all messages of the topic `ORDERS`."""

    ORDERS = "orders"

    def __init__(self, sdk: str, *, tls: bool = False, options: Mapping[str, Any] | None = None) -> None:
        self.sdk = sdk
        self.tls = tls
        self.options = dict(options or {})
        self._stack = contextlib.ExitStack()
        self._numbers = count(1)

    def __enter__(self) -> "SituationContext":
        with contextlib.ExitStack() as stack:
            config = {**QUICK, **self.options.get("config", {})}
            self.emulator = stack.enter_context(Emulator(**{"brokers": 2, **self.options, "config": config}))
            self.emulator.topic(self.ORDERS, queues=1)
            self.driver: Driver = stack.enter_context(self.new_driver())
            self.consumer = self.start_consumer("billing", self.ORDERS)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def new_driver(self) -> Driver:
        """Start a process of the SDK."""
        addresses = Addresses(
            namesrv=self.emulator.namesrv,
            endpoint=self.emulator.endpoint,
            tls=self.tls,
            ca=Path(self.emulator.ca_file) if self.tls and self.sdk in VERIFYING else None,
        )
        return start(self.sdk, addresses)

    @contextlib.contextmanager
    def driver_of(self, *, fresh: bool) -> Iterator[Driver]:
        """Lend a process of the SDK: a new one that has no connections yet, or the one of this context."""
        if not fresh:
            yield self.driver
            return
        with self.new_driver() as driver:
            assert driver.hello["ok"]
            yield driver

    @property
    def hello(self) -> Fields:
        """The reply of the SDK's driver to the verb `hello`."""
        return self.driver.hello

    def new_name(self, prefix: str) -> str:
        """Return a name that no other object of this context has."""
        return f"{prefix}-{next(self._numbers)}"

    def start_producer(self, topic: str, check: str | None = None) -> Producer:
        """Start a producer of a group of its own. Raises DriverError."""
        name = self.new_name("p")
        self.driver.call(
            "producer", as_=name, topics=[topic], group=f"group-{name}", check=check, timeout=ANSWER_SECONDS
        )
        return Producer(self.driver, name, f"group-{name}")

    def start_consumer(self, group: str, topic: str) -> Consumer:
        """Start a consumer of a group: a push consumer if the SDK has one, else a simple one."""
        self.emulator.group(group)
        consumer = self.post_consumer(group, topic)
        self.wait_until(lambda: consumer.is_answered(), READY_SECONDS)
        consumer.finish_receive()
        self.emulator.wait_for_consumer(group, timeout=f"{READY_SECONDS:g}s")
        return consumer

    def post_consumer(
        self, group: str, topic: str, *, listener_ms: int = 0, fails: bool = False, orderly: bool = False
    ) -> Consumer:
        """Start a consumer without waiting for it.

        Its listener takes some time for each message, or fails at the first delivery of each.
        """
        name, subscription = self.new_name("c"), {topic: {"expr": "*", "type": "TAG"}}
        is_push = "push" in self.driver.verbs
        style: Style = "simple" if not is_push else "orderly" if orderly else "concurrent"
        options: Fields = {"mode": style, "from": "first", "threads": 1} if is_push else {"await_ms": 1000}
        if listener_ms and is_push:
            options["hang_ms"] = {"*": listener_ms}
        if fails and is_push:
            options["fail"] = {"*": 1}
        self.driver.post("push" if is_push else "simple", as_=name, group=group, sub=subscription, **options)
        return Consumer(self.driver, name, style)

    def result(self, future: Future[Fields]) -> Fields | None:
        """Return the reply of a command, or None if there is none in time. Collects messages meanwhile."""
        self.wait_until(future.done, ANSWER_SECONDS)
        return future.result() if future.done() else None

    def wait_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Collect messages of the consumer until a condition is true. Returns False if it is not true in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= deadline:
                return False
            time.sleep(STEP_SECONDS)
        return True
