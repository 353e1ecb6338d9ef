"""Definitions of rules: phase, protocol, and the time in which a rule may act."""

from typing import Any

import pytest
from fault_rules import WATCH, rule_spec
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.kinds.cluster import Partition
from rocketmq_testkit.emulator.faults.kinds.connections import CloseConnection, GoAway, IgnorePings, RefuseConnection
from rocketmq_testkit.emulator.faults.kinds.requests import DropPush
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse
from rocketmq_testkit.emulator.faults.kinds.services import StopRevive
from rocketmq_testkit.emulator.faults.phase import Phase
from rocketmq_testkit.emulator.faults.rule import EVENTS_MAX, RuleEvent, RunningRule
from rocketmq_testkit.emulator.kernel.random_streams import RandomStream


def _rule(fault: Fault, **options: Any) -> RunningRule:
    return RunningRule(name="r", spec=rule_spec(fault, **options), added_ms=10_000, chance=RandomStream(1))


@pytest.mark.parametrize(
    ("fault", "options", "phase"),
    [
        (WATCH, {}, Phase.REQUEST),
        (DropResponse(), {}, Phase.RESPONSE),
        (DropPush(), {}, Phase.PUSH),
        (RefuseConnection(), {}, Phase.CONNECT),
        (CloseConnection(), {"phase": "response"}, Phase.RESPONSE),
        (StopRevive(), {}, Phase.STANDING),
        (StopRevive(), {"start": "1s", "end": "2s"}, Phase.STANDING),
        (StopRevive(), {"times": 1, "probability": 0.5}, Phase.STANDING),
        (StopRevive(), {"topic": "T"}, Phase.REQUEST),
        (StopRevive(), {"nth": 2}, Phase.REQUEST),
        (StopRevive(), {"every": 2}, Phase.REQUEST),
        (StopRevive(), {"after": 2}, Phase.REQUEST),
        (StopRevive(), {"topic": "T", "phase": "response"}, Phase.RESPONSE),
    ],
)
def test_a_rule_acts_in_the_phase_of_its_fault_or_in_the_chosen_one(
    fault: Fault, options: dict[str, Any], phase: Phase
) -> None:
    """A fault that lasts for a time begins at once, or at a request if the rule has criteria or numbers of requests."""
    spec = rule_spec(fault, **options)
    assert (spec.phase, spec.phases) == (phase, (phase,))
    assert spec.is_standing == isinstance(fault, StopRevive)


def test_a_partition_acts_in_all_its_phases() -> None:
    spec = rule_spec(Partition(client="c"))
    assert set(spec.phases) == {Phase.REQUEST, Phase.RESPONSE, Phase.PUSH, Phase.CONNECT}


@pytest.mark.parametrize(
    ("fault", "protocol", "text"),
    [
        (IgnorePings(), "remoting", "protocol='remoting': ignore_pings acts on grpc only; choose another protocol or"),
        (RefuseConnection(), None, None),
        (GoAway(), "grpc", None),
    ],
)
def test_a_protocol_that_the_fault_does_not_have_is_rejected(
    fault: Fault, protocol: str | None, text: str | None
) -> None:
    if text is None:
        assert rule_spec(fault, protocol=protocol).criteria.protocol == protocol
        return
    with pytest.raises(FaultError) as caught:
        rule_spec(fault, protocol=protocol)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("options", "must_fire"), [({}, True), ({"optional": True}, False), ({"probability": 1}, False), ({"nth": 2}, True)]
)
def test_a_rule_must_fire_unless_it_is_optional_or_has_a_probability(options: dict[str, Any], must_fire: bool) -> None:
    assert rule_spec(WATCH, **options).must_fire == must_fire


@pytest.mark.parametrize(
    ("options", "now_ms", "is_open"),
    [
        ({}, 10_000, True),
        ({"start": "1s"}, 10_999, False),
        ({"start": "1s"}, 11_000, True),
        ({"end": "1s"}, 10_999, True),
        ({"end": "1s"}, 11_000, False),
        ({"start": "1s", "end": "2s"}, 12_000, False),
    ],
)
def test_a_rule_is_open_within_its_window(options: dict[str, Any], now_ms: int, is_open: bool) -> None:
    """The window is half-open: it includes its start and excludes its end."""
    assert _rule(WATCH, **options).is_open(now_ms) == is_open


def test_a_rule_that_is_used_up_or_removed_is_closed() -> None:
    used, removed = _rule(WATCH, times=1), _rule(WATCH)
    assert used.counter.count_match()
    assert (used.matched, used.fired, used.is_open(10_000)) == (1, 1, False)
    removed.removed = True
    assert not removed.is_open(10_000)


@pytest.mark.parametrize(
    ("options", "matches", "now_ms", "later"),
    [
        ({"start": "1s"}, 0, 10_000, True),
        ({"end": "1s"}, 0, 10_999, True),
        ({"end": "1s"}, 0, 11_000, False),
        ({"times": 1}, 0, 10_000, True),
        ({"times": 1}, 1, 10_000, False),
        ({"nth": 2}, 1, 10_000, True),
        ({"nth": 2}, 2, 10_000, False),
        ({"nth": [3, 1]}, 2, 10_000, True),
        ({"nth": [3, 1]}, 3, 10_000, False),
        ({"every": 2}, 2, 10_000, True),
    ],
)
def test_a_rule_can_act_later_until_its_end_or_its_last_match(
    options: dict[str, Any], matches: int, now_ms: int, later: bool
) -> None:
    """A rule before its start can act later; a rule after the last match of `nth` cannot."""
    rule = _rule(WATCH, **options)
    for _ in range(matches):
        rule.counter.count_match()
    assert rule.can_act_later(now_ms) == later


def test_a_removed_rule_cannot_act_later() -> None:
    rule = _rule(WATCH)
    rule.removed = True
    assert not rule.can_act_later(10_000)


@pytest.mark.parametrize(
    ("options", "fires"),
    [
        ({}, [True, True, True]),
        ({"nth": 2}, [False, True, False]),
        ({"every": 2}, [False, True, False]),
        ({"after": 2}, [False, False, True]),
        ({"times": 2}, [True, True, False]),
        ({"probability": 1}, [True, True, True]),
        ({"probability": 0.999}, [False, False, False]),
    ],
)
def test_a_rule_knows_if_the_next_match_fires_it_for_certain(options: dict[str, Any], fires: list[bool]) -> None:
    counter, seen = _rule(WATCH, **options).counter, []
    for _ in fires:
        seen.append(counter.fires_next)
        counter.count_match()
    assert seen == fires


def test_a_rule_stores_its_last_firings_and_creates_its_predicates_once() -> None:
    rule = _rule(Partition(client="c"), protocol="grpc")
    for number in range(EVENTS_MAX + 1):
        rule.events.append(RuleEvent(number, "SendMessage", "", ()))
    assert (len(rule.events), rule.events[0].now_ms) == (EVENTS_MAX, 1)
    assert rule.predicates is rule.predicates
    assert len(rule.predicates) == 2, "the protocol, and the client of the partition"
