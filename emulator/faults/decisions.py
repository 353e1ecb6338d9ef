"""The decision for each request, response, push and connection: which rules fire on it, and what their faults do."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..gate.call import Call, Channel, Node, Outcome
from ..gate.effects import CloseExpiredConnection, Effect
from ..gate.gate import CONNECT_LABEL, CarryOut, Gate, Request, RuledOutcome
from ..gate.proxy_only_request import ProxyOnlyRequest
from ..history.history import History
from ..kernel.scheduler import Scheduler
from .arrival import observed
from .chains import PushChain, RequestChain
from .client_call import GhostCall, Response, ResponseHandler, client_call
from .cluster_control import ClusterControl
from .delivered import delivered, undelivered
from .event_facts import EventFacts, Find, NewConnectionFacts
from .events import ConnectEvent, FiringContext, NewConnection, ResponseEvent
from .phase import Phase
from .rule import RuleEvent, RunningRule
from .rule_index import Key, RuleIndex
from .standing_rules import StandingRules
from .vocabulary import Codes
from .watcher import Watcher

_IDS_MAX = 32
"""The most message ids that are recorded for a firing."""


class Decisions:
    """Applies the rules of an index. It implements GateRules; the gate holds it only while there are rules.

    `find_clients` returns the client ids of a channel.
    """

    def __init__(
        self,
        *,
        gate: Gate,
        scheduler: Scheduler,
        index: RuleIndex,
        standing: StandingRules,
        codes: Codes,
        find_clients: Find,
        cluster: ClusterControl,
        history: History,
    ) -> None:
        self._gate = gate
        self._history = history
        self._scheduler = scheduler
        self._index = index
        self._standing = standing
        self._codes = codes
        self._find_clients = find_clients
        self._cluster = cluster
        self._watcher: Watcher | None = None

    def watch(self, watcher: Watcher | None) -> None:
        """Show each request, outcome and push to a watcher before the rules act on it. None ends that."""
        self._watcher = watcher

    @property
    def is_watched(self) -> bool:
        """True if there is a watcher."""
        return self._watcher is not None

    def takes(self, node: Node, call: Call, request: Request, carry_out: CarryOut) -> bool:
        """Apply the rules for requests. Returns True if a rule has taken the request over."""
        if self._watcher is not None:
            self._watcher.arrived(self._watched(node, call, request, None))
        key: Key = call.label if request.__class__ is ProxyOnlyRequest else request.__class__
        if key not in self._index.requests and None not in self._index.requests:
            return False
        rules = self._index.candidates(Phase.REQUEST, key)
        of_client = client_call(call) if rules else None
        if of_client is None:
            return False
        facts = EventFacts(node, call.channel, request, of_client, None, self._find_clients)
        return RequestChain(self, self._standing, rules, facts, of_client, request, carry_out).is_taken()

    def transform(self, node: Node, call: Call, request: Request, outcome: Outcome) -> RuledOutcome:
        """Apply the rules for responses.

        The rules get the response in the order in which they were added; one that writes its bytes gets it last.
        Returns three outcomes: for the client, for the journal, and for the listeners of the gate.
        """
        if self._watcher is not None:
            self._watcher.carried_out(self._watched(node, call, request, outcome), outcome)
        if call.__class__ is GhostCall:
            return outcome, undelivered(outcome), undelivered(outcome)
        key: Key = call.label if request.__class__ is ProxyOnlyRequest else request.__class__
        if key not in self._index.responses and None not in self._index.responses:
            return outcome, outcome, outcome
        rules = self._index.candidates(Phase.RESPONSE, key)
        of_client = client_call(call) if rules else None
        if of_client is None or not of_client.ends_with(outcome):
            return outcome, outcome, outcome
        handlers: list[ResponseHandler] = []
        writer: list[ResponseHandler] = []
        is_lost = False
        responding = of_client.responding_rules
        for rule in rules:
            fault = rule.spec.fault
            if rule.name in responding or (writer and fault.writes_bytes) or not fault.acts_on(outcome):
                continue
            facts = EventFacts(node, call.channel, request, of_client, outcome, self._find_clients)
            if self.fires(rule, facts):
                if rule.spec.is_standing:
                    self._standing.begin_after_reply(rule, node)
                    if fault.loses_exchange:
                        handlers.append(_lose)
                        is_lost = True
                    continue
                event = ResponseEvent(
                    firing=self.firing(rule),
                    node=node,
                    call=of_client,
                    operation=request,
                    outcome=outcome,
                    matches=rule.spec.criteria.matches_message,
                )
                outcome = fault.on_response(event)
                (writer if fault.writes_bytes else handlers).extend(event.handlers)
                if event.handlers:
                    responding.add(rule.name)
                is_lost = is_lost or event.is_lost
        journaled = undelivered(outcome) if is_lost else outcome
        seen = journaled
        if (writer or handlers) and not is_lost and delivered(outcome):
            # A jump of the clock does not wait for messages that a rule still holds back.
            seen = undelivered(outcome)
            writer = [
                observed(writer[0] if writer else None, partial(self._gate.observe, node, call, request, outcome))
            ]
        for handler in (*writer, *reversed(handlers)):
            of_client.intercept(handler)
        return outcome, journaled, seen

    def drops(self, node: Node, channel: Channel, effect: Effect, push: Callable[[], None]) -> bool:
        """Apply the rules for pushes. Returns True if the effect must not be sent; `push` sends it."""
        if self._watcher is not None and channel.active:
            self._watcher.pushed(EventFacts(node, channel, effect, None, None, self._find_clients))
        rules = self._index.candidates(Phase.PUSH, effect.__class__)
        if not rules or effect.__class__ is CloseExpiredConnection:
            return False
        facts = EventFacts(node, channel, effect, None, None, self._find_clients)
        return PushChain(self, rules, facts, channel, effect, push).is_taken()

    def _watched(self, node: Node, call: Call, request: Request, outcome: Outcome | None) -> EventFacts:
        return EventFacts(node, call.channel, request, client_call(call), outcome, self._find_clients)

    def connected(self, protocol: str, node: str, address: str, connection: NewConnection) -> None:
        """Apply the first rule for new connections that fires."""
        for rule in self._index.candidates(Phase.CONNECT, None):
            meets = rule.is_open(self._scheduler.now_ms) and _meets(rule, NewConnectionFacts(protocol, node, address))
            if meets and rule.counter.count_match():
                self._note(rule, CONNECT_LABEL, address, ())
                self._gate.record_connection_fault(node, address, rule.name)
                rule.spec.fault.on_connect(ConnectEvent(firing=self.firing(rule), connection=connection))
                return

    def fires(self, rule: RunningRule, facts: EventFacts) -> bool:
        """Count a match of a rule, and record its firing. Returns True if it fires."""
        if rule.standing is not None or not rule.is_open(self._scheduler.now_ms):
            return False
        wanted = rule.operations
        if facts.protocol not in rule.protocols or (wanted and wanted.isdisjoint(facts.names)):
            return False
        if not self._meets(rule, facts) or not rule.counter.count_match():
            return False
        ids = [message.message_id for message in facts.messages[:_IDS_MAX]]
        self._note(rule, facts.operation, facts.channel.channel_id, tuple(each for each in ids if each))
        number = None if facts.call is None else facts.call.number
        self._gate.record_fault(
            facts.node, facts.channel, facts.label, subject=facts.subject, rule=rule.name, number=number
        )
        return True

    def _meets(self, rule: RunningRule, facts: Any) -> bool:
        try:
            return _meets(rule, facts)
        except Exception as failure:  # the function `where` of a test raised it
            if rule.spec.criteria.where is None:
                raise
            rule.failure = f"{type(failure).__name__}: {failure}"
            return False

    def _note(self, rule: RunningRule, operation: str, channel: str, ids: tuple[str, ...]) -> None:
        rule.events.append(RuleEvent(self._scheduler.now_ms, operation, channel, ids))
        self._history.note_firing(
            rule=rule.name, operation=operation, channel=channel, effect=rule.spec.fault.KIND.name, message_ids=ids
        )

    def firing(self, rule: RunningRule) -> FiringContext:
        """Return the context of one firing, for the fault of the rule."""
        return FiringContext(
            rule=rule.name,
            scheduler=self._scheduler,
            chance=rule.chance,
            carrier=self._gate,
            state=rule.state,
            codes=self._codes,
            cluster=self._cluster,
            errors=rule.errors,
        )


def _lose(_response: Response) -> None:
    """Send nothing: the connection of the response breaks."""


def _meets(rule: RunningRule, facts: Any) -> bool:
    return all(predicate(facts) for predicate in rule.predicates)
