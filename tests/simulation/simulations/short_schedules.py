"""Short schedules: many random lists of 20 actions, each the beginning of the actions of one seed of a simulation.

    python tests/simulation short_schedules {FIRST,next,whole,operations} COUNT [SECONDS]

runs COUNT schedules from number FIRST on all processors, for at most SECONDS, and prints their number and the elapsed
seconds. It appends failing schedules to `found_schedules.txt`; the tests run these again. `next` begins after all
recorded numbers, and adds the run to `record.json` (`schedule_record.py`).

A bug that needs few actions shows up more often in many lists of 20 actions than in few of 120. Schedules from number
FIRST_WHOLE on are whole: they have all actions of their seeds. `whole` runs them as `next` runs short ones. The number
of a schedule, modulo 20, selects its simulation: five are clients of one broker; three continue in a fork, which may
not have messages that other engines store; four have crashes and power losses of masters and slaves; two have several
masters with slaves, and another one forks these; one has brokers whose configuration causes trouble; four have rules of
faults that are added and removed. Schedules from number FIRST_OPERATIONS on, which `operations` runs, are whole and of
the simulation of all operations. A new simulation gets numbers of its own in the same way, because another simulation
of a number would change the schedules in `found_schedules.txt`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import all_operations
import broker_faults
import cluster
import cluster_forks
import durability
import ruled_requests
import schedule_record
import simulation
from observations import Observation
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.send import SendMessage
from schedule_record import RECORD
from shortening import failure_of, shortest
from simulation import Action, Setup, Simulation
from snapshot_files import copied_with_memories, saved
from stored_messages import Violation

LENGTH = 20
"""The number of actions of a short schedule."""
FOUND = Path(__file__).resolve().parents[1] / "found_schedules.txt"
"""Numbers of schedules that have failed, one per line, each with its error after a `#`."""
BLOCK = 50
"""Number of schedules that a process runs before it reports."""


KINDS: dict[str, schedule_record.Kind] = {"next": "short", "whole": "whole", "operations": "operations"}
"""The words that select the next numbers of a kind of schedules."""


class Program(NamedTuple):
    """A simulation: `plan` returns the set-up and actions of a seed, `failure` runs these and returns the error."""

    name: str
    plan: Callable[[int], tuple[Any, list[Action]]]
    failure: Callable[[Any, list[Action]], str]


def fork_failure(setup: Setup, actions: list[Action]) -> str:
    """Return the difference between a fork and an engine with a copy of the same state; "" if there is none.

    The first half of the actions comes before the fork. Its parent and another fork change during the second half.
    """
    steps = [action for action in actions if not (action.verb == "crash" and action.a % 12 == 11)]

    def compare() -> None:
        (seen, end), (wanted, wanted_end) = _lived(setup, steps, shares=True), _lived(setup, steps, shares=False)
        for number, (one, other) in enumerate(zip(seen, wanted, strict=False)):
            if one != other:
                raise Violation(f"observation {number} of the fork is {one}, and of the copy {other}")
        if len(seen) != len(wanted) or end != wanted_end:
            raise Violation("the fork and the copy differ in the number of observations or in their snapshots")

    return failure_of(compare)


def _lived(setup: Setup, steps: list[Action], *, shares: bool) -> tuple[list[Observation], bytes]:
    """Return the observations of a simulation and its final snapshot; it continues in a fork (`shares`) or a copy."""
    half = len(steps) // 2
    lived = Simulation(setup, keep=True)
    for action in steps[:half]:
        lived.perform(action)
    parent = lived.session.engine
    others = [parent, Engine(state=parent.fork_state())] if shares else []
    fork = Engine(state=parent.fork_state()) if shares else copied_with_memories(parent)
    if shares:
        stop_listening(parent)
    lived.move_to(lambda: fork)
    for number, action in enumerate(steps[half:]):
        if others:
            disturb(others[number % len(others)], number)
        lived.perform(action)
    for _ in range(3):
        lived.session.advance(50_000)
        lived.session.end_step()
    return lived.observations, saved(lived.session.engine)


def stop_listening(parent: Engine) -> None:
    """Remove the listener of the session from the parent, because the session reads the fork from now on."""
    del parent.brokers[0].store.arrivals[0]


def disturb(engine: Engine, number: int) -> None:
    """Store a message that the fork may not have, and move the clock; some of the numbers also restart the broker."""
    send_to_others(engine)
    engine.scheduler.advance_to(engine.scheduler.now_ms + 1_000 * (number + 1))
    if number % 6 > 3:
        engine.restart()


def send_to_others(engine: Engine) -> None:
    """Store a message beside the schedule's actions."""
    born = "others", "A", 0, b"of another engine", {"TAGS": "red"}, ("10.0.0.9", 4711)
    engine.execute(engine.brokers[0], SendMessage(*born, born_timestamp=engine.scheduler.now_ms))


FORKS = Program("forks", simulation.plan, fork_failure)
CLIENTS = Program("clients", simulation.plan, simulation.failure)
DURABILITY = Program("durability", durability.plan, durability.failure)
CLUSTERS = Program("clusters", cluster.plan, cluster.failure)
TROUBLE = Program("broker faults", broker_faults.plan, broker_faults.failure)
CLUSTER_FORKS = Program("forks of clusters", cluster.plan, cluster_forks.failure)
RULES = Program("rules of faults", ruled_requests.plan, ruled_requests.failure)
OPERATIONS = Program("all operations", all_operations.plan, all_operations.failure)
TURNS = (
    *([CLIENTS] * 5 + [RULES] * 3),
    *([FORKS] * 3 + [DURABILITY] * 4),
    *([CLUSTERS] * 2 + [CLUSTER_FORKS]),
    *(TROUBLE, RULES),
)
"""The program of each number, by its remainder. A changed order changes the schedules in `found_schedules.txt`."""


def schedule(number: int) -> tuple[Program, Any, list[Action]]:
    """Return the program, set-up and actions of a schedule."""
    program = OPERATIONS if number >= schedule_record.FIRST_OPERATIONS else TURNS[number % len(TURNS)]
    setup, actions = program.plan(number)
    return program, setup, actions if number >= schedule_record.FIRST_WHOLE else actions[:LENGTH]


def failure(number: int) -> str:
    """Run a schedule; return its error, "" if there is none."""
    program, setup, actions = schedule(number)
    return program.failure(setup, actions)


def report(number: int) -> str:
    """Return a text with the shortest failing actions of a schedule and its error; "" if it does not fail."""
    program, setup, actions = schedule(number)
    if not program.failure(setup, actions):
        return ""
    steps = shortest(setup, actions, program.failure)
    return "\n".join(
        [
            f"schedule {number} fails: python tests/simulation short_schedules {number} 1",
            f"{program.name}, {setup}, {len(steps)} of {len(actions)} actions are enough:",
            *(f"    {action}," for action in steps),
            program.failure(setup, steps),
        ]
    )


def found() -> list[int]:
    """Return the numbers in `found_schedules.txt`."""
    lines = FOUND.read_text(encoding="utf-8").splitlines()
    return [int(line.partition("#")[0]) for line in lines if not line.startswith("#")]


def _block(first: int, count: int) -> tuple[int, list[tuple[int, str]]]:
    """Run some schedules; return their number, and (number, error) of each that failed."""
    results = ((number, failure(number)) for number in range(first, first + count))
    return count, [(number, error) for number, error in results if error]


def main(words: list[str]) -> int:
    """Run schedules and print their number, the time and the failures; return the exit code, 1 if one failed."""
    recorded = words[0] in KINDS
    first = schedule_record.next_number(RECORD, KINDS[words[0]]) if recorded else int(words[0])
    count = int(words[1])
    seconds = float(words[2]) if len(words) > 2 else float("inf")
    begin, done, failing = time.monotonic(), 0, list[int]()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        blocks = iter(range(first, first + count, BLOCK))
        running: set[Future[tuple[int, list[tuple[int, str]]]]] = set()
        while True:
            while len(running) < 2 * (os.cpu_count() or 1) and time.monotonic() - begin < seconds:
                start = next(blocks, None)
                if start is None:
                    break
                running.add(pool.submit(_block, start, min(BLOCK, first + count - start)))
            if not running:
                break
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for each in finished:
                ran, failed = each.result()
                done += ran
                for number, error in failed:
                    failing.append(number)
                    keep(number, error)
                    print(report(number), flush=True)
    elapsed = time.monotonic() - begin
    print(f"{done} schedules from number {first} in {elapsed:.0f} s, {len(failing)} failed")
    if recorded and done:
        run = schedule_record.Run(date.today().isoformat(), commit(), first, done, failed=sorted(failing))
        print(f"{schedule_record.add(run, RECORD)} recorded schedules")
    return 1 if failing else 0


def commit() -> str:
    """Return the abbreviated commit of the code. Raises subprocess.CalledProcessError outside of a repository."""
    words = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(words, cwd=FOUND.parent, capture_output=True, text=True, check=True).stdout.strip()


def keep(number: int, error: str) -> None:
    """Add a failed schedule to `found_schedules.txt`. A no-op if the file has it."""
    if number not in found():
        with FOUND.open("a", encoding="utf-8") as file:
            file.write(f"{number}  # {' '.join(error.split())[:100]}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
