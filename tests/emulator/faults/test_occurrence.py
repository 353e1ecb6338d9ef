"""Occurrence of a rule: nth, every, after, times, probability, and its window of time."""

from typing import Any

import pytest
from fault_rules import WATCH, Rules
from protocol_client import ProtocolClient
from protocol_clients import protocol_client, through
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.requests import DelayRequest, DropRequest
from rocketmq_testkit.emulator.faults.occurrence import Occurrence

FIRINGS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [1, 2, 3, 4, 5, 6, 7, 8]),
    ({"nth": 3}, [3]),
    ({"nth": [1, 4]}, [1, 4]),
    ({"nth": (2, 8)}, [2, 8]),
    ({"every": 3}, [3, 6]),
    ({"every": 1}, [1, 2, 3, 4, 5, 6, 7, 8]),
    ({"after": 5}, [6, 7, 8]),
    ({"after": 2, "every": 3}, [5, 8]),
    ({"times": 2}, [1, 2]),
    ({"every": 2, "times": 2}, [2, 4]),
    ({"after": 3, "times": 1}, [4]),
    ({"nth": [2, 4, 6], "times": 2}, [2, 4]),
    ({"probability": 1}, [1, 2, 3, 4, 5, 6, 7, 8]),
]


def _lost(e: ProtocolClient, number: int = 8) -> list[int]:
    """Send messages, and return the numbers of those that a rule dropped."""
    return [at for at in range(1, number + 1) if e.start_send().sent is None]


@pytest.mark.parametrize("client", ["remoting", "grpc"])
@pytest.mark.parametrize(("given", "fired"), FIRINGS, ids=[str(given) for given, _ in FIRINGS])
def test_a_rule_fires_on_the_matches_of_its_occurrence(client: str, given: dict[str, Any], fired: list[int]) -> None:
    """Only matches are counted, from the time at which the rule is added."""
    e = protocol_client(client)
    e.topic()
    e.put()
    rule = Rules(e.engine).add(DropRequest(), operation="SendMessage", topic="T", **given)
    e.topic("U")
    e.put(topic="U")
    assert _lost(e) == fired
    assert rule.fired == len(fired)


@through("remoting", "grpc")
def test_a_rule_with_a_probability_fires_on_the_same_matches_in_two_runs_with_one_seed(e: ProtocolClient) -> None:
    """A further rule with a probability does not change these matches; another seed does."""
    runs = []
    for seed, others in ((7, 0), (7, 3), (8, 0)):
        e = protocol_client(e.name, seed)
        e.topic()
        rules = Rules(e.engine)
        for number in range(others):
            rules.add(WATCH, operation="SendMessage", probability=0.5, name=f"other-{number}")
            rules.add(DelayRequest("10ms", jitter="5ms"), operation="PullMessage", name=f"late-{number}")
        rules.add(DropRequest(), operation="SendMessage", probability=0.3, name="lossy")
        runs.append(_lost(e, 60))
    first, with_others, other_seed = runs
    assert first == with_others
    assert first != other_seed
    assert 8 <= len(first) <= 30


def test_a_rule_with_a_probability_that_is_added_again_fires_on_the_same_matches() -> None:
    """Its random choices depend on the seed and the rule's name, not on earlier events of the emulator."""
    e = protocol_client("remoting")
    e.topic()
    rules, runs = Rules(e.engine), []
    states = e.engine.random_streams.states()
    for _ in range(2):
        rule = rules.add(DropRequest(), operation="SendMessage", probability=0.5, name="lossy")
        runs.append(_lost(e, 30))
        rules.remove(rule)
    assert runs[0] == runs[1]
    assert not [name for name in e.engine.random_streams.states() if name not in states and "fault" in name]


@through("remoting", "grpc")
def test_a_rule_acts_only_within_its_window_of_time(e: ProtocolClient) -> None:
    """The rule acts from its start, inclusive, to its end, exclusive; requests outside are no matches."""
    e.topic()
    rule = Rules(e.engine).add(DropRequest(), operation="SendMessage", start="10s", end="1m")
    seen = []
    for jump_ms in (0, 9_999, 1, 49_999, 1, 3_600_000):
        e.advance(jump_ms)
        seen.append(e.start_send().sent is None)
    assert seen == [False, False, True, True, False, False]
    assert rule.matched == 2


def test_a_window_counts_from_the_time_at_which_the_rule_was_added() -> None:
    """The same rule, added later, has a later window."""
    e = protocol_client("remoting")
    e.topic()
    e.advance(60_000)
    Rules(e.engine).add(DropRequest(), operation="SendMessage", end="1s")
    assert e.start_send().sent is None
    e.advance(1_000)
    assert e.put().ok


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"nth": 0}, "nth=0: not a whole number of at least 1; use 1"),
        ({"nth": [1, "2"]}, "nth='2': not a whole number of at least 1; use 1"),
        ({"nth": []}, "nth=[]: no match fires the rule; name the matches, such as nth=[1, 3]"),
        ({"every": 0}, "every=0: not a whole number of at least 1; use 1"),
        ({"after": -1}, "after=-1: not a whole number of at least 0; use 1"),
        ({"after": None}, "after=None: not a whole number of at least 0; use 1"),
        ({"times": True}, "times=True: not a whole number of at least 1; use 1"),
        ({"probability": 0}, "probability=0: not a number above 0 and at most 1; use 0.02"),
        ({"probability": 1.1}, "probability=1.1: not a number above 0 and at most 1; use 0.02"),
        ({"probability": float("nan")}, "probability=nan: not a number above 0 and at most 1; use 0.02"),
        ({"nth": 1, "every": 2}, "nth=1 and every=2: a rule has one of them; remove the other"),
        ({"nth": 1, "after": 2}, "nth=1 and after=2: nth names matches already; remove after"),
    ],
)
def test_a_wrong_occurrence_is_rejected_with_one_sentence(given: dict[str, Any], text: str) -> None:
    """The sentence has the wrong value and a correct one."""
    with pytest.raises(FaultError) as caught:
        Occurrence(**given)
    assert str(caught.value) == text
