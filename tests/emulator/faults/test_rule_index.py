"""The index of rules by phase and class of operation."""

from typing import Any

from fault_rules import WATCH, rule_spec
from rocketmq_testkit.emulator.faults.kinds.cluster import Partition
from rocketmq_testkit.emulator.faults.phase import Phase
from rocketmq_testkit.emulator.faults.rule import RunningRule
from rocketmq_testkit.emulator.faults.rule_index import RuleIndex
from rocketmq_testkit.emulator.kernel.random_streams import RandomStream
from rocketmq_testkit.emulator.operations.consume import PullMessage
from rocketmq_testkit.emulator.operations.send import SendMessage


def _rule(number: int, fault: object = WATCH) -> RunningRule:
    spec = rule_spec(fault)  # type: ignore[arg-type]  # a fault
    return RunningRule(name=f"r{number}", spec=spec, added_ms=0, chance=RandomStream(1), number=number)


def _names(index: RuleIndex, phase: Phase, kind: type | None) -> list[str]:
    return [rule.name for rule in index.candidates(phase, kind)]


def test_candidates_are_the_rules_of_a_class_and_the_general_ones_in_the_order_of_adding() -> None:
    """A removed rule leaves no entry in the index."""
    index = RuleIndex()
    rules = [_rule(number) for number in range(5)]
    kinds: list[tuple[Any, ...]] = [
        (None,),
        (SendMessage,),
        (PullMessage, SendMessage),
        (None,),
        (PullMessage,),
    ]
    for rule, each in zip(rules, kinds, strict=True):
        index.add(rule, each)
    assert _names(index, Phase.REQUEST, SendMessage) == ["r0", "r1", "r2", "r3"]
    assert _names(index, Phase.REQUEST, PullMessage) == ["r0", "r2", "r3", "r4"]
    assert _names(index, Phase.REQUEST, None) == ["r0", "r3"]
    assert _names(index, Phase.REQUEST, int) == ["r0", "r3"]
    assert _names(index, Phase.RESPONSE, SendMessage) == []
    for rule in (rules[0], rules[3]):
        index.remove(rule)
    assert _names(index, Phase.REQUEST, SendMessage) == ["r1", "r2"]
    assert set(index.requests) == {SendMessage, PullMessage}
    for rule in (rules[1], rules[2], rules[4]):
        index.remove(rule)
    assert not index.requests


def test_a_rule_of_several_phases_is_a_candidate_in_each() -> None:
    index = RuleIndex()
    rule = _rule(1, Partition(client="c"))
    index.add(rule, (None,))
    phases = [phase for phase in Phase if _names(index, phase, None)]
    assert set(phases) == set(rule.spec.phases)
    index.remove(rule)
    assert not any(_names(index, phase, None) for phase in Phase)
