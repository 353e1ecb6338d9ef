"""The gate: the single entry for every request of either protocol, and for direct calls of tests.

    submit -> handler of the node -> journal -> listeners -> reply

It must not know sockets or the meaning of an operation. A handler parks a request that has to wait, which is journaled
as well, and a service completes it later through `complete`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, Protocol

from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import parts
from ..operations.base import Operation, Parked, Result
from .call import Call, Channel, Node, Outcome
from .effects import Effect
from .journal import Journal
from .proxy_only_request import ProxyOnlyRequest
from .raw_request import RawRequest, Rejection

FAULTS_NODE = "faults"
"""The name in place of a node's in journal entries about faults with a duration."""
CONNECT_LABEL = "connect"
"""The label of journal entries about faults of new connections, which have no request and no channel yet."""


OutcomeListener = Callable[[Node, Call, Any, Outcome | None], None]
"""Called with node, call, operation and outcome, before the client gets the outcome; None for a parked request."""
ErrorListener = Callable[[str, str, str, Operation | RawRequest, EngineError | Rejection], None]
"""Called with the name of the node, channel id, label, request and error, before the client gets the error."""
EffectListener = Callable[[Node, Channel, Any], None]
"""Called with node, channel and effect, before the client gets the effect."""


Request = Operation | ProxyOnlyRequest
CarryOut = Callable[[Call, Any], None]
"""Carries out a request for a call, free of the rules for requests."""


RuledOutcome = tuple[Outcome, Outcome, Outcome]
"""The outcome that a rule gives to the client, to the journal, and to the listeners, in this order.

That of the journal is without the messages that the rule loses. That of the listeners is also without those that the
rule still holds back.
"""


class GateRules(Protocol):
    """Rules that change what happens to requests, outcomes and effects."""

    def takes(self, node: Node, call: Call, request: Request, carry_out: CarryOut) -> bool:
        """True if a rule has taken a request over, and may carry it out later. If False, the caller carries it out."""

    def transform(self, node: Node, call: Call, request: Request, outcome: Outcome) -> RuledOutcome:
        """Change the outcome of a request, and how the client gets its response."""

    def drops(self, node: Node, channel: Channel, effect: Effect, push: Callable[[], None]) -> bool:
        """True if a rule keeps an effect from its client. `push` sends it, for a rule that does so later."""


@parts
class GateListeners:
    """Listeners for the requests and effects of certain classes. They submit no requests themselves."""

    outcomes: Mapping[type[Operation], OutcomeListener] = field(default_factory=dict)
    """By class of operation: for requests that were carried out, also without success, or parked."""
    refusals: Mapping[type[Operation], OutcomeListener] = field(default_factory=dict)
    """By class of operation: for requests that got a refusal through `refuse` and were not carried out."""
    losses: Mapping[type[Operation], OutcomeListener] = field(default_factory=dict)
    """By class of operation: for requests that a fault rule drops, refuses or delays. They have no outcome."""
    effects: Mapping[type[Effect], EffectListener] = field(default_factory=dict)
    """By class of effect."""
    errors: ErrorListener | None = None
    """For all requests that end with an error."""


class _WrittenCall:
    """The call of a response that a rule held back and that the client gets now, for listeners.

    It is active, because the response is being written. The proxy's own call may be complete already.
    """

    __slots__ = ("channel", "label", "number")
    active = True

    def __init__(self, call: Call) -> None:
        self.channel = call.channel
        self.label = call.label
        self.number = call.number

    def reply(self, outcome: Outcome) -> None:
        """Do nothing: the response is complete."""


class Gate:
    """Carries out operations, replies with their outcomes, and writes both to the journal."""

    def __init__(
        self,
        scheduler: Scheduler,
        journal: Journal,
        report_bug: Callable[[BaseException], None],
        ahead_ms: Callable[[], int] = lambda: 0,
        *,
        listeners: GateListeners | None = None,
    ) -> None:
        listeners = listeners or GateListeners()
        self._outcomes, self._refusals, self._effects = listeners.outcomes, listeners.refusals, listeners.effects
        self._losses = listeners.losses
        self._errors = listeners.errors
        self._scheduler = scheduler
        self._journal = journal
        self._report_bug = report_bug
        self._running = 0
        self._deferred: deque[Callable[[], object]] = deque()
        self._at_end_of_turn: Callable[[Callable[[], object]], object] | None = None
        self._ahead_ms = ahead_ms
        """Returns the engine's time minus the clients' clock (ms, negative: behind)."""
        # Entries are packed after a reply, because packing them at once would delay the reply to the request.
        journal.report_backlog(lambda: self.run_after_reply(journal.pack_block))
        self.rules: GateRules | None = None
        """None while there are no rules, so that they cost a request one comparison."""

    @property
    def clock(self) -> Scheduler:
        """The engine's time."""
        return self._scheduler

    def use_rules(self, rules: GateRules | None) -> None:
        """Apply rules from now on; None applies none."""
        self.rules = rules

    def engine_time_ms(self, client_ms: int) -> int:
        """Convert a client's timestamp close to now (ms since the epoch, 0 = not set) to the engine's time.

        A client's clock does not follow jumps of the engine's clock, but a test may send the engine's time. Of the two
        readings, the one closer to now is right.
        """
        ahead_ms, now_ms = self._ahead_ms(), self._scheduler.now_ms
        if client_ms > 0 and abs(client_ms + ahead_ms - now_ms) < abs(client_ms - now_ms):
            return client_ms + ahead_ms
        return client_ms

    def submit(self, node: Node, call: Call, operation: Operation) -> None:
        """Carry out an operation and reply, now or later.

        An operation that the node does not support gets REQUEST_CODE_NOT_SUPPORTED. Any exception but EngineError is a
        bug of the emulator: it is reported, the client gets SYSTEM_ERROR, and nothing else is affected.
        """
        self._running += 1
        try:
            if self.rules is None or not self._is_taken_over(node, call, operation):
                self._execute(node, call, operation)
        finally:  # `run`, inlined to save a call for each request
            self._running -= 1
            if self._deferred:
                self._drain_deferred()

    def serve(self, node: Node, call: Call, request: ProxyOnlyRequest, carry_out: CarryOut) -> None:
        """Carry out a ProxyOnlyRequest by `carry_out`, unless a rule takes it over."""

        def run(each: Call, same: ProxyOnlyRequest) -> None:
            self.run(partial(carry_out, each, same))

        taken = False
        try:
            taken = self.rules is not None and self.rules.takes(node, call, request, run)
        except Exception as bug:
            self._report_bug(bug)
        if not taken:
            run(call, request)

    def transform(self, node: Node, call: Call, request: ProxyOnlyRequest, outcome: Outcome) -> None:
        """Apply the rules for responses to the response of a ProxyOnlyRequest."""
        try:
            if self.rules is not None:
                self.rules.transform(node, call, request, outcome)
        except Exception as bug:
            self._report_bug(bug)

    def carry_out(self, node: Node, call: Call, operation: Operation) -> None:
        """Carry out an operation as `submit` does, without the rules for requests."""
        self.run(partial(self._execute, node, call, operation))

    def complete(self, node: Node, call: Call, operation: Operation, outcome: Outcome) -> None:
        """Reply to an operation that was parked."""
        if isinstance(outcome, EngineError):
            self._note_error(node, call, operation, outcome)
        self.run(partial(self._respond, node, call, operation, outcome))

    def refuse(self, node: Node, call: Call, operation: Operation, refusal: EngineError) -> None:
        """Reply with a refusal to an operation that is not executed."""
        self.run(partial(self._refuse, node, call, operation, refusal))

    def record_refusal(
        self,
        node: str,
        client: str,
        label: str,
        request: RawRequest,
        *,
        outcome: EngineError | Rejection,
        number: int | None = None,
    ) -> None:
        """Write to the journal a request that a protocol layer refused on its own.

        `client` is the id of the channel, `label` the name of the request in its protocol. `number`: as in Call; None
        if the request has none.
        """
        if self._errors is not None:
            self._errors(node, client, label, request, outcome)
        now_ms = self._scheduler.now_ms
        self._journal.refused(now_ms, node, client, label, request=request, outcome=outcome, number=number)

    def record_success(self, node: str, client: str, label: str, request: RawRequest, *, number: int | None) -> None:
        """Write to the journal a request that a protocol layer completed successfully on its own."""
        self._journal.succeeded(self._scheduler.now_ms, node, client, label, request=request, number=number)

    def record_fault(
        self,
        node: Node,
        channel: Channel,
        label: str,
        *,
        subject: Operation | Effect | RawRequest,
        rule: str,
        number: int | None = None,
    ) -> None:
        """Write to the journal that a rule acted on a request, a response or an effect. `number`: as in Call."""
        self._journal.faulted(
            self._scheduler.now_ms, node.name, channel.channel_id, label, subject=subject, rule=rule, number=number
        )

    def record_connection_fault(self, node: str, address: str, rule: str) -> None:
        """Write to the journal that a rule acted on a new connection. `address`: host of the client."""
        subject = RawRequest.of([("address", address)])
        self._journal.faulted(self._scheduler.now_ms, node, "", CONNECT_LABEL, subject=subject, rule=rule)

    def record_standing_fault(self, label: str, parameters: Mapping[str, object], rule: str) -> None:
        """Write to the journal that a fault with a duration begins or ends. `label` says which of the two."""
        subject = RawRequest.of((name, str(value)) for name, value in parameters.items())
        self._journal.faulted(self._scheduler.now_ms, FAULTS_NODE, "", label, subject=subject, rule=rule)

    def push(self, node: Node, channel: Channel, effect: Effect) -> None:
        """Send an effect to a client and write it to the journal, unless the connection is closed."""
        rules = self.rules
        if rules is None or not rules.drops(node, channel, effect, partial(self._push, node, channel, effect)):
            self._push(node, channel, effect)

    def push_to_all(self, node: Node, channels: Iterable[Channel], effect: Effect) -> None:
        """Send an effect to several clients, as `push` does to each."""
        if self.rules is not None or effect.__class__ in self._effects:
            for channel in channels:
                self.push(node, channel, effect)
            return
        active = [channel for channel in channels if channel.active]
        clients = [channel.channel_id for channel in active]
        self._journal.pushed_to_all(self._scheduler.now_ms, node.name, clients, effect)
        for channel in active:
            channel.push(effect)

    def _push(self, node: Node, channel: Channel, effect: Effect) -> None:
        if channel.active:
            self._journal.pushed(self._scheduler.now_ms, node.name, channel, effect)
            if effect.__class__ in self._effects:
                self._effects[effect.__class__](node, channel, effect)
            channel.push(effect)

    def run_after_reply(self, action: Callable[[], object]) -> None:
        """Run a follow-up action of a request after its reply, in order of arrival; at once if no request is running.

        Upstream runs such actions on another thread.
        """
        self._deferred.append(action)
        self._drain_deferred()

    def use_turns(self, at_end_of_turn: Callable[[Callable[[], object]], object]) -> None:
        """Set the function that runs an action once the event loop has handled all bytes that have arrived.

        Without an event loop there are no turns.
        """
        self._at_end_of_turn = at_end_of_turn

    def run_after_turn(self, action: Callable[[], object]) -> None:
        """Run an action at the end of the event loop's turn, so that it can serve several requests; else at once."""
        if self._at_end_of_turn is None:
            action()
        else:
            self._at_end_of_turn(partial(self.run_after_reply, action))

    def run(self, action: Callable[[], None]) -> None:
        """Run a part of a request, for example the retry of a parked one. Its follow-up actions run after it."""
        self._running += 1
        try:
            action()
        finally:
            self._running -= 1
            if self._deferred:
                self._drain_deferred()

    def _is_taken_over(self, node: Node, call: Call, operation: Operation) -> bool:
        """Apply rules to a request, and report one that they neither let through nor carry out now."""
        carried_out = []

        def carry_out(each: Call, copy: Operation) -> None:
            carried_out.append(copy)
            self.carry_out(node, each, copy)

        try:
            taken = self.rules is not None and self.rules.takes(node, call, operation, carry_out)
        except Exception as bug:
            self._report_bug(bug)
            return bool(carried_out)
        if taken and not carried_out and operation.__class__ in self._losses:
            self._losses[operation.__class__](node, call, operation, None)
        return taken

    def _execute(self, node: Node, call: Call, operation: Operation) -> None:
        kind = operation.__class__
        handler = node.handlers.get(kind)
        outcome: Result | Parked | EngineError
        if handler is None:
            name = kind.__name__
            outcome = EngineError(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"{name} is not supported by {node.name}")
            self._note_error(node, call, operation, outcome)
        else:
            try:
                outcome = handler(call, operation)
            except EngineError as refusal:
                # Its traceback would hold this frame, which holds it: memory that only the garbage collector frees.
                outcome = refusal.with_traceback(None)
                self._note_error(node, call, operation, outcome)
            except Exception as bug:
                self._report_bug(bug)
                outcome = EngineError(ResponseCode.SYSTEM_ERROR, f"{type(bug).__name__}: {bug}")
                self._note_error(node, call, operation, outcome)
        if isinstance(outcome, Parked):
            self._journal.parked(self._scheduler.now_ms, node.name, call, operation)
            note_parked = getattr(call, "note_parked", None)  # only calls of remoting clients have it
            if note_parked is not None:
                note_parked(operation)
            if kind in self._outcomes:
                self._outcomes[kind](node, call, operation, None)
            return
        self._respond(node, call, operation, outcome)

    def _respond(self, node: Node, call: Call, operation: Operation, outcome: Outcome) -> None:
        journaled = observed = outcome
        if self.rules is not None:
            try:
                outcome, journaled, observed = self.rules.transform(node, call, operation, outcome)
            except Exception as bug:
                self._report_bug(bug)
        self._journal.responded(self._scheduler.now_ms, node.name, call, operation, journaled)
        if operation.__class__ in self._outcomes:
            self._outcomes[operation.__class__](node, call, operation, observed)
        call.reply(outcome)

    def observe(self, node: Node, call: Call, operation: Request, outcome: Outcome) -> None:
        """Report an outcome that a rule has held back to its listener, because the client gets it now."""
        if isinstance(operation, Operation) and operation.__class__ in self._outcomes:
            self._outcomes[operation.__class__](node, _WrittenCall(call), operation, outcome)

    def _refuse(self, node: Node, call: Call, operation: Operation, refusal: EngineError) -> None:
        client, label = call.channel.channel_id, call.label
        self._note_error(node, call, operation, refusal)
        self._journal.refused(
            self._scheduler.now_ms,
            node.name,
            client,
            label,
            request=operation,
            outcome=refusal,
            number=call.number,
        )
        if operation.__class__ in self._refusals:
            self._refusals[operation.__class__](node, call, operation, refusal)
        call.reply(refusal)

    def _note_error(self, node: Node, call: Call, operation: Operation, error: EngineError) -> None:
        if self._errors is not None:
            self._errors(node.name, call.channel.channel_id, call.label, operation, error)

    def _drain_deferred(self) -> None:
        if self._running:
            return
        self._running = 1  # an action may append further ones, which run after it
        try:
            while self._deferred:
                try:
                    self._deferred.popleft()()
                except Exception as bug:
                    self._report_bug(bug)
        finally:
            self._running = 0
