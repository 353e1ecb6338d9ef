"""A run: executes the plan on its targets and collects the outcomes."""

import datetime
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from itertools import zip_longest

from ..case import Case
from ..deployment.target import Target
from ..deployment.uninterruptible import run_uninterrupted
from ..drivers.build import Announce
from ..outcomes.expected import Expected
from ..outcomes.outcome import Outcome, Verdict
from ..outcomes.recorded_outcomes import RecordedOutcomes
from ..scenario import Scenario, record_key
from .active_drivers import ActiveDrivers
from .case_tasks import tasks_on_common_deployment, tasks_with_own_deployment
from .pool import Pool, Task, TaskQueue
from .sample import ScenarioSample
from .scenario_tasks import Repeats, scenario_tasks


@dataclass(slots=True)
class Run:
    """Results of a run; `problem` is the text of the error that ended it early."""

    targets: list[str]
    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())
    _: KW_ONLY
    problem: str = ""
    interrupted: bool = False
    likely_causes: dict[str, list[str]] = field(default_factory=dict)
    """By target with unexpected outcomes: its configuration keys that differ from the recorded broker's."""
    repeated_max: int | None = None
    """Limit of outcomes that needed another attempt; None: no limit."""

    @property
    def repeated(self) -> int:
        """Number of outcomes that needed another attempt."""
        return sum(1 for each in self.outcomes if each.earlier_attempts)

    @property
    def too_many_repeated(self) -> bool:
        """True if more outcomes than allowed needed another attempt."""
        return self.repeated_max is not None and self.repeated > self.repeated_max

    @property
    def good(self) -> bool:
        """True if every outcome was expected and the run was complete."""
        whole = not self.problem and not self.interrupted and not self.too_many_repeated
        return whole and all(each.expected for each in self.outcomes)


def carry_out(  # noqa: PLR0913 - the options of a run
    cases: Sequence[Case],
    targets: Sequence[Target],
    records: RecordedOutcomes,
    *,
    jobs: int,
    each: Callable[[Outcome], None],
    scenarios: Sequence[Scenario] = (),
    sdks: Sequence[str] = (),
    attempts: int = 1,
    repeated_max: int | None = None,
    expected: Expected | None = None,
    announce: Announce | None = None,
    sample: ScenarioSample | None = None,
) -> Run:
    """Start the targets, run every case and every scenario with every SDK on each, stop the targets.

    `attempts` applies to scenarios, and to cases on a real broker; `repeated_max` outcomes may need more than one.
    After Ctrl-C the outcomes found so far are returned. `expected`: expected deviations of brokers other than this
    project's emulator. `announce` shows builds of drivers in progress, by default in lines on standard error. `sample`
    omits pairs of scenario and SDK.
    """
    run = Run([target.name for target in targets], repeated_max=repeated_max)
    begin = time.monotonic()

    emulated = {target.name for target in targets if target.emulated}

    def note(outcome: Outcome) -> None:
        if expected is not None and outcome.target not in emulated:
            outcome = expected.judge(outcome)
        run.outcomes.append(outcome)
        each(outcome)

    try:
        with ExitStack() as started:
            for target in targets:
                started.enter_context(target)
            active_drivers = ActiveDrivers(announce)
            started.callback(
                run_uninterrupted, active_drivers.close
            )  # before the targets that they use, also after Ctrl-C
            pool = Pool(jobs, note)
            for target in targets:
                target.use_sleep(pool.sleep)
            own: list[TaskQueue] = []
            repeats = Repeats(attempts)
            shared: list[list[Task]] = []
            for target in targets:
                tasks = scenario_tasks(
                    scenarios,
                    sdks,
                    target,
                    records,
                    active_drivers=active_drivers,
                    repeats=repeats if attempts > 1 else None,
                    sample=sample,
                )
                shared.append(tasks.common + tasks_on_common_deployment(cases, target, records, attempts))
                own.append(
                    TaskQueue(
                        tasks.own + tasks_with_own_deployment(cases, target, records, attempts),
                        target.own_deployments_max,
                    )
                )
            # First the queues that take long to start, and of these first those that use few threads.
            own.sort(key=lambda queue: queue.at_once is None)
            # Alternate between targets: the emulator keeps the processor busy, a real broker mostly waits.
            by_turns = [task for turn in zip_longest(*shared) for task in turn if task is not None]
            pool.run([*own, TaskQueue(by_turns)], targets)
            if repeats.tasks and pool.problem is None:  # one at a time: the SDKs have limits, such as 3 s for a send
                pool = Pool(1, note)
                pool.run([TaskQueue(repeats.tasks)], targets)
            if pool.problem is not None:
                run.problem = f"{type(pool.problem).__name__}: {pool.problem}"
            for target in targets:
                if any(not outcome.expected for outcome in run.outcomes if outcome.target == target.name):
                    run.likely_causes[target.name] = target.likely_causes()
    except KeyboardInterrupt:
        run.interrupted = True
    run.seconds = time.monotonic() - begin
    ids = [case.id for case in cases] + [each.id_with(sdk) for each in scenarios for sdk in sdks]
    order = {id_: number for number, id_ in enumerate(ids)}
    run.outcomes.sort(key=lambda outcome: (run.targets.index(outcome.target), order[outcome.id]))
    return run


def record(run: Run, targets: Sequence[Target], records: RecordedOutcomes) -> dict[str, list[str]]:
    """Write the notes of a run on real brokers into the records; returns the changed ids by target.

    Outcomes that ended with an error, or contradict the statement of their case, are not written.
    """
    changed: dict[str, list[str]] = {}
    for target in targets:
        by_noun: dict[str, dict[str, list[tuple[str, object]] | None]] = {}
        for outcome in run.outcomes:
            if outcome.target != target.name or outcome.verdict in (Verdict.ERROR, Verdict.NOT_APPLICABLE):
                continue
            if outcome.verdict is Verdict.DIFFERS and outcome.reason:
                continue
            noun, name = record_key(outcome.id) if "@" in outcome.id else outcome.id.split(".", 1)
            by_noun.setdefault(noun, {})[name] = list(outcome.notes)
        changed[target.name] = [
            f"{noun.rpartition('/')[2]}.{name}"
            for noun, seen in by_noun.items()
            for name in records.store(target.recorded_version, noun, seen, run.date)
        ]
    return changed
