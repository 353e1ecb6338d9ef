"""The rules of one emulator, and the decision for each request, response, push and connection."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..gate.effects import CloseConnection, Effect
from ..gate.gate import Call, CarryOut, Channel, Gate, Node, Outcome, Request, RuledOutcome
from ..gate.proxy_only_request import ProxyOnlyRequest
from ..kernel.random_streams import RandomStream, RandomStreams
from ..kernel.scheduler import Scheduler
from .arrival import observed
from .chains import PushChain, RequestChain
from .client_call import GhostCall, ResponseHandler, client_call
from .delivered import delivered, undelivered
from .errors import FaultError, NoSuchRule
from .event_facts import ConnectionFacts, EventFacts, Find
from .events import ConnectEvent, Firing, NewConnection, ResponseEvent
from .phase import Phase
from .rule import Rule, RuleEvent, RuleSpec
from .rule_index import Key, RuleIndex
from .standing_rules import StandingRules
from .vocabulary import Vocabulary
from .world import World

RULES_MAX = 20_000
_IDS_MAX = 32
_SEEDS = 1 << 64


class FaultPlan:
    """The rules of one emulator. Implements GateRules.

    The gate holds the plan only while it has rules. Rules are indexed by phase and by class of operation or effect:
    rules about other operations cost a request nothing. `find_clients` returns the client ids of a channel.
    """

    def __init__(
        self,
        *,
        gate: Gate,
        scheduler: Scheduler,
        streams: RandomStreams,
        vocabulary: Vocabulary,
        find_clients: Find,
        world: World,
    ) -> None:
        self.vocabulary = vocabulary
        self._gate = gate
        self._scheduler = scheduler
        self._streams = streams
        self._find_clients = find_clients
        self._world = world
        self._standing = StandingRules(gate, scheduler, world)
        self._rules: dict[str, Rule] = {}
        self._index = RuleIndex()
        self._numbers: dict[str, int] = {}
        """How many rules of a kind got a name from their kind."""
        self._added = 0

    # rules

    def __iter__(self) -> Iterator[Rule]:
        return iter(tuple(self._rules.values()))

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, rule: Rule) -> bool:
        """True if a rule is neither removed nor one of another emulator."""
        return self._rules.get(rule.name) is rule

    def __getitem__(self, name: str) -> Rule:
        """Return a rule by name. Raises FaultError."""
        if name not in self._rules:
            raise NoSuchRule(name, self._rules)
        return self._rules[name]

    def add(self, specs: Sequence[RuleSpec]) -> list[Rule]:
        """Add rules, all of them or none. Raises FaultError."""
        if len(self._rules) + len(specs) > RULES_MAX:
            raise FaultError(f"{len(self._rules) + len(specs)} rules: at most {RULES_MAX} are allowed; remove some")
        taken = set(self._rules)
        found_keys = []
        protocols = []
        for number, spec in enumerate(specs, 1):
            try:
                if spec.name is not None:
                    if spec.name in taken:
                        raise FaultError(
                            f"name={spec.name!r}: a rule has this name already; choose another, or omit it"
                        )
                    taken.add(spec.name)
                spec.fault.check_world(self._world)
                found_keys.append(self._keys(spec))
                protocols.append(self._protocols(spec))
            except FaultError as wrong:
                raise (wrong if len(specs) == 1 else wrong.located(f"rule {number}")) from None
        rules = []
        for spec, keys, usable in zip(specs, found_keys, protocols, strict=True):
            name = spec.name or self._new_name(spec.fault.KIND.name, taken)
            # Not a named stream of the engine: a rule draws the same numbers each time that it is added.
            chance = RandomStream(self._streams.fixed(f"fault {name}", _SEEDS))
            rule = Rule(name=name, spec=spec, added_ms=self._scheduler.now_ms, chance=chance, number=self._added)
            self._added += 1
            rule.operations, rule.protocols = frozenset(_as_list(spec.criteria.operation)), usable
            self._rules[name] = rule
            self._index.add(rule, keys)
            spec.fault.on_added(self._world, rule.state)
            rules.append(rule)
        self._attach()
        for rule in rules:
            if rule.spec.is_standing:
                self._standing.add(rule)
        return rules

    def remove(self, name: str) -> Rule:
        """Remove a rule. Raises FaultError if there is no rule with this name."""
        rule = self[name]
        del self._rules[name]
        rule.removed = True
        self._index.remove(rule)
        self._standing.end(rule)
        rule.spec.fault.on_removed(rule.state)
        self._attach()
        return rule

    def clear(self) -> list[Rule]:
        """Remove all rules, and return them."""
        return [self.remove(name) for name in tuple(self._rules)]

    def _attach(self) -> None:
        acts = any(not rule.spec.is_standing or rule.spec.phase is not Phase.STANDING for rule in self._rules.values())
        self._gate.use_rules(self if acts else None)

    def _new_name(self, kind: str, taken: set[str]) -> str:
        while True:
            self._numbers[kind] = number = self._numbers.get(kind, 0) + 1
            name = kind if number == 1 else f"{kind}-{number}"
            if name not in taken:
                taken.add(name)
                return name

    def _keys(self, spec: RuleSpec) -> list[Key]:
        """Return the keys under which a rule is indexed. Raises FaultError."""
        kind, phase, operations = spec.fault.KIND, spec.phase, spec.fault.usable_operations()
        wanted = _as_list(spec.criteria.operation)
        if not wanted:
            return [None] if operations is None else list(operations)
        found: dict[Key, None] = {}
        for name in wanted:
            for each in self.vocabulary.classes(name, responses=phase is Phase.RESPONSE):
                if issubclass(each, Effect) != (phase is Phase.PUSH):
                    wrong = "is a push" if issubclass(each, Effect) else "is no push"
                    raise FaultError(f"operation={name!r}: {wrong}, and {kind.name} acts in the phase {phase.value!r}")
                if operations is not None and each not in operations:
                    continue
                found[each] = None
        if not found:
            allowed = ", ".join(each.__name__ for each in operations or ())
            raise FaultError(
                f"operation={spec.criteria.operation!r}: {kind.name} acts on {allowed} only; use one of them"
            )
        if operations is None and phase in (Phase.REQUEST, Phase.RESPONSE) and spec.criteria.protocol != "remoting":
            found |= dict.fromkeys(self.vocabulary.rpcs_of(wanted))
        return list(found)

    def _protocols(self, spec: RuleSpec) -> frozenset[str]:
        """Return the protocols whose requests the rule acts on. Raises FaultError if there is none."""
        names, protocol = _as_list(spec.criteria.operation), spec.criteria.protocol
        if spec.strict:
            usable = frozenset(spec.fault.usable_protocols(self.vocabulary.requests_of(names, protocol)))
        else:  # the request may never get the code, but the code must exist
            spec.fault.check_codes(self.vocabulary.codes)
            usable = frozenset(spec.fault.KIND.protocols)
        if names and spec.phase in (Phase.REQUEST, Phase.RESPONSE):
            possible = usable if protocol is None else usable & {protocol}
            self.vocabulary.check_sent(names, possible, responses=spec.phase is Phase.RESPONSE)
        return usable

    # decisions

    def takes(self, node: Node, call: Call, request: Request, carry_out: CarryOut) -> bool:
        """Apply the rules for requests. Returns True if a rule has taken the request over."""
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
        """
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
                    self._standing.begin_after_reply(rule)
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
        rules = self._index.candidates(Phase.PUSH, effect.__class__)
        if not rules or effect.__class__ is CloseConnection:
            return False
        facts = EventFacts(node, channel, effect, None, None, self._find_clients)
        return PushChain(self, rules, node, channel, effect, push, facts).is_kept()

    def connected(self, protocol: str, node: str, address: str, connection: NewConnection) -> None:
        """Apply the rules for new connections."""
        for rule in self._index.candidates(Phase.CONNECT, None):
            meets = rule.is_open(self._scheduler.now_ms) and _meets(rule, ConnectionFacts(protocol, node, address))
            if meets and rule.counter.count_match():
                self._note(rule, "connect", address, ())
                rule.spec.fault.on_connect(ConnectEvent(firing=self.firing(rule), connection=connection))
                return

    def fires(self, rule: Rule, facts: EventFacts) -> bool:
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
        self._gate.record_fault(facts.node, facts.channel, facts.label, subject=facts.subject, rule=rule.name)
        return True

    def _meets(self, rule: Rule, facts: Any) -> bool:
        try:
            return _meets(rule, facts)
        except Exception as failure:  # the function `where` of a test raised it
            if rule.spec.criteria.where is None:
                raise
            rule.failure = f"{type(failure).__name__}: {failure}"
            return False

    def _note(self, rule: Rule, operation: str, channel: str, ids: tuple[str, ...]) -> None:
        rule.events.append(RuleEvent(self._scheduler.now_ms, operation, channel, ids))

    def firing(self, rule: Rule) -> Firing:
        """Return what the fault of a rule that has fired needs."""
        return Firing(
            rule=rule.name,
            scheduler=self._scheduler,
            chance=rule.chance,
            carrier=self._gate,
            state=rule.state,
            codes=self.vocabulary.codes,
            world=self._world,
        )


def _meets(rule: Rule, facts: Any) -> bool:
    return all(predicate(facts) for predicate in rule.predicates)


def _as_list(names: str | Sequence[str] | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)
