"""Chooses the matches of a rule that fire it, and counts matches and firings."""

from dataclasses import fields

from ..kernel.random_streams import RandomStream
from ..kernel.value_class import frozen_value, value
from .errors import FaultError, shown

_CHANCES = 1 << 32


@frozen_value
class Occurrence:
    """The choice of the matches that fire a rule. Matches are counted from 1, from the addition of the rule on.

    - `nth`: only this match, or only the matches of a list
    - `every`: every Nth match
    - `after`: the matches after the first N
    - `times`: the maximum number of firings (default: no limit)
    - `probability`: each match that the other fields allow fires with this probability, drawn by the emulator's seed
    """

    nth: int | tuple[int, ...] | list[int] | None = None
    every: int | None = None
    after: int = 0
    times: int | None = None
    probability: float | None = None

    def __post_init__(self) -> None:
        for name in ("every", "times"):
            if (given := getattr(self, name)) is not None:
                _check_count(name, given, 1)
        _check_count("after", self.after, 0)
        if self.nth is not None:
            for number in self.nth if isinstance(self.nth, list | tuple) else (self.nth,):
                _check_count("nth", number, 1)
        if self.probability is not None:
            _check_probability(self.probability)
        if isinstance(self.nth, list | tuple) and not self.nth:
            raise FaultError(f"nth={shown(self.nth)}: no match fires the rule; name the matches, such as nth=[1, 3]")
        if self.nth is not None and self.every is not None:
            raise FaultError(
                f"nth={shown(self.nth)} and every={shown(self.every)}: a rule has one of them; remove the other"
            )
        if self.nth is not None and self.times is not None:
            count = len(set(self.nth)) if isinstance(self.nth, list | tuple) else 1
            if self.times > count:
                matches = "one match" if count == 1 else f"{count} matches"
                times = shown(self.times)
                raise FaultError(
                    f"nth={shown(self.nth)} and times={times}: nth names {matches}, and the rule never fires {times} "
                    "times; remove times, or use after in place of nth"
                )
        if self.nth is not None and self.after:
            raise FaultError(
                f"nth={shown(self.nth)} and after={shown(self.after)}: nth names matches already; remove after"
            )

    def allows(self, matched: int) -> bool:
        """True if the match with this number (1 and up) may fire the rule."""
        if self.nth is not None:
            return matched in self.nth if isinstance(self.nth, tuple | list) else matched == self.nth
        if matched <= self.after:
            return False
        return self.every is None or (matched - self.after) % self.every == 0

    @property
    def last(self) -> int | None:
        """The number of the last match that `nth` allows; None without `nth`."""
        return max(self.nth) if isinstance(self.nth, tuple | list) else self.nth


OCCURRENCE = tuple(each.name for each in fields(Occurrence))
"""The names of all fields."""


def _check_count(name: str, given: object, low: int) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or given < low:
        raise FaultError(f"{name}={shown(given)}: not a whole number of at least {low}; use {max(low, 1)}")


def _check_probability(given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise FaultError(f"probability={shown(given)}: not a number above 0 and at most 1; use 0.02")


@value
class Counter:
    """The matches and firings of one rule so far."""

    occurrence: Occurrence
    chance: RandomStream
    matched: int = 0
    fired: int = 0

    @property
    def is_used_up(self) -> bool:
        """True if the rule has fired as often as `times` allows."""
        times = self.occurrence.times
        return times is not None and self.fired >= times

    @property
    def is_exhausted(self) -> bool:
        """True if no further match fires the rule: it has fired `times` times, or the last match of `nth` is over."""
        last = self.occurrence.last
        return self.is_used_up or (last is not None and self.matched >= last)

    @property
    def may_fire_next(self) -> bool:
        """True if the next match fires the rule, unless `probability` decides otherwise."""
        return not self.is_used_up and self.occurrence.allows(self.matched + 1)

    @property
    def fires_next(self) -> bool:
        """True if the next match fires the rule for certain."""
        return self.may_fire_next and self.occurrence.probability in (None, 1)

    def count_match(self) -> bool:
        """Count a match. Returns True if it fires the rule, and counts that as well."""
        may_fire = self.may_fire_next
        self.matched += 1
        if not may_fire:
            return False
        probability = self.occurrence.probability
        if probability is not None and self.chance.below(_CHANCES) >= probability * _CHANCES:
            return False
        self.fired += 1
        return True
