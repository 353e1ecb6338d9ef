"""The events on which faults act: a request, its outcome, a push, a new connection."""

from collections.abc import Callable
from dataclasses import field
from typing import Any, Protocol

from ..gate.call import Call, Channel, Node, Outcome
from ..gate.effects import Effect
from ..gate.gate import CarryOut, Request
from ..kernel.errors import EngineError
from ..kernel.random_streams import RandomStream
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import parts, value
from ..operations.base import Operation
from .client_call import ClientCall, GhostCall, ResponseHandler
from .cluster_control import ClusterControl
from .message_facts import MessageFacts
from .vocabulary import Codes

HELD = "held"
"""Key of `FiringContext.state`: timers of actions that the rule holds back, with the actions."""
CALLS = "calls"
"""Key of `FiringContext.state`: actions that the rule holds back until a function of the test has returned."""


class Carrier(Protocol):
    """The gate, as faults use it. Rules do not apply to operations that go through it."""

    def carry_out(self, node: Node, call: Call, operation: Operation) -> None:
        """Carry out an operation and reply."""

    def refuse(self, node: Node, call: Call, operation: Operation, refusal: EngineError) -> None:
        """Reply with a refusal to an operation that is not carried out."""


@parts
class FiringContext:
    """One firing of a rule. `rule` is its name, `chance` its stream of random numbers."""

    rule: str
    scheduler: Scheduler
    chance: RandomStream
    carrier: Carrier
    state: dict[Any, Any]
    """Values that a kind of fault keeps between the firings of one rule."""
    codes: Codes
    """The numbers of response codes."""
    cluster: ClusterControl
    errors: list[BaseException] = field(default_factory=list)
    """The exceptions that the function of `faults.call` raised."""

    def later(self, delay_ms: int, action: Callable[[], None]) -> Timer:
        """Run an action after some ms of the emulator's time."""
        return self.scheduler.call_later(delay_ms, action, TimerKind.FAULT, self.rule)

    def hold(self, delay_ms: int, action: Callable[[], None], clock: Scheduler | None = None) -> Timer:
        """Run an action after some ms of the emulator's time, or earlier if the rule is removed.

        `clock`: the scheduler of a broker's run; the action is lost if that run ends before.
        """
        held: dict[Timer, Callable[[], None]] = self.state.setdefault(HELD, {})

        def run() -> None:
            del held[timer]
            action()

        timer = (clock or self.scheduler).call_later(delay_ms, run, TimerKind.FAULT, self.rule)
        held[timer] = run
        return timer

    def hold_for_call(
        self, function: Callable[[], Any], timeout_ms: int, action: Callable[[], None], node: Node
    ) -> None:
        """Call a function of the test, and run an action when it has returned or the rule is removed.

        The action is lost if the broker has stopped or restarted meanwhile. An exception of the function, and a
        TimeoutError if it does not return in time, are added to `errors`.
        """
        waiting: list[Callable[[], None]] = self.state.setdefault(CALLS, [])
        run_of_node = getattr(node, "lifetime", None)

        def run() -> None:
            if getattr(node, "lifetime", None) is run_of_node:
                action()

        def done(error: BaseException | None) -> None:
            if error is not None:
                self.errors.append(error)
            if run in waiting:
                waiting.remove(run)
                run()

        waiting.append(run)
        self.cluster.call(function, timeout_ms, done)


def release(state: dict[Any, Any]) -> None:
    """Run the actions that a rule holds back, in the order of their due times, and those that these hold back again."""
    waiting: list[Callable[[], None]] = state.get(CALLS, [])
    while waiting:
        waiting.pop(0)()
    held: dict[Timer, Callable[[], None]] = state.get(HELD, {})
    while held:
        timer = min(held, key=lambda each: (each.due_ms, each.sequence))
        if timer.active:
            action = held[timer]
            timer.cancel()
            action()
        else:  # lost in a crash of its broker
            del held[timer]


def carry_out_for_nobody(carrier: Carrier, node: Node, call: Call, operation: Operation) -> None:
    """Carry out an operation of a client, and discard the outcome."""
    carrier.carry_out(node, GhostCall(call.channel, call.label), operation)


@parts
class RequestEvent:
    """A request that has arrived.

    `carry_out` applies the later rules to it and carries it out, unless one of them takes it over. `carry_out_for`
    carries a request out for a call, without rules.
    """

    firing: FiringContext
    node: Node
    call: ClientCall
    operation: Request
    carry_out: Callable[[], None]
    carry_out_for: CarryOut

    def refuse(self, error: EngineError) -> None:
        """Reply with an error of the engine."""
        assert isinstance(self.operation, Operation), "the declarations limit such faults to operations"
        self.firing.carrier.refuse(self.node, self.call, self.operation, error)

    def hold(self, delay_ms: int) -> None:
        """Carry the request out after some ms, or earlier if the rule is removed.

        It is lost if the broker stops before, or is stopped. Later rules apply to it at the end of the delay.
        """
        timer = self.firing.hold(delay_ms, self.carry_out, getattr(self.node, "lifetime", None))
        if not timer.active:
            self.call.abandon()

    def repeat(self, operation: Request) -> None:
        """Carry out a copy of the request, and discard its outcome. No rule applies to it."""
        self.carry_out_for(GhostCall(self.call.channel, self.call.label), operation)


@value
class ResponseEvent:
    """A request whose outcome is known. `matches`: True for a delivered message that meets the rule's criteria.

    `handlers` get the response one after the other, in place of the client. `is_lost`: the client does not get it.
    """

    firing: FiringContext
    node: Node
    call: ClientCall
    operation: Request
    outcome: Outcome
    matches: Callable[[MessageFacts], bool]
    handlers: list[ResponseHandler] = field(default_factory=list)
    is_lost: bool = False

    def intercept(self, handler: ResponseHandler, *, loses: bool = False) -> Outcome:
        """Pass the response to a handler. Returns the outcome, for the caller to return.

        `loses`: the client does not get the response, and thus no messages.
        """
        self.handlers.append(handler)
        self.is_lost = self.is_lost or loses
        return self.outcome

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Run an action after some ms, unless the broker stops before."""
        clock = getattr(self.node, "lifetime", None) or self.firing.scheduler
        clock.call_later(delay_ms, action, TimerKind.FAULT, self.firing.rule)

    def carry_out_for_nobody(self, operation: Operation) -> None:
        """Carry out an operation of the client, and discard the outcome."""
        carry_out_for_nobody(self.firing.carrier, self.node, self.call, operation)


@parts
class PushEvent:
    """A notification or request of a broker to a client."""

    firing: FiringContext
    node: Node
    channel: Channel
    effect: Effect
    push: Callable[[], None]
    """Applies the later rules to the effect and sends it, unless one of them keeps it."""


class NewConnection(Protocol):
    """A connection that a client opens."""

    def refuse(self) -> None:
        """Reset it at once."""

    def ignore(self) -> None:
        """Accept it, discard what the client sends, and write nothing."""

    def fail_handshake(self) -> None:
        """Respond to the first bytes with a fatal TLS alert, and close."""


@parts
class ConnectEvent:
    """A connection that a client opens to a server."""

    firing: FiringContext
    connection: NewConnection
