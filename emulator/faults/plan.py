"""The rules of one emulator, and the decision for each request, response, push and connection."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import Any

from ..gate.effects import CloseConnection, Effect
from ..gate.gate import Call, Channel, Gate, Node, Outcome
from ..kernel.random_streams import RandomStream, RandomStreams
from ..kernel.scheduler import Scheduler
from ..message.properties import REAL_TOPIC
from ..operations.base import Operation
from ..operations.send import EndTransaction
from .client_call import ClientCall, GhostCall, Interceptor, client_call
from .delivered import undelivered
from .errors import FaultError, unknown_name
from .events import ConnectEvent, Firing, NewConnection, PushEvent, RequestEvent, ResponseEvent
from .phase import Phase
from .rule import Rule, RuleEvent, RuleSpec
from .standing_rules import StandingRules
from .subject import MessageFacts, groups_of, messages_of, topics_of
from .vocabulary import Vocabulary
from .world import World

RULES_MAX = 20_000
_IDS_MAX = 32
_SEEDS = 1 << 64

Find = Callable[[Node, Channel], Sequence[str]]
"""Returns the client ids that registered on a channel."""


class _Facts:
    """The facts of one event; those that cost something are computed when they are first read."""

    def __init__(  # noqa: PLR0917  # made for each event of an operation with rules
        self,
        node: Node,
        channel: Channel,
        subject: Operation | Effect,
        call: ClientCall | None,
        outcome: Outcome | None,
        find_clients: Find,
    ) -> None:
        self.node, self.channel, self.subject, self.call = node, channel, subject, call
        self._outcome = outcome
        self._find_clients = find_clients

    @property
    def operation(self) -> str:
        return self.subject.__class__.__name__

    @property
    def label(self) -> str:
        return self.operation if self.call is None else self.call.label

    @property
    def protocol(self) -> str:
        if self.call is not None:
            return self.call.protocol
        return "grpc" if self.channel.channel_id.startswith("grpc:") else "remoting"

    @property
    def broker(self) -> str:
        return self.node.name

    @property
    def address(self) -> str:
        return self.channel.remote_address[0]

    @property
    def channel_id(self) -> str:
        return self.channel.channel_id

    @cached_property
    def topics(self) -> Sequence[str]:
        named = topics_of(self.subject)
        if self.subject.__class__ is EndTransaction:  # clients before 5.0 do not name the topic
            real = (message.properties.get(REAL_TOPIC) for message in self.messages)
            return (*named, *(topic for topic in real if topic))
        return named

    @cached_property
    def groups(self) -> Sequence[str]:
        return groups_of(self.subject)

    @cached_property
    def clients(self) -> Sequence[str]:
        named = None if self.call is None else self.call.client_id
        named = named or getattr(self.subject, "client_id", None)
        return [named] if named else self._find_clients(self.node, self.channel)

    @property
    def language(self) -> str:
        return "" if self.call is None else self.call.client_language

    @property
    def version(self) -> str:
        return "" if self.call is None else self.call.client_version

    @cached_property
    def messages(self) -> Sequence[MessageFacts]:
        return messages_of(self.subject, self._outcome, getattr(self.node, "store", None))


class FaultPlan:
    """The rules of one emulator. Implements Interceptor of the gate.

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
        self._index: dict[Phase, dict[type | None, dict[str, Rule]]] = {phase: {} for phase in Phase}
        """Rules by phase, class (None: all classes) and name, each in the order in which they were added."""
        self._rule_numbers = count()
        self._numbers: dict[str, int] = {}
        """How many rules of a kind got a name from their kind."""

    # rules

    def __iter__(self) -> Iterator[Rule]:
        return iter(tuple(self._rules.values()))

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, name: str) -> Rule:
        """Return a rule by name. Raises FaultError."""
        if name not in self._rules:
            raise unknown_name("rule", name, self._rules)
        return self._rules[name]

    def add(self, specs: Sequence[RuleSpec]) -> list[Rule]:
        """Add rules, all of them or none. Raises FaultError."""
        if len(self._rules) + len(specs) > RULES_MAX:
            raise FaultError(f"{len(self._rules) + len(specs)} rules: at most {RULES_MAX} are allowed; remove some")
        taken = set(self._rules)
        found_classes = []
        protocols = []
        for spec in specs:
            if spec.name is not None:
                if spec.name in taken:
                    raise FaultError(f"name={spec.name!r}: a rule has this name already; choose another, or omit it")
                taken.add(spec.name)
            spec.fault.check_world(self._world)
            found_classes.append(self._classes(spec))
            protocols.append(self._protocols(spec))
        rules = []
        for spec, classes, usable in zip(specs, found_classes, protocols, strict=True):
            name = spec.name or self._new_name(spec.fault.KIND.name, taken)
            # Not a named stream of the engine: a rule draws the same numbers each time that it is added.
            chance = RandomStream(self._streams.fixed(f"fault {name}", _SEEDS))
            rule = Rule(
                name=name, spec=spec, added_ms=self._scheduler.now_ms, chance=chance, number=next(self._rule_numbers)
            )
            rule.operations, rule.protocols = frozenset(_as_list(spec.criteria.operation)), usable
            self._rules[name] = rule
            for phase in spec.phases:
                for each in classes:
                    self._index[phase].setdefault(each, {})[name] = rule
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
        for phase in rule.spec.phases:
            for by_class in self._index[phase].values():
                by_class.pop(name, None)
        self._standing.end(rule)
        rule.spec.fault.on_removed(rule.state)
        self._attach()
        return rule

    def clear(self) -> list[Rule]:
        """Remove all rules, and return them."""
        return [self.remove(name) for name in tuple(self._rules)]

    def _attach(self) -> None:
        acts = any(not rule.spec.is_standing or rule.spec.phase is not Phase.STANDING for rule in self._rules.values())
        self._gate.use_interceptor(self if acts else None)

    def _new_name(self, kind: str, taken: set[str]) -> str:
        while True:
            self._numbers[kind] = number = self._numbers.get(kind, 0) + 1
            name = kind if number == 1 else f"{kind}-{number}"
            if name not in taken:
                taken.add(name)
                return name

    def _classes(self, spec: RuleSpec) -> list[type | None]:
        """Return the classes of operations or effects under which a rule is indexed. Raises FaultError."""
        kind, phase, operations = spec.fault.KIND, spec.phase, spec.fault.usable_operations()
        wanted = _as_list(spec.criteria.operation)
        if not wanted:
            return [None] if operations is None else list(operations)
        found: dict[type | None, None] = {}
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
        return list(found)

    def _protocols(self, spec: RuleSpec) -> frozenset[str]:
        """Return the protocols whose requests the rule acts on. Raises FaultError if there is none."""
        requests = self.vocabulary.requests_of(_as_list(spec.criteria.operation), spec.criteria.protocol)
        if not spec.strict:  # the request may never get the code, but the code must exist
            spec.fault.check_codes(self.vocabulary.codes)
            return frozenset(spec.fault.KIND.protocols)
        return frozenset(spec.fault.usable_protocols(requests))

    # decisions

    def takes(self, node: Node, call: Call, operation: Operation) -> bool:
        """Apply the rules for requests. Returns True if a rule has taken the request over."""
        rules = self._candidates(Phase.REQUEST, operation.__class__)
        request = client_call(call) if rules else None
        if request is None:
            return False
        facts = _Facts(node, call.channel, operation, request, None, self._find_clients)
        for rule in rules:
            if self._fires(rule, facts):
                if rule.spec.is_standing:
                    self._standing.begin_before(rule, lambda: self._gate.carry_out(node, call, operation))
                    return True
                event = RequestEvent(firing=self._firing(rule), node=node, call=request, operation=operation)
                if rule.spec.fault.on_request(event):
                    return True
        return False

    def transform(self, node: Node, call: Call, operation: Operation, outcome: Outcome) -> tuple[Outcome, Outcome]:
        """Apply the rules for responses. Returns the outcome for the client, and that for journal and listeners.

        The rules get the response in the order in which they were added; one that writes its bytes gets it last.
        """
        if call.__class__ is GhostCall:
            return outcome, undelivered(outcome)
        rules = self._candidates(Phase.RESPONSE, operation.__class__)
        request = client_call(call) if rules else None
        if request is None or not request.ends_with(outcome):
            return outcome, outcome
        interceptors: list[Interceptor] = []
        writer: list[Interceptor] = []
        is_lost = False
        responding = request.responding_rules
        for rule in rules:
            fault = rule.spec.fault
            if rule.name in responding or (writer and fault.writes_bytes) or not fault.acts_on(outcome):
                continue
            facts = _Facts(node, call.channel, operation, request, outcome, self._find_clients)
            if self._fires(rule, facts):
                if rule.spec.is_standing:
                    self._standing.begin_after_reply(rule)
                    continue
                event = ResponseEvent(
                    firing=self._firing(rule),
                    node=node,
                    call=request,
                    operation=operation,
                    outcome=outcome,
                    matches=rule.spec.criteria.matches_message,
                )
                outcome = fault.on_response(event)
                (writer if fault.writes_bytes else interceptors).extend(event.interceptors)
                if event.interceptors:
                    responding.add(rule.name)
                is_lost = is_lost or event.is_lost
        for interceptor in (*writer, *reversed(interceptors)):
            request.intercept(interceptor)
        return outcome, undelivered(outcome) if is_lost else outcome

    def drops(self, node: Node, channel: Channel, effect: Effect, push: Callable[[], None]) -> bool:
        """Apply the rules for pushes. Returns True if the effect must not be sent; `push` sends it."""
        rules = self._candidates(Phase.PUSH, effect.__class__)
        if not rules or effect.__class__ is CloseConnection:
            return False
        facts = _Facts(node, channel, effect, None, None, self._find_clients)
        for rule in rules:
            if self._fires(rule, facts):
                event = PushEvent(firing=self._firing(rule), node=node, channel=channel, effect=effect, push=push)
                if rule.spec.fault.on_push(event):
                    return True
        return False

    def connected(self, protocol: str, node: str, address: str, connection: NewConnection) -> None:
        """Apply the rules for new connections."""
        for rule in self._candidates(Phase.CONNECT, None):
            meets = rule.is_open(self._scheduler.now_ms) and _meets(rule, _ConnectFacts(protocol, node, address))
            if meets and rule.counter.count_match():
                self._note(rule, "connect", address, ())
                rule.spec.fault.on_connect(ConnectEvent(firing=self._firing(rule), connection=connection))
                return

    def _candidates(self, phase: Phase, kind: type | None) -> Iterable[Rule]:
        index = self._index[phase]
        own, general = index.get(kind), index.get(None)
        if not own or kind is None:
            return tuple(general.values()) if general else ()
        if not general:
            return tuple(own.values())
        return sorted((*own.values(), *general.values()), key=lambda rule: rule.number)

    def _fires(self, rule: Rule, facts: _Facts) -> bool:
        if rule.standing is not None or not rule.is_open(self._scheduler.now_ms):
            return False
        wanted = rule.operations
        if facts.protocol not in rule.protocols or not (
            not wanted or facts.operation in wanted or facts.label in wanted
        ):
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

    def _firing(self, rule: Rule) -> Firing:
        return Firing(
            rule=rule.name,
            scheduler=self._scheduler,
            chance=rule.chance,
            carrier=self._gate,
            state=rule.state,
            codes=self.vocabulary.codes,
            world=self._world,
        )


class _ConnectFacts:
    """The facts of a new connection."""

    def __init__(self, protocol: str, broker: str, address: str) -> None:
        self.protocol, self.broker, self.address = protocol, broker, address
        self.clients: Sequence[str] = ()
        self.channel_id = ""


def _meets(rule: Rule, facts: Any) -> bool:
    return all(predicate(facts) for predicate in rule.predicates)


def _as_list(names: str | Sequence[str] | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)
