"""An emulator on a wall clock that a test sets forward, which notes its time at the beginning of each call."""

from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.host import host_run, run_start
from rocketmq_testkit.fixtures.host.host import Host
from rocketmq_testkit.fixtures.time.real_time import wall_clock_ms
from rocketmq_testkit.remoting.client import RemotingClient

T = TypeVar("T")

PASSED_MS = 90_000
"""Time (ms) by which the wall clock is set forward. Clients without heartbeats expire after two minutes."""
AUTH = "org.apache.rocketmq.auth"
USER_PROVIDERS = {
    "authenticationMetadataProvider": f"{AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "authorizationMetadataProvider": f"{AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
}
"""Keys with which brokers keep users and their rights."""
TOKEN = "of-the-test"
"""The token of the control port, without which it returns no snapshot with passwords."""
CLIENT_ID = "10.0.0.7@4711"
CONSUMER_ID = "a-client"
RULE = "slow-responses"
"""A rule that fires on no request of these tests."""


class ObservedEmulator(Emulator):
    """Notes the engine's time at the beginning of each call on its thread. The calls run as usual."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.began_ms: list[int] = []
        self.ahead_ms = 0
        """How far its wall clock is ahead of the machine's."""

    def run_on_loop(self, function: Callable[[Host], T]) -> T:
        """Run a function as `Emulator.run_on_loop` does."""
        return super().run_on_loop(self._noted(function))

    def start_on_loop(self, function: Callable[[Host], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run a coroutine as `Emulator.start_on_loop` does."""
        return super().start_on_loop(self._noted(function))

    def _noted(self, function: Callable[[Host], T]) -> Callable[[Host], T]:
        def noted(host: Host) -> T:
            self.began_ms.append(host.engine.scheduler.now_ms)
            return function(host)

        return noted

    def last_ms(self) -> int:
        """Return the engine's time without updating it from the wall clock."""
        host = self._running
        return host.event_loop.call(lambda: host.engine.scheduler.now_ms, 30)

    def pass_time(self) -> int:
        """Set the wall clock forward by PASSED_MS. Return the engine's time, which is not updated yet."""
        before_ms = self.last_ms()  # a timer may update the time as soon as the wall clock is set forward
        self.began_ms.clear()
        self.ahead_ms += PASSED_MS
        return before_ms


@contextmanager
def observed_emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObservedEmulator]:
    """Run an emulator with the topics, groups, clients and rules that the examples of verbs name."""
    emulator = ObservedEmulator(brokers=2, slaves=1, topics=["orders:FIFO"], config=USER_PROVIDERS, control_token=TOKEN)
    for module in (host_run, run_start):
        monkeypatch.setattr(module, "wall_clock_ms", lambda: wall_clock_ms() + emulator.ahead_ms)
    with emulator:
        emulator.topic("payments", type="TRANSACTION")
        emulator.topic("%DLQ%booking").send(b"dead")
        emulator.group("warehouse")
        emulator.run_on_loop(lambda host: [host.kept_snapshots.keep() for _ in range(2)])
        emulator.run_on_loop(lambda host: host.fork({}))
        emulator.topic("later", type="DELAY").send("tea", properties={"DELAY": "14"})
        emulator.run_on_loop(lambda host: host.jumps.keep_search("1d", None))
        emulator.faults.add(faults.drop_response(), name=RULE, topic="nowhere", optional=True)
        heartbeat = Heartbeat(CONSUMER_ID, ["orders"], [ConsumerData("booking")])
        emulator.run_on_loop(lambda host: host.engine.execute(host.engine.brokers[0], heartbeat))
        with RemotingClient(emulator.broker) as client:
            assert client.request(*heartbeat_request(CLIENT_ID, producers=["shop"])).code == 0
            yield emulator
