"""An engine that begins from a snapshot goes on as the one that it is of goes on after an orderly stop."""

import pytest
from observations import Observation
from simulation import Action, Simulation, plan
from snapshot_files import saved

RESTART, MOVE = Action("crash", a=5), Action("crash", a=11)
"""What the crash verb's numbers mean: stop in order and start again, here or in another engine."""
ACTIONS = 120


def lived_through(seed: int, stop: Action) -> tuple[list[Observation], bytes]:
    """What was seen of a seed whose broker stops twice on the way, and how it is in the end."""
    setup, actions = plan(seed)
    simulation = Simulation(setup, keep=True)
    for number, action in enumerate(action for action in actions[:ACTIONS] if action.verb != "crash"):
        if number in (40, 80):
            simulation.perform(stop)
        simulation.perform(action)
    simulation.drain()
    return simulation.observations, saved(simulation.session.engine)


@pytest.mark.parametrize("seed", range(12))
def test_it_goes_on_as_after_a_restart(seed: int) -> None:
    """Everything that clients of a seed see is the same, and so is, to the byte, what is left after all was consumed.

    Half messages, delayed and timed ones, pops of each kind, ordered batches and offsets are among it.
    """
    assert lived_through(seed, MOVE) == lived_through(seed, RESTART)
