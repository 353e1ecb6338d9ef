"""A message whose consumption always fails: redelivered up to the retry limit of its group, then a dead letter."""

from itertools import islice

import pytest
from mutation_dead_letters import a_change_hides_another_message, a_dead_letter_is_still_in_flight
from observations import Stored
from simulation import MODES, PULL_GROUPS, Setup, Simulation, plan, run
from test_oracle import Falsify, complaint, responses

TOPIC = "B"
"""A topic with one queue."""


@pytest.mark.parametrize("limit", [0, 1, 16])
def test_a_failing_message_is_dead_after_the_retry_limit_of_its_group(limit: int) -> None:
    """Each redelivery has a higher delay level; after the retry limit the message is dead and never redelivered."""
    simulation = Simulation(Setup(1, limits=(limit, limit)), keep=True)
    session, group = simulation.session, PULL_GROUPS[0]
    client = simulation.pullers[0]
    session.send(client, TOPIC, 0, "fails", tag="red")
    session.pull(client, TOPIC, 0, 0, count=32)
    for attempt in range(limit + 1):
        assert [pulled[1] for pulled in client.pulled] == [attempt]
        session.send_back(client, client.pulled.pop(), 0, None)
        session.end_step()
        session.advance(2 * 3_600_000 + 2_000)
        session.pull(client, f"%RETRY%{group}", 0, attempt, count=32)
        session.end_step()

    assert client.pulled == []
    copies = [seen for seen in simulation.observations if isinstance(seen, Stored) and seen.topic.startswith("%")]
    assert [seen.topic for seen in copies] == [f"%RETRY%{group}"] * limit + [f"%DLQ%{group}"]
    assert [seen.attempt for seen in copies] == list(range(1, limit + 2))
    assert [seen.delay_level for seen in copies] == [*range(3, limit + 3), 0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("retries", [0, 1, 16])
def test_a_message_that_a_popping_client_gives_up_is_a_dead_letter(retries: int, mode: str) -> None:
    """A message that a client sends to the dead letter queue is never redelivered, after any number of redeliveries."""
    simulation = Simulation(Setup(1, mode=mode, retry_first=100), keep=True)
    session, client = simulation.session, simulation.poppers[0]
    session.send(client, TOPIC, 0, "fails", tag="red")
    for attempt in range(retries + 1):
        client.handles.clear()
        session.pop(client, TOPIC, -1, 32, invisible_ms=1_000, poll_ms=0)
        session.end_step()
        assert [handle.topic.startswith("%RETRY%") for handle in client.handles] == [attempt > 0]
        if attempt < retries:
            session.advance(10_000)
            session.end_step()
    simulation.dead.give_up(client, client.handles.pop())
    session.end_step()
    simulation.drain()

    letters = [seen for seen in simulation.observations if isinstance(seen, Stored) and seen.topic.startswith("%DLQ%")]
    assert [(seen.topic, seen.attempt) for seen in letters] == [(f"%DLQ%{client.group}", retries + 1)]


@pytest.mark.parametrize(
    ("falsify", "states"),
    [
        (a_dead_letter_is_still_in_flight, "1 in flight, 0 done and it is dead"),
        (a_change_hides_another_message, "0 visible, 0 in flight, 0 done"),
    ],
)
def test_a_message_in_two_states_or_none_is_reported_with_its_states(falsify: Falsify, states: str) -> None:
    """A message in two states or in none is reported at the end of the same step, with its states."""
    said = [
        complaint(setup, one)
        for setup, stream in (responses(seed) for seed in range(16))
        for one in islice(falsify(list(stream)), 3)
    ]

    assert any(states in words for words in said), said
    assert "" not in said


def test_the_first_seeds_use_every_retry_limit_and_have_dead_letters() -> None:
    """Groups with each limit send messages back, and every kind of group has dead letters."""
    limits: set[int] = set()
    dead: set[str] = set()
    for seed in range(40):
        simulation = run(*plan(seed), keep=True)
        limits.update(simulation.setup.limits)
        stored = (seen for seen in simulation.observations if isinstance(seen, Stored))
        dead.update(seen.topic for seen in stored if seen.topic.startswith("%DLQ%"))

    assert limits == {0, 1, 16}
    assert {"%DLQ%pop-all", "%DLQ%pop-red", "%DLQ%order", "%DLQ%pull-all", "%DLQ%pull-red"} <= dead
