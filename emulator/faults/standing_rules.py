"""Begin and end standing faults, such as a stopped broker: with their rules, at instants, or with a request."""

from collections.abc import Callable
from functools import partial

from ..gate.call import Node
from ..gate.gate import Gate
from ..kernel.scheduler import Scheduler
from ..kernel.timer_kind import TimerKind
from .cluster_control import ClusterControl
from .phase import Phase
from .rule import RuleEvent, RunningRule

BEGIN, END = "begin", "end"
"""Labels of the journal entries. The firing of a rule whose fault begins without a request has the label BEGIN, too."""


class StandingRules:
    """The begin and the end of the standing faults of one emulator."""

    def __init__(self, gate: Gate, scheduler: Scheduler, cluster: ClusterControl) -> None:
        self._gate = gate
        self._scheduler = scheduler
        self._cluster = cluster

    def add(self, rule: RunningRule) -> None:
        """Begin the fault of a new rule, now or at its start. A fault that waits for a request begins with that."""
        if rule.end_ms is not None:
            self._at(rule, rule.end_ms, partial(self.end, rule))
        if rule.spec.phase is not Phase.STANDING:
            return
        if rule.start_ms <= self._scheduler.now_ms:
            self._begin_at_once(rule)
        else:
            self._at(rule, rule.start_ms, partial(self._begin_at_once, rule))

    def resume(self, rule: RunningRule, *, holds: bool) -> None:
        """Set the timers of a rule of another emulator. Begin its fault again if it is in force (`holds`) there."""
        now_ms = self._scheduler.now_ms
        if rule.end_ms is not None and rule.end_ms > now_ms:
            self._at(rule, rule.end_ms, partial(self.end, rule))
        if holds:
            rule.standing = rule.spec.fault.begin(self._cluster)
            self._record(rule, BEGIN)
            self._restore_later(rule)
        elif rule.spec.phase is Phase.STANDING and rule.start_ms > now_ms:
            self._at(rule, rule.start_ms, partial(self._begin_at_once, rule))

    def begin_before(self, rule: RunningRule, node: Node, carry_out: Callable[[], None]) -> None:
        """Begin the fault of a rule that a request has fired, and then carry out the request.

        Both happen after the requests that run now, because a broker cannot stop while it carries out a request.
        """

        def begin() -> None:
            self._begin(rule, node)
            carry_out()

        self._gate.run_after_reply(begin)

    def begin_after_reply(self, rule: RunningRule, node: Node) -> None:
        """Begin the fault of a rule that an outcome has fired, once the reply is sent."""
        self._gate.run_after_reply(partial(self._begin, rule, node))

    def end(self, rule: RunningRule) -> None:
        """End the fault of a rule for good. A no-op if it is not in force."""
        for timer in rule.timers:
            timer.cancel()
        rule.timers.clear()
        self._restore(rule)

    def _begin_at_once(self, rule: RunningRule) -> None:
        if rule.counter.count_match():
            rule.events.append(RuleEvent(self._scheduler.now_ms, BEGIN, "", ()))
            self._begin(rule)

    def _begin(self, rule: RunningRule, node: Node | None = None) -> None:
        if rule.removed or rule.standing is not None:
            return
        fault = rule.spec.fault
        rule.standing = fault.begin_at(self._cluster, node)
        self._record(rule, BEGIN)
        rule.restored_ms = None if fault.duration_ms is None else self._scheduler.now_ms + fault.duration_ms
        self._restore_later(rule)

    def _restore_later(self, rule: RunningRule) -> None:
        if rule.restored_ms is not None:
            self._at(rule, rule.restored_ms, partial(self._restore, rule))

    def _restore(self, rule: RunningRule) -> None:
        standing, rule.standing = rule.standing, None
        if standing is not None:
            standing.end()
            self._record(rule, END)

    def _record(self, rule: RunningRule, label: str) -> None:
        fault = rule.spec.fault
        self._gate.record_standing_fault(label, {"fault": fault.KIND.name, **fault.parameters()}, rule.name)

    def _at(self, rule: RunningRule, due_ms: int, action: Callable[[], None]) -> None:
        rule.timers = [timer for timer in rule.timers if timer.active]
        rule.timers.append(self._scheduler.call_at(due_ms, action, TimerKind.FAULT, rule.name))
