"""Brokers in trouble with clients that wait: accepted messages are delivered when the trouble is over.

SEEDS=n runs n/12 seeds (default 50/12), FIRST_SEED=n begins with seed n, SEED=n runs only seed n.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from accepted_messages import (
    DECIDED_MS,
    INVISIBLE_MS,
    KINDS,
    RECOVERS_MS,
    REFUSALS,
    AcceptedMessages,
    AllWell,
    Answered,
    Appeared,
    Asked,
    Event,
    Got,
    InTrouble,
)
from broker_faults import plan, report, run
from mutation_broker_faults import FALSIFIED
from patient_clients import PULLERS, TAKERS
from stored_messages import Violation
from test_simulation import BLOCKS

PART = 12
"""One of this many seeds is run."""
TRIES = 2
MOST_EVENTS = 3_000


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_accepted_messages_are_delivered_after_the_trouble(seeds: range) -> None:
    """No request is rejected without reason, no message is lost or invented, and each group gets all in the end."""
    reports = [found for seed in seeds[::PART] if (found := report(seed))]

    assert not reports, "\n\n".join(reports)


def test_each_trouble_rejects_each_kind_of_request_that_it_affects() -> None:
    met: Counter[tuple[str, str]] = Counter()
    for seed in range(17):
        met += run(*plan(seed)).book.refusals

    rare = {("down", "ack"), *(("slow", kind) for kind in KINDS)}
    assert {*met, *rare} == {(trouble, kind) for trouble in REFUSALS for kind in REFUSALS[trouble]}
    assert met["slow", "send"] > 10


def test_two_runs_of_a_seed_have_the_same_responses_at_the_same_times() -> None:
    first, second = (run(*plan(0), keep=True).events for _ in range(2))

    assert len(first) > 500
    assert first == second


@cache
def _few_events() -> list[list[Event]]:
    """Return the events of those seeds that have few repeated requests."""
    return [events for seed in range(8) if len(events := run(*plan(seed), keep=True).events) < MOST_EVENTS]


def _complaint(events: list[Event]) -> str:
    book = AcceptedMessages((PULLERS, TAKERS), TAKERS)
    try:
        for seen in events:
            book.observe(seen)
    except Violation as violation:
        return str(violation)
    return ""


@pytest.mark.parametrize(("falsify", "words"), FALSIFIED.items(), ids=[one.__name__ for one in FALSIFIED])
def test_a_falsified_event_is_reported_for_the_right_reason(
    falsify: Callable[[list[Event]], Iterator[list[Event]]], words: str
) -> None:
    """One falsified event, anywhere, is reported, and for the right reason."""
    draw = random.Random(falsify.__name__)
    said = []
    for events in _few_events():
        found = list(falsify(events))
        said += [_complaint(one) for one in draw.sample(found, min(TRIES, len(found)))]

    assert len(said) > TRIES, "too few falsifiable places"
    assert all(said)
    assert any(words in each for each in said), said


POP = Asked(0, 2, "taker", "b", "pop")
DELIVERED = Got(0, TAKERS, "b", "m")
LOST_POP = Answered(0, 2, "LOST")
DUE_MS = INVISIBLE_MS


@pytest.mark.parametrize(
    ("end", "troubles", "missing"),
    [
        (DELIVERED, [(DUE_MS - 1, "disk full"), (DUE_MS, "")], []),
        (DELIVERED, [(DUE_MS + DECIDED_MS - 1, "disk full"), (DUE_MS + DECIDED_MS, "")], []),
        (DELIVERED, [(DUE_MS + DECIDED_MS, "disk full"), (DUE_MS + DECIDED_MS + 1, "")], ["acknowledged"]),
        (DELIVERED, [(0, "disk full"), (DUE_MS - RECOVERS_MS - 1, "")], ["acknowledged"]),
        (DELIVERED, [(1, "down"), (DUE_MS * 2, "disk full"), (DUE_MS * 3, "")], []),
        (DELIVERED, [(DUE_MS, "busy"), (DUE_MS * 2, "disk full"), (DUE_MS * 3, "")], ["acknowledged"]),
        (LOST_POP, [(DUE_MS - 1, "disk full"), (DUE_MS, "")], []),
        (LOST_POP, [(DUE_MS - 1, "busy"), (DUE_MS, "")], ["got", "acknowledged"]),
    ],
    ids=[
        *("full when due", "full before the decision", "full after the decision", "free long before"),
        *("full after a stop", "full after another trouble", "popped without response", "busy when due"),
    ],
)
def test_only_a_full_disk_at_the_redelivery_may_lose_a_message_of_the_takers(
    end: Event, troubles: list[tuple[int, str]], missing: list[str]
) -> None:
    """Without a full disk at its redelivery, a message without accepted acknowledgement is reported."""
    sent: list[Event] = [Asked(0, 1, "producer", "b", "send", "m"), Appeared(0, "b", "m"), Answered(0, 1, "SUCCESS")]
    events: list[Event] = [*sent, Got(0, PULLERS, "b", "m"), POP, end]
    events += [InTrouble(at, "b", trouble) for at, trouble in troubles]
    book = AcceptedMessages((PULLERS, TAKERS), TAKERS)
    for seen in events:
        book.observe(seen)

    assert book.missing() == [f"takers never {what} ('b', 'm')" for what in missing]
    assert bool(_complaint([*events, AllWell(DUE_MS * 9)])) == bool(missing)
