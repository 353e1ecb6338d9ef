"""Deletion of log files in the simulation: only deleted messages may be missing, and wrong deletions are reported."""

import random
from collections.abc import Iterable
from functools import cache

import mutation_retention as wrong
import pytest
from deleted_files import RETENTIONS
from leak_check import leaks
from observations import Acked, Deleted, Ended, Hidden, Observation, Pulled, SentBack
from simulation import Action, Setup, Simulation, plan, run
from test_oracle import (
    Falsify,
    a_copy_never_comes,
    a_delivery_is_lost,
    a_message_is_delivered_twice,
    a_pop_returns_nothing_although_there_are_messages,
    a_pull_has_a_gap,
    complaint,
)

SEEDS = dict(zip(range(1, 41, 4), 2 * tuple(RETENTIONS), strict=True))
"""Name of the retention in `RETENTIONS`, by seed."""
TRIES = 2


@cache
def responses(seed: int) -> tuple[Setup, tuple[Observation, ...]]:
    """Return the observations of a correct broker that deleted files and did not crash."""
    setup, actions = plan(seed)
    setup = setup._replace(mode="check points", retention=SEEDS[seed])
    alive = [action for action in actions if action.verb != "crash"]
    return setup, tuple(run(setup, alive, keep=True).observations)


def falsified_in(falsify: Falsify, retentions: Iterable[str]) -> list[str]:
    """Return the violation of each falsified stream."""
    draw = random.Random(falsify.__name__)
    said = []
    for setup, stream in (responses(seed) for seed, retention in SEEDS.items() if retention in retentions):
        falsified = list(falsify(list(stream)))
        said += [complaint(setup, one) for one in draw.sample(falsified, min(TRIES, len(falsified)))]
        if len(said) >= 2 * TRIES:
            break
    return said


@pytest.mark.parametrize(
    ("falsify", "retentions", "words"),
    [
        (wrong.the_log_begins_earlier_again, RETENTIONS, "the log began at"),
        (wrong.everything_is_deleted, RETENTIONS, "the log began at"),
        (wrong.files_vanish, RETENTIONS, ""),
        (
            wrong.files_are_deleted_without_a_request,
            ["on request", "on request, after an hour"],
            "deletion without a request",
        ),
        (wrong.a_young_file_is_deleted, ["after an hour"], "deletion of a message stored at"),
        (wrong.a_queue_begins_too_late, RETENTIONS, "reaches from"),
        (wrong.a_pull_is_sent_too_far, RETENTIONS, "where the queue begins"),
        (wrong.a_request_about_a_deleted_message_succeeds, ["always"], ""),
        (wrong.a_request_about_a_kept_message_is_rejected, ["on request"], "wrong code"),
        (wrong.a_deleted_message_is_delivered, ["always"], "begins at"),
        (a_copy_never_comes, RETENTIONS, ""),
        (a_delivery_is_lost, ["on request"], ""),
        (a_message_is_delivered_twice, ["on request"], ""),
        (a_pop_returns_nothing_although_there_are_messages, ["on request"], ""),
        (a_pull_has_a_gap, ["on request"], ""),
    ],
)
def test_a_wrong_deletion_of_files_is_reported(falsify: Falsify, retentions: Iterable[str], words: str) -> None:
    """A wrong deletion is reported, usually for the rule that it breaks; it may break another rule as well."""
    said = falsified_in(falsify, retentions)

    assert said, "too few falsifiable places"
    assert all(said)
    assert any(words in each for each in said), said


def test_the_seeds_delete_files_of_every_retention_with_unread_messages() -> None:
    """Every kind of retention deletes files, even with unread messages, and clients meet deleted messages."""
    seen = [one for seed in SEEDS for one in responses(seed)[1]]

    assert all(any(isinstance(one, Deleted) for one in responses(seed)[1]) for seed in list(SEEDS)[:5])
    assert sum(isinstance(one, Pulled) and one.asked_offset < one.low for one in seen) > 20
    assert sum(isinstance(one, Acked | Hidden) and one.code == "NO_MESSAGE" for one in seen) > 2
    assert {plan(seed)[0].retention for seed in range(160)} == {"", *RETENTIONS}


def _all_deleted_after(*actions: Action) -> Simulation:
    """Create a broker that has deleted all messages stored by these actions."""
    simulation = Simulation(Setup(0, retention="on request"), keep=True)
    for action in (*actions, Action("fill", a=4), Action("delete"), Action("advance", a=4), Action("advance", a=5)):
        simulation.perform(action)
    assert simulation.oracle.log.low(("A", 0)) == simulation.oracle.log.size(("A", 0))
    return simulation


def test_deleted_messages_need_not_be_delivered() -> None:
    """Deleted messages that waited, were popped, were pulled or were unread need not be delivered."""
    pulled = [Action("send"), Action("pull"), Action("pop", d=3)]
    simulation = _all_deleted_after(*pulled, Action("send timed", d=9), Action("prepare", d=4), Action("send", d=3))
    simulation.perform(Action("send back", b=1))
    simulation.perform(Action("end"))
    simulation.drain()

    codes = {type(one): one.code for one in simulation.observations if isinstance(one, SentBack | Ended)}
    assert codes == {SentBack: "SYSTEM_ERROR", Ended: "SYSTEM_ERROR"}
    assert simulation.oracle.states.gone > 0


@pytest.mark.parametrize("seed", [20217, 21213, 21537])
def test_waiting_for_deleted_messages_and_op_messages_is_no_violation(seed: int) -> None:
    """A delay level may wait for deleted messages, and a transaction check may find its op messages deleted."""
    assert leaks(run(*plan(seed)).session) == []


def test_a_copy_of_a_deleted_message_is_reported() -> None:
    """A copy that is made after its message was deleted is reported."""
    simulation = Simulation(Setup(0, retention="always"), keep=True)
    soon = Action("advance", a=5)
    for action in (Action("advance", a=9), Action("send"), Action("pop", d=4), Action("fill", a=4), soon):
        simulation.perform(action)
    for action in (Action("advance"), Action("advance"), soon):
        simulation.perform(action)
    (falsified,) = wrong.a_deleted_message_is_redelivered(simulation.observations)

    assert complaint(simulation.setup, simulation.observations) == ""
    assert "neither sent nor promised" in complaint(simulation.setup, falsified)
