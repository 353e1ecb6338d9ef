"""A rule at one moment: its definition and its counts, from which another emulator continues it."""

from dataclasses import KW_ONLY

from ..kernel.value_class import frozen_value
from .rule import RuleSpec, RunningRule


@frozen_value
class SavedRule:
    """A rule with its counts. Times are ms since the epoch; `chance` is the state of its random choices.

    `holds`: True if the standing fault of the rule is in force; `restored_ms` is the time of its end, None if it ends
    with the rule. Requests that the rule holds back, and the record of its firings, are not saved.
    """

    name: str
    spec: RuleSpec
    matched: int
    fired: int
    _: KW_ONLY
    chance: int
    start_ms: int
    end_ms: int | None
    holds: bool
    restored_ms: int | None
    failure: str | None

    @classmethod
    def of(cls, rule: RunningRule) -> "SavedRule":
        """Save a rule. Its definition gets the name that the rule has."""
        spec = rule.spec
        named = RuleSpec(
            spec.fault, spec.criteria, spec.occurrence, rule.name, optional=spec.optional, strict=spec.strict
        )
        return cls(
            name=rule.name,
            spec=named,
            matched=rule.counter.matched,
            fired=rule.counter.fired,
            chance=rule.chance.state,
            start_ms=rule.start_ms,
            end_ms=rule.end_ms,
            holds=rule.standing is not None,
            restored_ms=rule.restored_ms,
            failure=rule.failure,
        )

    def moved(self, by_ms: int) -> "SavedRule":
        """Return the same rule with all its times later by `by_ms`, which may be negative."""
        return SavedRule(
            name=self.name,
            spec=self.spec,
            matched=self.matched,
            fired=self.fired,
            chance=self.chance,
            start_ms=self.start_ms + by_ms,
            end_ms=None if self.end_ms is None else self.end_ms + by_ms,
            holds=self.holds,
            restored_ms=None if self.restored_ms is None else self.restored_ms + by_ms,
            failure=self.failure,
        )

    def put_into(self, rule: RunningRule) -> None:
        """Let a new rule with this definition continue the counts and times of this one."""
        rule.counter.matched, rule.counter.fired = self.matched, self.fired
        rule.chance.state = self.chance
        rule.start_ms, rule.end_ms, rule.restored_ms = self.start_ms, self.end_ms, self.restored_ms
        rule.failure = self.failure
