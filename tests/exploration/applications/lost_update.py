"""Lost update on redelivery: an old state that is delivered again overwrites a newer one."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator, faults
from sdk_worker import Worker, message, send


class Broken(Worker):
    """Stores the state of the last delivery."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator, "shop", "states")
        self.state: tuple[int, str] = 0, "new"

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        version, _, state = received.body.decode().partition(" ")
        self.store(int(version), state)
        acknowledge()

    def store(self, version: int, state: str) -> None:
        self.state = version, state


class Repaired(Broken):
    """Stores a state only if it is newer."""

    def store(self, version: int, state: str) -> None:
        self.state = max(self.state, (version, state))


@pytest.fixture(params=[Broken, Repaired])
def shop(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[Broken]:
    rocketmq.topic("states", queues=1)
    worker: Broken = request.param(rocketmq)
    worker.start()
    yield worker
    worker.stop()


@pytest.mark.rocketmq_explore(group="shop", faults=[faults.drop_request(operation="AckMessage")])
def test_the_newest_state_is_kept(rocketmq: Emulator, shop: Broken) -> None:
    send(rocketmq, message("states", "order-1-paid", b"1 paid"), message("states", "order-1-sent", b"2 sent"))

    rocketmq.assert_no_loss("states", group="shop", within="10m")

    assert shop.state == (2, "sent")
