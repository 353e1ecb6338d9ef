"""Rules by phase and by class of operation or effect, so that rules about other operations cost a request nothing."""

from collections.abc import Sequence

from .phase import Phase
from .rule import RunningRule

Key = type | str | None
"""A class of operations or effects, the name of an RPC that the proxy handles itself, or None for all of them."""
ByName = dict[str, RunningRule]


class RuleIndex:
    """The rules of each phase."""

    def __init__(self) -> None:
        self._by_phase: dict[Phase, dict[Key, ByName]] = {phase: {} for phase in Phase}
        self.requests = self._by_phase[Phase.REQUEST]
        """The rules for requests by key. Each request reads this attribute, because hashing a Phase takes a call."""
        self.responses = self._by_phase[Phase.RESPONSE]
        """The rules for responses by key, for the same reason."""

    def add(self, rule: RunningRule, keys: Sequence[Key]) -> None:
        """Add a rule under keys."""
        for phase in rule.spec.phases:
            for key in keys:
                self._by_phase[phase].setdefault(key, {})[rule.name] = rule

    def remove(self, rule: RunningRule) -> None:
        """Remove a rule."""
        for phase in rule.spec.phases:
            index = self._by_phase[phase]
            for key in [key for key, rules in index.items() if rule.name in rules]:
                del index[key][rule.name]
                if not index[key]:
                    del index[key]

    def candidates(self, phase: Phase, key: Key) -> Sequence[RunningRule]:
        """Return the rules for events with a key, in the order in which they were added."""
        index = self._by_phase[phase]
        own, general = index.get(key), index.get(None)
        if not own or key is None:
            return tuple(general.values()) if general else ()
        if not general:
            return tuple(own.values())
        return sorted((*own.values(), *general.values()), key=_number)


def _number(rule: RunningRule) -> int:
    return rule.number
