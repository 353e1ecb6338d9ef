"""Many seeds of the simulation, each checked by the oracle.

SEEDS=n runs n seeds (default 50), FIRST_SEED=n begins with seed n, SEED=n runs only seed n.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from leak_check import leaks
from shortening import shortest
from simulation import RECORD_MAX, VERBS, Action, Setup, plan, report, run

BLOCK = 25
SEEDS = int(os.environ.get("SEEDS", "50"))
FIRST = int(os.environ.get("FIRST_SEED", "0"))
ONE = os.environ.get("SEED")
BLOCKS = [range(int(ONE), int(ONE) + 1)] if ONE else [range(n, n + BLOCK) for n in range(FIRST, FIRST + SEEDS, BLOCK)]


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_the_oracle_finds_no_violation_in_any_seed(seeds: range) -> None:
    """The oracle finds no violation in any seed, and in the end every group has every message."""
    reports = [found for seed in seeds if (found := report(seed))]

    assert not reports, "\n\n".join(reports)


def test_after_everything_was_consumed_no_timer_or_check_point_is_left() -> None:
    """After everything was consumed the broker has no timer, waiting request or open check point.

    Journal and delivery record reach their bounds in many seeds: a bound that none reaches would not be tested.
    """
    full = 0
    for seed in range(20):
        simulation = run(*plan(seed))
        assert leaks(simulation.session) == []
        engine = simulation.session.engine
        full += engine.journal.dropped > 0 and len(engine.history.record) > RECORD_MAX * 3 // 4
    assert full > 5


def test_the_leak_check_finds_a_journal_and_a_record_beyond_their_bounds() -> None:
    simulation = run(*plan(0))
    emulation = simulation.session.engine.emulation
    emulation.journal_max_entries = emulation.delivery_record_max_entries = 1

    assert leaks(simulation.session) == ["a journal beyond its bound", "a delivery record beyond its bound"]


def test_the_first_seeds_use_every_verb() -> None:
    used = {action.verb for seed in range(40) for action in plan(seed)[1]}

    assert used == set(VERBS)


def _journal(seed: int, hash_seed: str) -> bytes:
    program = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, program, "simulation", str(seed), "--journal"],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("seed", [3, 11])
def test_two_processes_write_the_same_journal_for_one_seed(seed: int) -> None:
    """Two processes with different hash seeds write the same journal, byte for byte."""
    first, second = _journal(seed, "1"), _journal(seed, "2")

    assert first.count(b"\n") > 200
    assert hashlib.sha256(first).hexdigest() == hashlib.sha256(second).hexdigest()


def _fails_for_a_reset_after_a_burst(setup: Setup, actions: list[Action]) -> str:
    """Fail if topic O is reset after a burst of more than ten messages; return the error or ""."""
    bursts = [index for index, action in enumerate(actions) if action.verb == "burst" and action.b % 40 >= 8]
    resets = [index for index, action in enumerate(actions) if action.verb == "reset" and action.a % 3 == 2]
    return "Violation: that was too much" if bursts and resets and bursts[0] < resets[-1] else ""


def test_a_failing_run_is_reduced_to_the_actions_that_fail_together() -> None:
    """A failing list is reduced to the two actions that fail together, and to the numbers that matter."""
    setup, actions = plan(1)
    actions[10:10] = [Action("burst", 3, 7, 9, 2, 1)]
    actions[80:80] = [Action("reset", 3, 2, 7, 4, 1, "lost")]

    steps = shortest(setup, actions, _fails_for_a_reset_after_a_burst)

    assert [step.verb for step in steps] == ["burst", "reset"]
    assert [step.client for step in steps] == [0, 0]
    assert steps[0].b % 40 >= 8
    assert steps[1].a % 3 == 2
