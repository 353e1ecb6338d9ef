"""Rules by phase and by class of operation or effect, so that rules about other operations cost a request nothing."""

from collections.abc import Iterable, Sequence

from .phase import Phase
from .rule import Rule

Kinds = Sequence[type | None]
"""Classes of operations or effects; None stands for all classes."""
ByName = dict[str, Rule]


class RuleIndex:
    """The rules of each phase."""

    def __init__(self) -> None:
        self._by_phase: dict[Phase, dict[type | None, ByName]] = {phase: {} for phase in Phase}
        self.requests = self._by_phase[Phase.REQUEST]
        """The classes with rules for requests. Each request looks here: the hash of a Phase would be a call."""
        self.responses = self._by_phase[Phase.RESPONSE]
        """The classes with rules for responses."""

    def add(self, rule: Rule, kinds: Kinds) -> None:
        """Add a rule for classes of operations or effects."""
        for phase in rule.spec.phases:
            for kind in kinds:
                self._by_phase[phase].setdefault(kind, {})[rule.name] = rule

    def remove(self, rule: Rule) -> None:
        """Remove a rule."""
        for phase in rule.spec.phases:
            index = self._by_phase[phase]
            for kind in [kind for kind, rules in index.items() if rule.name in rules]:
                del index[kind][rule.name]
                if not index[kind]:
                    del index[kind]

    def candidates(self, phase: Phase, kind: type | None) -> Iterable[Rule]:
        """Return the rules for events of a class, in the order in which they were added."""
        index = self._by_phase[phase]
        own, general = index.get(kind), index.get(None)
        if not own or kind is None:
            return tuple(general.values()) if general else ()
        if not general:
            return tuple(own.values())
        return sorted((*own.values(), *general.values()), key=_number)


def _number(rule: Rule) -> int:
    return rule.number
