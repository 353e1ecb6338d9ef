"""Forks, their parents and their own forks: each continues like an engine from a snapshot, unaffected by the others.

Their state includes half messages, delayed and timed messages, pops of each mode, ordered batches, offsets and deleted
files.
"""

from collections.abc import Iterable

import pytest
from observations import Observation
from rocketmq_testkit.emulator.engine import Engine
from simulation import Action, Simulation, plan
from snapshot_files import copied_with_memories, saved

SHARED, OWN = 50, 40
"""Number of actions before the first fork, and number of actions of each engine after it was forked."""
Lived = tuple[list[Observation], bytes]
"""Observations of an engine during a simulation, and its final snapshot."""


def actions_of(seed: int) -> list[Action]:
    """Return the actions of a seed, without restarts that continue in another engine."""
    return [action for action in plan(seed)[1] if not (action.verb == "crash" and action.a % 12 == 11)]


def begun(seed: int) -> Simulation:
    """Return a simulation that has performed the actions before the first fork."""
    simulation = Simulation(plan(seed)[0], keep=True)
    perform(simulation, actions_of(seed)[:SHARED])
    return simulation


def perform(simulation: Simulation, actions: Iterable[Action]) -> None:
    """Carry out actions."""
    for action in actions:
        simulation.perform(action)


def move_to_copy(simulation: Simulation) -> None:
    """Continue with an engine from a decoded snapshot."""
    simulation.move_to(lambda: copied_with_memories(simulation.session.engine))


def own_actions(seed: int, number: int) -> list[Action]:
    """Return the actions of engine `number` (0 is the parent) after it was forked."""
    return actions_of(seed + 1000 * number)[:OWN]


def end(simulation: Simulation) -> Lived:
    """Return the observations of a simulation, and the final snapshot of its engine."""
    for _ in range(3):
        simulation.session.advance(50_000)
        simulation.session.end_step()
    return simulation.observations, saved(simulation.session.engine)


def alone(seed: int) -> list[Lived]:
    """Return the lives of parent, child and grandchild, each started from a decoded snapshot and run alone."""
    parent = begun(seed)
    parent.session.engine.state()  # it stores the check points of the buffer, as a fork does
    perform(parent, own_actions(seed, 0))
    lives = [end(parent)]
    for generations in (1, 2):
        simulation = begun(seed)
        move_to_copy(simulation)
        perform(simulation, own_actions(seed, 1)[: OWN // 2])
        if generations == 1:
            simulation.session.engine.state()
            perform(simulation, own_actions(seed, 1)[OWN // 2 :])
        else:
            move_to_copy(simulation)
            perform(simulation, own_actions(seed, 2))
        lives.append(end(simulation))
    return lives


def together(seed: int) -> list[Lived]:
    """Return the lives of a parent, its fork and the fork's fork, which take turns."""
    parent, child, grandchild = (begun(seed) for _ in range(3))
    forks = [Engine(state=parent.session.engine.fork_state()) for _ in range(2)]
    child.move_to(lambda: forks[0])
    grandchild.move_to(lambda: forks[1])
    first = own_actions(seed, 1)[: OWN // 2]
    rest = own_actions(seed, 1)[OWN // 2 :]
    of_parent = own_actions(seed, 0)
    for turn in range(OWN // 2):
        perform(parent, of_parent[turn : turn + 1])
        perform(child, first[turn : turn + 1])
        perform(grandchild, first[turn : turn + 1])
    fork = Engine(state=child.session.engine.fork_state())
    grandchild.move_to(lambda: fork)
    of_grandchild = own_actions(seed, 2)
    for turn in range(OWN):
        perform(grandchild, of_grandchild[turn : turn + 1])
        perform(child, rest[turn : turn + 1])
        perform(parent, of_parent[OWN // 2 + turn : OWN // 2 + turn + 1])
    return [end(each) for each in (parent, child, grandchild)]


@pytest.mark.parametrize("seed", range(8))
def test_a_fork_and_its_parent_continue_as_engines_that_share_nothing(seed: int) -> None:
    """Observations and final snapshots of parent, fork and the fork's fork are those of engines from snapshots."""
    for number, (shared, separate) in enumerate(zip(together(seed), alone(seed), strict=True)):
        assert shared[0] == separate[0], f"generation {number}"
        assert shared[1] == separate[1], f"generation {number}"
