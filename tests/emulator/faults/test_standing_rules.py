"""Standing faults, which last for a time: their begin and their end."""

import pytest
from fault_harness import FaultHarness, make_fault_harness
from remoting_harness import send
from rocketmq_testkit import faults
from rocketmq_testkit.emulator.faults.criteria import Criteria
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.occurrence import Occurrence
from rocketmq_testkit.emulator.faults.phase import Phase
from rocketmq_testkit.emulator.faults.rule import RuleSpec
from rocketmq_testkit.emulator.gate.fired_rule import FiredRule
from rocketmq_testkit.emulator.gate.raw_request import RawRequest


@pytest.fixture
def harness() -> FaultHarness:
    """Return a harness with one broker and a topic A."""
    harness = make_fault_harness()
    harness.topic("A")
    return harness


def stopped(harness: FaultHarness) -> bool:
    """Return True if the fault `stop_revive` of the broker lasts now."""
    return harness.broker.interference.revive.stopped


def test_a_standing_fault_begins_and_fires_when_its_rule_is_added(harness: FaultHarness) -> None:
    """The fault ends when its rule is removed."""
    rule = harness.add(faults.stop_revive())
    assert (rule.spec.phase, stopped(harness)) == (Phase.STANDING, True)
    assert (rule.matched, rule.fired) == (1, 1)
    assert [(event.now_ms, event.operation) for event in rule.events] == [(harness.now_ms, "begin")]
    harness.plan.remove(rule.name)
    assert not stopped(harness)


def test_a_rule_that_needs_no_request_can_act_later_until_its_fault_ends(harness: FaultHarness) -> None:
    """The fault begins once. One that begins with a request can begin again."""
    rule = harness.add(faults.stop_revive(duration="2s"), start="1s")
    seen = []
    for _ in range(4):
        seen.append(rule.can_act_later(harness.now_ms))
        harness.advance(1_000)
    assert seen == [True, True, True, False]
    again = harness.add(faults.stop_revive(duration="2s"), operation="SendMessage")
    send(harness.peer(), "A")
    harness.advance(2_000)
    assert again.can_act_later(harness.now_ms)


def test_start_and_end_move_the_begin_and_the_end_of_a_fault(harness: FaultHarness) -> None:
    """Both are durations after the addition of the rule."""
    rule = harness.add(faults.stop_revive(), start="2s", end="5s")
    seen = []
    for _ in range(7):
        seen.append(stopped(harness))
        harness.advance(1_000)
    assert seen == [False, False, True, True, True, False, False]
    assert rule.fired == 1


def test_a_fault_ends_after_its_duration_or_at_the_end_of_its_rule_whichever_is_first(harness: FaultHarness) -> None:
    """A jump of the clock over both ends the fault once."""
    harness.add(faults.stop_revive(duration="1m"), end="5s")
    harness.advance(5_000)
    assert not stopped(harness)
    harness.add(faults.stop_revive(duration="5s"), end="1m")
    harness.advance(5_000)
    assert not stopped(harness)
    harness.advance(3_600_000)
    assert not stopped(harness)


def test_a_rule_removed_before_its_start_never_begins(harness: FaultHarness) -> None:
    """The removal leaves no timer of the rule."""
    rule = harness.add(faults.stop_revive(), start="2s", end="5s")
    harness.plan.remove(rule.name)
    harness.advance(10_000)
    assert (rule.fired, stopped(harness)) == (0, False)
    assert [timer for timer in harness.engine.scheduler.scheduled() if timer.kind == "fault"] == []


def test_clear_ends_all_standing_faults(harness: FaultHarness) -> None:
    """It also ends faults that began with a request."""
    harness.add(faults.stop_revive())
    harness.add(faults.stop_revive(), operation="SendMessage")
    assert send(harness.peer(), "A").code == 0
    harness.plan.clear()
    assert not stopped(harness)


def test_a_fault_with_criteria_about_requests_begins_with_the_request_that_fires_it(harness: FaultHarness) -> None:
    """The third send to the topic fires the rule; further sends do not fire it while the fault lasts."""
    harness.topic("B")
    peer = harness.peer()
    rule = harness.add(faults.stop_revive(), operation="SendMessage", topic="A", nth=3)
    assert rule.spec.phase is Phase.REQUEST
    for topic in ("A", "B", "A"):
        assert send(peer, topic).code == 0
        assert not stopped(harness)
    assert send(peer, "A").code == 0
    assert stopped(harness)
    assert (rule.matched, rule.fired) == (3, 1)
    assert send(peer, "A").code == 0
    assert (rule.matched, rule.fired) == (3, 1)  # while the fault lasts, no request matches


def test_a_fault_that_has_ended_begins_again_with_the_next_request(harness: FaultHarness) -> None:
    """A rule with a duration can fire several times, at most `times`."""
    peer = harness.peer()
    rule = harness.add(faults.stop_revive(duration="1s"), operation="SendMessage", times=2)
    for holds in (True, True, False):
        assert send(peer, "A").code == 0
        assert stopped(harness) is holds
        harness.advance(1_000)
        assert not stopped(harness)
    assert rule.fired == 2
    assert len(rule.timers) <= 1


def test_the_window_of_a_fault_that_waits_for_a_request_limits_its_begin_and_its_end(harness: FaultHarness) -> None:
    """The fault does not begin before `start`, and ends at `end`."""
    peer = harness.peer()
    harness.add(faults.stop_revive(), operation="SendMessage", start="2s", end="5s")
    send(peer, "A")
    assert not stopped(harness)
    harness.advance(2_000)
    send(peer, "A")
    assert stopped(harness)
    harness.advance(3_000)
    assert not stopped(harness)
    send(peer, "A")
    assert not stopped(harness)


def test_the_seed_decides_if_a_standing_fault_with_a_probability_begins() -> None:
    """Harnesses with one seed begin the same faults, and not all."""
    begun = []
    for _ in range(2):
        harness = make_fault_harness()
        rules = [harness.add(faults.stop_revive(), probability=0.5) for _ in range(20)]
        begun.append([rule.fired for rule in rules])
    assert begun[0] == begun[1]
    assert 0 < sum(begun[0]) < 20


def test_the_journal_has_the_begin_and_the_end_of_a_standing_fault(harness: FaultHarness) -> None:
    """Both entries have the name of the rule and the parameters of the fault."""
    harness.add(faults.stop_revive("broker-a", duration="5s"))
    harness.advance(5_000)
    entries = [entry for entry in harness.engine.journal if entry.event == "faulted"]
    fields = {"fault": "stop_revive", "broker": "broker-a", "duration": "5s"}
    assert [(entry.label, entry.node, entry.subject, entry.outcome) for entry in entries] == [
        (label, "faults", RawRequest(fields), FiredRule("stop_revive")) for label in ("begin", "end")
    ]


def test_standing_rules_alone_cause_no_work_for_requests(harness: FaultHarness) -> None:
    """The gate calls the rules only if one acts on requests, responses or pushes."""
    gate = harness.engine.gate
    harness.add(faults.lose_flush(), start="1s")
    assert gate.rules is None
    harness.add(faults.lose_flush(), operation="SendMessage")
    assert gate.rules is harness.plan.decisions


def test_if_one_of_several_rules_names_an_unknown_broker_all_are_rejected(harness: FaultHarness) -> None:
    """No fault of the other rules begins."""
    specs = [
        RuleSpec(fault=fault, criteria=Criteria(), occurrence=Occurrence())
        for fault in (faults.stop_revive(), faults.stop_revive("broker-x"))
    ]
    with pytest.raises(FaultError, match="broker='broker-x': there is no such broker"):
        harness.plan.add(specs)
    assert (len(harness.plan), stopped(harness)) == (0, False)
