"""Choice points, faults and records of runs, for tests of the exploration without an emulator."""

from collections.abc import Sequence

from rocketmq_testkit import faults
from rocketmq_testkit.fixtures.exploration.choice import Choices
from rocketmq_testkit.fixtures.exploration.marker import read_faults
from rocketmq_testkit.fixtures.exploration.plan import Injection, Plan
from rocketmq_testkit.fixtures.exploration.point import Point
from rocketmq_testkit.fixtures.exploration.watcher import Candidate, ObservedRun

CHOICES = Choices(
    read_faults(
        [faults.drop_request(), faults.duplicate_request(), faults.stop_broker(broker="broker-a", duration="1s")]
    )
)
"""The choices 0 to 3: drop a request, duplicate it, and stop the broker before or after it."""


def acknowledgement(message: str, nth: int = 1) -> Point:
    """Return the point of an acknowledgement."""
    return Point("AckMessage", "orders", "billing", message, nth=nth)


def at(point: Point, number: int = 0) -> Injection:
    """Return the injection of choice `number` at a point."""
    return Injection.of(point, CHOICES[number])


def record(plan: Plan, *met: tuple[Injection, int], after: int = -1) -> ObservedRun:
    """Return the record of a run in which all faults of the plan acted.

    `met`: the injections that were possible, each with a number that stands for the state of the messages. `after`: the
    index of the last of them that was found before the last fault acted.
    """
    return ObservedRun(
        candidates=[Candidate(injection, state) for injection, state in met],
        fired=list(plan),
        last=after,
        is_watched=True,
    )


def points(plans: Sequence[Plan]) -> list[list[str]]:
    """Return the messages of each plan's points."""
    return [[each.point.message for each in plan] for plan in plans]
