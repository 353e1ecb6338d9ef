"""Two consumers that store the states of an order: the bug shows only if an old state arrives after a newer one.

The application compares redelivered states with the stored one, so it survives late and repeated deliveries.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rocketmq_testkit import Emulator
from sdk_worker import Worker, message, send

BETWEEN_S = 1.0
"""Maximal time (s) between the sends of the two messages: the second is sent earlier if the first is stored."""


class States:
    """The states of an order, which both consumers write."""

    def __init__(self) -> None:
        self.all = [(0, "new")]
        self.is_changed = threading.Event()
        self.are_sent = threading.Event()

    def add(self, state: tuple[int, str]) -> None:
        self.all.append(state)
        self.is_changed.set()


class Broken(Worker):
    """Stores the state of a first delivery, and a redelivered state if it is newer."""

    def __init__(self, emulator: Emulator, states: States) -> None:
        super().__init__(emulator, "shop", "states")
        self.states = states

    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        version, _, name = received.body.decode().partition(" ")
        state = int(version), name
        if self.trusts(received.delivery_attempt) or state > self.states.all[-1]:
            self.states.add(state)
        self.states.are_sent.wait(BETWEEN_S)  # work after the change; meanwhile the other consumer gets messages
        acknowledge()

    def trusts(self, attempt: int) -> bool:
        return attempt == 1


class Repaired(Broken):
    """Stores a state only if it is newer."""

    def trusts(self, attempt: int) -> bool:
        return False


@pytest.fixture(params=[Broken, Repaired])
def states(rocketmq: Emulator, request: pytest.FixtureRequest) -> Iterator[States]:
    rocketmq.topic("states", queues=1)
    found = States()
    workers = [request.param(rocketmq, found) for _ in range(2)]
    for each in workers:
        each.start()
    yield found
    for each in workers:
        each.stop()


@pytest.mark.rocketmq_explore(group="shop", orders=True)
def test_the_newest_state_is_kept(rocketmq: Emulator, states: States) -> None:
    send(rocketmq, message("states", "order-1-paid", b"1 paid"))
    states.is_changed.wait(BETWEEN_S)
    send(rocketmq, message("states", "order-1-sent", b"2 sent"))
    states.are_sent.set()

    rocketmq.assert_no_loss("states", group="shop", within="10m")

    assert states.all[-1] == (2, "sent")
