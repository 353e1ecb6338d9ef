"""Standing faults, which last for a time: their begin and their end."""

import pytest
from fault_world import FaultWorld, make_fault_world
from remoting_world import send
from rocketmq_testkit import faults
from rocketmq_testkit.emulator.faults.criteria import Criteria
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.occurrence import Occurrence
from rocketmq_testkit.emulator.faults.phase import Phase
from rocketmq_testkit.emulator.faults.rule import RuleSpec
from rocketmq_testkit.emulator.gate.fired_rule import FiredRule
from rocketmq_testkit.emulator.gate.raw_request import RawRequest


@pytest.fixture
def world() -> FaultWorld:
    """Return a world with one broker and a topic A."""
    world = make_fault_world()
    world.topic("A")
    return world


def stopped(world: FaultWorld) -> bool:
    """Return True if the fault `stop_revive` of the broker lasts now."""
    return world.broker.interference.revive.stopped


def test_a_standing_fault_begins_and_fires_when_its_rule_is_added(world: FaultWorld) -> None:
    """The fault ends when its rule is removed."""
    rule = world.add(faults.stop_revive())
    assert (rule.spec.phase, stopped(world)) == (Phase.STANDING, True)
    assert (rule.matched, rule.fired) == (1, 1)
    assert [(event.now_ms, event.operation) for event in rule.events] == [(world.now_ms, "begin")]
    world.plan.remove(rule.name)
    assert not stopped(world)


def test_start_and_end_move_the_begin_and_the_end_of_a_fault(world: FaultWorld) -> None:
    """Both are durations after the addition of the rule."""
    rule = world.add(faults.stop_revive(), start="2s", end="5s")
    seen = []
    for _ in range(7):
        seen.append(stopped(world))
        world.advance(1_000)
    assert seen == [False, False, True, True, True, False, False]
    assert rule.fired == 1


def test_a_fault_ends_after_its_duration_or_at_the_end_of_its_rule_whichever_is_first(world: FaultWorld) -> None:
    """A jump of the clock over both ends the fault once."""
    world.add(faults.stop_revive(duration="1m"), end="5s")
    world.advance(5_000)
    assert not stopped(world)
    world.add(faults.stop_revive(duration="5s"), end="1m")
    world.advance(5_000)
    assert not stopped(world)
    world.advance(3_600_000)
    assert not stopped(world)


def test_a_rule_removed_before_its_start_never_begins(world: FaultWorld) -> None:
    """The removal leaves no timer of the rule."""
    rule = world.add(faults.stop_revive(), start="2s", end="5s")
    world.plan.remove(rule.name)
    world.advance(10_000)
    assert (rule.fired, stopped(world)) == (0, False)
    assert [timer for timer in world.engine.scheduler.scheduled() if timer.kind == "fault"] == []


def test_clear_ends_all_standing_faults(world: FaultWorld) -> None:
    """It also ends faults that began with a request."""
    world.add(faults.stop_revive())
    world.add(faults.stop_revive(), operation="SendMessage")
    assert send(world.peer(), "A").code == 0
    world.plan.clear()
    assert not stopped(world)


def test_a_fault_with_criteria_about_requests_begins_with_the_request_that_fires_it(world: FaultWorld) -> None:
    """The third send to the topic fires the rule; further sends do not fire it while the fault lasts."""
    world.topic("B")
    peer = world.peer()
    rule = world.add(faults.stop_revive(), operation="SendMessage", topic="A", nth=3)
    assert rule.spec.phase is Phase.REQUEST
    for topic in ("A", "B", "A"):
        assert send(peer, topic).code == 0
        assert not stopped(world)
    assert send(peer, "A").code == 0
    assert stopped(world)
    assert (rule.matched, rule.fired) == (3, 1)
    assert send(peer, "A").code == 0
    assert (rule.matched, rule.fired) == (3, 1)  # while the fault lasts, no request matches


def test_a_fault_that_has_ended_begins_again_with_the_next_request(world: FaultWorld) -> None:
    """A rule with a duration can fire several times, at most `times`."""
    peer = world.peer()
    rule = world.add(faults.stop_revive(duration="1s"), operation="SendMessage", times=2)
    for holds in (True, True, False):
        assert send(peer, "A").code == 0
        assert stopped(world) is holds
        world.advance(1_000)
        assert not stopped(world)
    assert rule.fired == 2
    assert len(rule.timers) <= 1


def test_the_window_of_a_fault_that_waits_for_a_request_limits_its_begin_and_its_end(world: FaultWorld) -> None:
    """The fault does not begin before `start`, and ends at `end`."""
    peer = world.peer()
    world.add(faults.stop_revive(), operation="SendMessage", start="2s", end="5s")
    send(peer, "A")
    assert not stopped(world)
    world.advance(2_000)
    send(peer, "A")
    assert stopped(world)
    world.advance(3_000)
    assert not stopped(world)
    send(peer, "A")
    assert not stopped(world)


def test_the_seed_decides_if_a_standing_fault_with_a_probability_begins() -> None:
    """Worlds with one seed begin the same faults, and not all."""
    begun = []
    for _ in range(2):
        world = make_fault_world()
        rules = [world.add(faults.stop_revive(), probability=0.5) for _ in range(20)]
        begun.append([rule.fired for rule in rules])
    assert begun[0] == begun[1]
    assert 0 < sum(begun[0]) < 20


def test_the_journal_has_the_begin_and_the_end_of_a_standing_fault(world: FaultWorld) -> None:
    """Both entries have the name of the rule and the parameters of the fault."""
    world.add(faults.stop_revive("broker-a", duration="5s"))
    world.advance(5_000)
    entries = [entry for entry in world.engine.journal if entry.event == "faulted"]
    fields = {"fault": "stop_revive", "broker": "broker-a", "duration": "5s"}
    assert [(entry.label, entry.node, entry.subject, entry.outcome) for entry in entries] == [
        (label, "faults", RawRequest(fields), FiredRule("stop_revive")) for label in ("begin", "end")
    ]


def test_standing_rules_alone_cause_no_work_for_requests(world: FaultWorld) -> None:
    """The gate calls the rules only if one acts on requests, responses or pushes."""
    gate = world.engine.gate
    world.add(faults.lose_flush(), start="1s")
    assert gate.rules is None
    world.add(faults.lose_flush(), operation="SendMessage")
    assert gate.rules is world.plan.decisions


def test_if_one_of_several_rules_names_an_unknown_broker_all_are_rejected(world: FaultWorld) -> None:
    """No fault of the other rules begins."""
    specs = [
        RuleSpec(fault=fault, criteria=Criteria(), occurrence=Occurrence())
        for fault in (faults.stop_revive(), faults.stop_revive("broker-x"))
    ]
    with pytest.raises(FaultError, match="broker='broker-x': there is no such broker"):
        world.plan.add(specs)
    assert (len(world.plan), stopped(world)) == (0, False)
