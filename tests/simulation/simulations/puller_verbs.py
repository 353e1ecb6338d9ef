"""The simulation's verbs of pull consumers; each maps an action's numbers to a request."""

from typing import TYPE_CHECKING

from simulated_client import Client

if TYPE_CHECKING:
    from simulation import Action, Simulation

COUNTS = (1, 2, 5, 32)
LEVELS = (0, 1, 2, -1, 0, 3, 0, 18, 7, 19)
"""Delay levels of send-backs: 0 is the broker's choice, -1 the dead letter queue, and the last does not exist."""


def pull(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Pull from the group's position, from the start, or from beyond the end."""
    client = simulation.pullers[action.client % len(simulation.pullers)]
    topic, queue_id = _place_of(simulation, client, action)
    key = (client.group, topic, queue_id)
    high = simulation.session.broker.store.max_offset(topic, queue_id)
    here = simulation.cursors.get(key, 0)
    offset = (here, here, here, 0, high, high + 3)[action.b % 6]
    suspend_ms = (None, 1_000, 15_000)[action.d % 3]
    count = COUNTS[action.c % len(COUNTS)]
    simulation.cursors[key] = simulation.session.pull(
        client, topic, queue_id, offset, count=count, suspend_ms=suspend_ms, forget=lost
    )


def _place_of(simulation: "Simulation", client: Client, action: "Action") -> tuple[str, int]:
    names = [*simulation.topics, f"%RETRY%{client.group}"]
    topic = names[action.a % len(names)]
    return topic, action.a // len(names) % simulation.topics.get(topic, 1)


def commit(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Commit the group's position."""
    client = simulation.pullers[action.client % len(simulation.pullers)]
    topic, queue_id = _place_of(simulation, client, action)
    simulation.session.commit(client, topic, queue_id, simulation.cursors.get((client.group, topic, queue_id), 0))


def send_back(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Send a pulled message back."""
    client = simulation.pullers[action.client % len(simulation.pullers)]
    if client.pulled:
        pulled = client.pulled[action.a % len(client.pulled)]
        simulation.session.send_back(client, pulled, LEVELS[action.b % len(LEVELS)], (None, 16, 2, 0)[action.c % 4])


def lock(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Lock the queues of a topic."""
    client = simulation.pullers[action.client % len(simulation.pullers)]
    topic = simulation.topic(action.a)
    simulation.locks.lock(client, [(topic, queue_id) for queue_id in range(simulation.topics[topic])])


def unlock(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Unlock the queues of a topic."""
    client = simulation.pullers[action.client % len(simulation.pullers)]
    topic = simulation.topic(action.a)
    simulation.locks.unlock(client, [(topic, queue_id) for queue_id in range(simulation.topics[topic])])
