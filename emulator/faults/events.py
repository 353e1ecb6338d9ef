"""The events on which faults act: a request, its outcome, a push, a new connection."""

from collections.abc import Callable
from typing import Any, Protocol

from ..gate.effects import Effect
from ..gate.gate import Call, Channel, Node, Outcome
from ..kernel.errors import EngineError
from ..kernel.random_streams import RandomStream
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import parts
from ..operations.base import Operation
from .client_call import ClientCall, Interceptor
from .subject import MessageFacts
from .vocabulary import Codes
from .world import World


class Carrier(Protocol):
    """The gate, as faults use it: everything done through it is free of rules."""

    def carry_out(self, node: Node, call: Call, operation: Operation) -> None:
        """Carry out an operation and reply."""

    def refuse(self, node: Node, call: Call, operation: Operation, refusal: EngineError) -> None:
        """Reply with a refusal to an operation that is not carried out."""


@parts
class Firing:
    """One firing of a rule. `rule` is its name, `chance` its stream of random numbers."""

    rule: str
    scheduler: Scheduler
    chance: RandomStream
    carrier: Carrier
    state: dict[Any, Any]
    """Values that a kind of fault keeps between the firings of one rule."""
    codes: Codes
    """The numbers of response codes."""
    world: World

    def later(self, delay_ms: int, action: Callable[[], None]) -> Timer:
        """Run an action after some ms of the emulator's time."""
        return self.scheduler.call_later(delay_ms, action, TimerKind.FAULT, self.rule)


@parts
class RequestEvent:
    """A request that has arrived."""

    firing: Firing
    node: Node
    call: ClientCall
    operation: Operation

    def carry_out(self) -> None:
        """Carry out the request now."""
        self.firing.carrier.carry_out(self.node, self.call, self.operation)

    def refuse(self, error: EngineError) -> None:
        """Reply with an error of the engine."""
        self.firing.carrier.refuse(self.node, self.call, self.operation, error)


@parts
class ResponseEvent:
    """A request whose outcome is known. `matches` tells if a delivered message is meant by the rule's criteria."""

    firing: Firing
    node: Node
    call: ClientCall
    operation: Operation
    outcome: Outcome
    matches: Callable[[MessageFacts], bool]

    def intercept(self, interceptor: Interceptor) -> Outcome:
        """Hand the response to an interceptor. Returns the outcome, for the caller to return."""
        self.call.intercept(interceptor)
        return self.outcome


@parts
class PushEvent:
    """A notification or request of a broker to a client."""

    firing: Firing
    node: Node
    channel: Channel
    effect: Effect
    push: Callable[[], None]
    """Sends the effect."""


class NewConnection(Protocol):
    """A connection that a client opens."""

    def refuse(self) -> None:
        """Reset it at once."""

    def ignore(self) -> None:
        """Accept it, and neither read nor write."""

    def fail_handshake(self) -> None:
        """Respond to the first bytes with a fatal TLS alert, and close."""


@parts
class ConnectEvent:
    """A connection that a client opens to a server."""

    firing: Firing
    connection: NewConnection
