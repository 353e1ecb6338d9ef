"""The rules of one emulator: add and remove them."""

from collections.abc import Iterator, Sequence

from ..gate.gate import Gate
from ..history.history import History
from ..kernel.random_streams import RandomStream, RandomStreams
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import frozen_value
from .cluster_control import ClusterControl
from .criteria import names_of
from .decisions import Decisions
from .errors import FaultError, NameTaken, NoSuchRule, shown
from .event_facts import Find
from .phase import Phase
from .rule import RULES_MAX, RuleSpec, RunningRule
from .rule_index import RuleIndex
from .rule_scope import RuleScope, Scopes
from .saved_rule import SavedRule
from .standing_rules import StandingRules
from .vocabulary import Vocabulary
from .watcher import Watcher

_SEEDS = 1 << 64


@frozen_value
class CheckedRule:
    """A rule that passed all checks. `at` names it in errors, and is empty for the only rule of its call."""

    spec: RuleSpec
    scope: RuleScope
    at: str


class FaultPlan:
    """The rules of one emulator.

    The gate holds the decisions only while there are rules. Rules are indexed by phase and by class of operation or
    effect: rules about other operations cost a request nothing. `find_clients` returns the client ids of a channel.
    """

    def __init__(
        self,
        *,
        gate: Gate,
        scheduler: Scheduler,
        streams: RandomStreams,
        vocabulary: Vocabulary,
        find_clients: Find,
        cluster: ClusterControl,
        history: History,
    ) -> None:
        self.vocabulary = vocabulary
        self._gate = gate
        self._scheduler = scheduler
        self._streams = streams
        self._cluster = cluster
        self._standing = StandingRules(gate, scheduler, cluster)
        self._rules: dict[str, RunningRule] = {}
        self._index = RuleIndex()
        self.decisions = Decisions(
            gate=gate,
            scheduler=scheduler,
            index=self._index,
            standing=self._standing,
            codes=vocabulary.codes,
            find_clients=find_clients,
            cluster=cluster,
            history=history,
        )
        self._numbers: dict[str, int] = {}
        """By kind, the number of rules that are named after it: `drop_request`, `drop_request-2` and so on."""
        self._added = 0
        self._acting = 0
        """The number of rules about requests, responses, pushes or connections."""

    def __iter__(self) -> Iterator[RunningRule]:
        return iter(tuple(self._rules.values()))

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, rule: RunningRule) -> bool:
        """True if a rule is one of this emulator and has not been removed."""
        return self._rules.get(rule.name) is rule

    def __getitem__(self, name: str) -> RunningRule:
        """Return a rule by name. Raises FaultError."""
        if name not in self._rules:
            raise NoSuchRule(name, self._rules)
        return self._rules[name]

    def add(self, specs: Sequence[RuleSpec]) -> list[RunningRule]:
        """Add rules, all of them or none. Raises FaultError."""
        self._check_number(len(specs))
        return self.add_checked(list(self.checked(specs)))

    def checked(self, specs: Sequence[RuleSpec]) -> Iterator[CheckedRule]:
        """Check rules one after the other, and change nothing. Raises FaultError.

        A caller with many rules can let other work run in between.
        """
        scopes = Scopes(self.vocabulary)
        for number, spec in enumerate(specs, 1):
            at = f"rule {number}" if len(specs) > 1 else ""
            try:
                spec.fault.check_brokers(self._cluster)
                for name in names_of(spec.criteria.broker):
                    self._cluster.check_node(name)
                yield CheckedRule(spec, scopes.of(spec), at)
            except FaultError as wrong:
                raise _located(wrong, at) from None

    def add_checked(self, checked: Sequence[CheckedRule]) -> list[RunningRule]:
        """Add rules that are checked, all of them or none. Raises FaultError for their names and their number."""
        self._check_number(len(checked))
        taken = self._names_with(checked)
        rules = [self._new_rule(each, taken) for each in checked]
        self._attach()
        for rule in rules:
            if rule.spec.is_standing:
                self._standing.add(rule)
        return rules

    def resume(self, saved: Sequence[SavedRule]) -> None:
        """Add saved rules of another emulator, with their counts. Only for a plan without rules. Raises FaultError."""
        checked = list(self.checked([each.spec for each in saved]))
        for each, found in zip(saved, checked, strict=True):
            rule = self._new_rule(found, set(self._rules))
            each.put_into(rule)
        self._attach()
        for each in saved:
            rule = self._rules[each.name]
            if rule.spec.is_standing:
                self._standing.resume(rule, holds=each.holds)

    def _new_rule(self, checked: CheckedRule, taken: set[str]) -> RunningRule:
        spec, scope = checked.spec, checked.scope
        name = spec.name or self._new_name(spec.fault.KIND.name, taken)
        # Not a named stream of the engine: a rule draws the same numbers each time that it is added.
        chance = RandomStream(self._streams.fixed(f"fault {name}", _SEEDS))
        rule = RunningRule(name=name, spec=spec, added_ms=self._scheduler.now_ms, chance=chance, number=self._added)
        rule.operations, rule.protocols = scope.operations, scope.protocols
        self._added += 1
        self._acting += _acts(rule)
        self._rules[name] = rule
        self._index.add(rule, scope.keys)
        spec.fault.on_added(self._cluster, rule.state)
        return rule

    def remove(self, name: str) -> RunningRule:
        """Remove a rule. Raises FaultError if there is no rule with this name."""
        rule = self[name]
        del self._rules[name]
        self._acting -= _acts(rule)
        rule.removed = True
        self._index.remove(rule)
        self._standing.end(rule)
        rule.spec.fault.on_removed(rule.state)
        self._attach()
        return rule

    def clear(self) -> list[RunningRule]:
        """Remove all rules, and return them."""
        return [self.remove(name) for name in tuple(self._rules)]

    def end(self) -> None:
        """Release everything that the rules hold back, before the emulator is reset. No rule acts on anything again.

        Standing faults stay in force.
        """
        self._gate.use_rules(None)
        for rule in self:
            rule.removed = True
        for rule in self:
            rule.spec.fault.on_removed(rule.state)

    def watch(self, watcher: Watcher | None) -> None:
        """Show each request, outcome and push to a watcher, before the rules act on it. None ends that."""
        self.decisions.watch(watcher)
        self._attach()

    def _attach(self) -> None:
        in_use = self._acting or self.decisions.is_watched
        self._gate.use_rules(self.decisions if in_use else None)

    def _check_number(self, new: int) -> None:
        if len(self._rules) + new > RULES_MAX:
            raise FaultError(f"{len(self._rules) + new} rules: at most {RULES_MAX} are allowed; remove some")

    def _names_with(self, checked: Sequence[CheckedRule]) -> set[str]:
        """Return all names, with those of new rules that have one. Raises FaultError for a name that exists already."""
        taken = set(self._rules)
        for each in checked:
            name = each.spec.name
            if name in taken:
                text = f"name={shown(name)}: a rule has this name already; choose another, or omit it"
                raise _located(NameTaken(text), each.at)
            if name is not None:
                taken.add(name)
        return taken

    def _new_name(self, kind: str, taken: set[str]) -> str:
        while True:
            self._numbers[kind] = number = self._numbers.get(kind, 0) + 1
            name = kind if number == 1 else f"{kind}-{number}"
            if name not in taken:
                taken.add(name)
                return name


def _located(wrong: FaultError, at: str) -> FaultError:
    return wrong.located(at) if at else wrong


def _acts(rule: RunningRule) -> bool:
    """True if the rule waits for requests, responses, pushes or connections."""
    return not rule.spec.is_standing or rule.spec.phase is not Phase.STANDING
