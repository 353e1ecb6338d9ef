"""The simulation's verbs of producers of timer and half messages; each maps an action's numbers to a request."""

from typing import TYPE_CHECKING

from timed_sends import WAYS

if TYPE_CHECKING:
    from simulation import Action, Simulation

HOUR_MS = 3_600_000
DELAYS_MS = (700, 6_000, 20_000, 0, -5_000, 2_300, 45_000, 50 * HOUR_MS, 96 * HOUR_MS, 150_001)
"""Delays of timed messages: two are not in the future, one exceeds the timer wheel's window, one the maximum delay."""
IMMUNITIES = (None, None, None, "5", "60", "soon")
DECISIONS = ("commit", "commit", "commit", "rollback", "rollback", "unknown")
TAGS = ("red", "blue", None)


def send_timed(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Send a timed message."""
    topic = simulation.topic(action.a)
    simulation.timed.send(
        simulation.clients[action.client % len(simulation.clients)],
        topic,
        simulation.any_or_one(topic, action.b),
        f"m{simulation.steps}",
        tag=TAGS[action.c // 3 % 3],
        way=WAYS[action.c % 3],
        delay_ms=DELAYS_MS[action.d % len(DELAYS_MS)],
    )


def take_back(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Recall a timed message, or try to with a wrong topic or time."""
    timed = simulation.timed
    if not timed.waiting:
        return
    waits = timed.waiting[-1 - action.a % min(len(timed.waiting), 5)]
    client = simulation.clients[action.client % len(simulation.clients)]
    other = simulation.topic(action.c) if action.c % 5 == 4 else waits.topic
    if action.b % 2 == 0:
        timed.recall(client, waits, other)
    else:
        wrong_ms = 1_000 if action.b % 5 == 4 else 0
        timed.mark(client, waits, other, waits.due_ms + wrong_ms, message_id=f"d{simulation.steps}")


def prepare(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Send a half message."""
    topic = simulation.topic(action.a)
    simulation.halves.prepare(
        simulation.clients[action.client % len(simulation.clients)],
        topic,
        simulation.any_or_one(topic, action.b),
        f"m{simulation.steps}",
        tag=TAGS[action.c % 3],
        immunity=IMMUNITIES[action.d % len(IMMUNITIES)],
        forget=lost,
    )


def end(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """End a transaction, with or without a check; sometimes again later, or with a wrong group or offset."""
    halves = simulation.halves
    if not halves.open:
        return
    known = halves.open[-1 - action.a % len(halves.open)]
    wrong = {8: "group", 9: "offset"}.get(action.c % 10, "")
    client = simulation.clients[action.client % len(simulation.clients)]
    halves.end(client, known, DECISIONS[action.b % len(DECISIONS)], wrong)
    if action.c % 2 and not lost and not wrong:
        halves.open.remove(known)
