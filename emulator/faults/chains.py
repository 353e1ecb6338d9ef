"""The rules for one request or push, applied in order. At the end of a delay by a rule, the later rules apply."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from ..gate.call import Channel
from ..gate.effects import Effect
from ..gate.gate import CarryOut, Request
from .client_call import ClientCall
from .event_facts import EventFacts
from .events import FiringContext, PushEvent, RequestEvent
from .rule import RunningRule
from .standing_rules import StandingRules


class Judge(Protocol):
    """Decides if a rule fires."""

    def fires(self, rule: RunningRule, facts: EventFacts) -> bool:
        """Count a match of the rule if it matches the event. Returns True if this match fires the rule."""

    def firing(self, rule: RunningRule) -> FiringContext:
        """Return the context of one firing, for the fault of the rule."""


class Chain(ABC):
    """The rules for one event, in order. `_finish` processes an event that no rule takes over."""

    def __init__(self, judge: Judge, rules: Sequence[RunningRule], facts: EventFacts) -> None:
        self._judge = judge
        self._rules = rules
        self._facts = facts

    def is_taken(self, first: int = 0) -> bool:
        """Apply the rules from a position on. Returns True if one of them has taken the event over."""
        for at in range(first, len(self._rules)):
            rule = self._rules[at]
            if self._judge.fires(rule, self._facts) and self._takes(rule, partial(self._proceed, at + 1)):
                return True
        return False

    def _proceed(self, first: int) -> None:
        if not self.is_taken(first):
            self._finish()

    @abstractmethod
    def _takes(self, rule: RunningRule, proceed: Callable[[], None]) -> bool:
        """Run the fault of a fired rule. Returns True if it takes the event over; it may call `proceed` later."""

    @abstractmethod
    def _finish(self) -> None:
        """Process an event that no rule has taken over."""


class RequestChain(Chain):
    """A request that has arrived, and the rules for it. `carry_out` carries it out without further rules."""

    def __init__(  # noqa: PLR0917  # made for each request of an operation with rules
        self,
        judge: Judge,
        standing: StandingRules,
        rules: Sequence[RunningRule],
        facts: EventFacts,
        call: ClientCall,
        request: Request,
        carry_out: CarryOut,
    ) -> None:
        super().__init__(judge, rules, facts)
        self._standing = standing
        self._call = call
        self._request = request
        self._carry_out = carry_out

    def _takes(self, rule: RunningRule, proceed: Callable[[], None]) -> bool:
        if rule.spec.is_standing:
            lost = rule.spec.fault.loses_exchange
            self._standing.begin_before(rule, self._facts.node, self._call.abandon if lost else proceed)
            return True
        event = RequestEvent(
            firing=self._judge.firing(rule),
            node=self._facts.node,
            call=self._call,
            operation=self._request,
            carry_out=proceed,
            carry_out_for=self._carry_out,
        )
        return rule.spec.fault.on_request(event)

    def _finish(self) -> None:
        self._carry_out(self._call, self._request)


class PushChain(Chain):
    """An effect for a client, and the rules for it. `push` sends it without further rules."""

    def __init__(  # noqa: PLR0917  # made for each effect of a class with rules
        self,
        judge: Judge,
        rules: Sequence[RunningRule],
        facts: EventFacts,
        channel: Channel,
        effect: Effect,
        push: Callable[[], None],
    ) -> None:
        super().__init__(judge, rules, facts)
        self._channel, self._effect = channel, effect
        self._push = push

    def _takes(self, rule: RunningRule, proceed: Callable[[], None]) -> bool:
        event = PushEvent(
            firing=self._judge.firing(rule),
            node=self._facts.node,
            channel=self._channel,
            effect=self._effect,
            push=proceed,
        )
        return rule.spec.fault.on_push(event)

    def _finish(self) -> None:
        self._push()
