"""Messages that wait during a crash are delivered afterwards, and the oracle reports missing ones."""

from collections.abc import Iterator
from itertools import islice

import pytest
from observations import (
    Acked,
    Crashed,
    Delivery,
    HalfStored,
    Hidden,
    Observation,
    Popped,
    Recalled,
    Sent,
    StepEnded,
    Stored,
    TimedSent,
)
from simulation import Action, Setup, Simulation
from test_oracle import complaint, responses

CRASHES = {"power": 0, "process": 1, "graceful stop": 5}
"""Values of the number `a` of the verb `crash`, by kind of crash."""
POP = Action("pop", a=1, d=3)
"""A group pops a message for a minute."""
WAITS: dict[str, tuple[list[Action], str]] = {
    "delay level": ([Action("send", a=1, d=4)], "B"),
    "timed message of 6 s": ([Action("send", a=1, d=6)], "B"),
    "timed message of 45 s": ([Action("send timed", a=1, c=1, d=6)], "B"),
    "unacknowledged pop": ([Action("send", a=1), POP], "%RETRY%pop-all_B"),
    "sent back": ([Action("send", a=1), Action("pull", a=1), Action("send back")], "%RETRY%pull-all"),
    "half message": ([Action("prepare", a=1)], "half"),
    "checked half message": ([Action("prepare", a=1), Action("advance", a=9)], "half"),
}
"""Actions before the crash, and the topic in which a message must be stored after it."""


def appears(seen: Observation, topic: str) -> bool:
    """Return True if a message was stored in `topic`; the topic "half" means that a half message was re-appended."""
    if topic == "half":
        return isinstance(seen, HalfStored) and seen.times > 0
    return isinstance(seen, Stored) and seen.topic == topic


@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("what", WAITS)
def test_with_synchronous_flush_no_waiting_message_is_lost_in_a_crash(what: str, crash: str) -> None:
    """With synchronous flush no waiting message is lost in a crash, and the oracle would report a missing one."""
    actions, topic = WAITS[what]
    simulation = Simulation(Setup(0), keep=True)
    for action in actions:
        simulation.perform(action)
    before = len(simulation.observations)
    simulation.perform(Action("crash", a=CRASHES[crash]))
    crashed = len(simulation.observations)
    for _ in range(100):
        simulation.perform(Action("advance"))
    seen = simulation.observations

    assert any(isinstance(one, Crashed) for one in seen[before:crashed])
    first = next(index for index, one in enumerate(seen) if index >= crashed and appears(one, topic))
    assert complaint(simulation.setup, seen) == ""
    lost = [*seen[:first], *(one for one in seen[first:] if isinstance(one, StepEnded))]
    words = complaint(simulation.setup, lost)
    assert words.startswith(("lost by", "forgotten by")), words
    assert "m1" in words


def waiting_in_a_crash(stream: list[Observation]) -> Iterator[tuple[str, list[Observation]]]:
    """Yield the name of each message that waited during a crash, with a stream in which it never arrives."""
    used = {(seen.handle.topic, seen.handle.offset) for seen in stream if isinstance(seen, Acked | Hidden)}
    taken = {seen.message_id for seen in stream if isinstance(seen, Recalled)}
    crash = next((index for index, seen in enumerate(stream) if isinstance(seen, Crashed)), len(stream))
    waiting: set[tuple[str, int]] = set()
    for index, seen in enumerate(stream):
        if index < crash:
            waiting |= set(_begins_to_wait(seen, used))
        if isinstance(seen, Stored) and (seen.message_id, seen.attempt) in waiting and seen.message_id not in taken:
            waiting.discard((seen.message_id, seen.attempt))
            if index > crash:
                rest = (one for one in stream[index:] if isinstance(one, StepEnded))
                yield seen.message_id, [*stream[:index], *rest]


def _begins_to_wait(seen: Observation, used: set[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    if isinstance(seen, Sent | TimedSent) and seen.due_ms is not None and seen.due_ms > seen.now:
        yield seen.message_id, 0
    elif isinstance(seen, Popped) and not seen.order:
        for message in seen.messages:
            if not _is_used(message, used):
                yield message.message_id, message.attempt + 1


def _is_used(message: Delivery, used: set[tuple[str, int]]) -> bool:
    return message.handle is None or (message.handle.topic, message.handle.offset) in used


def test_a_message_that_never_arrives_after_a_crash_is_reported_by_name() -> None:
    """In many random situations, the report of a message that never arrives after a crash has the message's name."""
    named = set()
    for seed in range(60):
        setup, stream = responses(seed, crashing=True)
        for message_id, lost in islice(waiting_in_a_crash(list(stream)), 3):
            words = complaint(setup, lost)
            assert words
            if words.startswith("lost by") and f": {message_id} as attempt" in words:
                named.add((seed, message_id))

    assert len(named) >= 10
