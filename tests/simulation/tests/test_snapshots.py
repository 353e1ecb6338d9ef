"""An engine started from a snapshot continues like the original one after a graceful restart."""

import pytest
from observations import Observation
from simulation import Action, Simulation, plan
from snapshot_files import saved

RESTART, MOVE = Action("crash", a=5), Action("crash", a=11)
"""Two values of the verb `crash`: graceful restart in the same engine, or in a new one from a snapshot."""
ACTIONS = 120


def lived_through(seed: int, stop: Action) -> tuple[list[Observation], bytes]:
    """Return the observations of a seed whose broker restarts twice, and its final snapshot."""
    setup, actions = plan(seed)
    simulation = Simulation(setup, keep=True)
    for number, action in enumerate(action for action in actions[:ACTIONS] if action.verb != "crash"):
        if number in (40, 80):
            simulation.perform(stop)
        simulation.perform(action)
    simulation.drain()
    return simulation.observations, saved(simulation.session.engine)


@pytest.mark.parametrize("seed", range(12))
def test_an_engine_from_a_snapshot_continues_as_after_a_restart(seed: int) -> None:
    """Observations and the final snapshot are identical after a restart and after a start from a snapshot.

    The state includes half messages, delayed and timed messages, pops of each mode, ordered batches and offsets.
    """
    assert lived_through(seed, MOVE) == lived_through(seed, RESTART)
