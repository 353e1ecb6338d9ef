"""Rules of faults on an engine in virtual time."""

from typing import Any

from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.engine_cluster_control import EngineClusterControl
from rocketmq_testkit.emulator.faults.criteria import CRITERIA, Criteria
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.kinds.requests import Throttle
from rocketmq_testkit.emulator.faults.occurrence import OCCURRENCE, Occurrence
from rocketmq_testkit.emulator.faults.rule import RuleSpec, RunningRule
from rocketmq_testkit.fixtures.faults.running_rules import RunningRules

WATCH = Throttle(per_second=1_000_000, burst=1_000_000)
"""A fault that only counts requests: no test sends so many."""


def rule_spec(fault: Fault, **options: Any) -> RuleSpec:
    """Return the definition of a rule from its fault, criteria and occurrence."""
    return RuleSpec(
        fault=fault,
        criteria=Criteria(**{name: options.pop(name) for name in CRITERIA if name in options}),
        occurrence=Occurrence(**{name: options.pop(name) for name in OCCURRENCE if name in options}),
        **options,
    )


class Rules:
    """The rules of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.plan = RunningRules(engine, EngineClusterControl(engine)).plan

    def add(self, fault: Fault, **options: Any) -> RunningRule:
        """Add a rule."""
        (rule,) = self.plan.add([rule_spec(fault, **options)])
        return rule

    def remove(self, rule: RunningRule) -> None:
        """Remove a rule."""
        self.plan.remove(rule.name)
