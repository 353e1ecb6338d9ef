"""A rule that changes nothing and records the requests that reach the servers: how an SDK retries, and where."""

from dataclasses import dataclass
from typing import ClassVar

from rocketmq_testkit.emulator.faults.events import RequestEvent
from rocketmq_testkit.emulator.faults.facts import PROTOCOLS
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.kind_declaration import FaultKind
from rocketmq_testkit.emulator.faults.phase import Phase

SAME, OTHER, OTHER_BROKER = "same connection", "other connection", "other broker"
NO_RETRY = "no retry"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request that reached a server: the broker that carries it out, and the client's address."""

    broker: str
    address: tuple[str, int]


class Watch(Fault):
    """Record each request and let it pass. Users cannot select this kind of fault."""

    KIND: ClassVar[FaultKind] = FaultKind(
        "watch", "effects", (Phase.REQUEST,), PROTOCOLS, operations=None, situation=""
    )

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        """The requests so far. The emulator's thread appends, and the caller reads."""

    def on_request(self, event: RequestEvent) -> bool:
        """Record the request."""
        self.arrivals.append(Arrival(event.node.name, event.call.channel.remote_address))
        return False


def place(arrivals: list[Arrival], first: int) -> str:
    """Compare the request after `arrivals[first]` with this one: same or other connection, other broker, no retry."""
    if len(arrivals) <= first + 1:
        return NO_RETRY
    before, after = arrivals[first], arrivals[first + 1]
    if before.broker != after.broker:
        return OTHER_BROKER
    return SAME if before.address == after.address else OTHER
