"""Tasks of scenarios: each runs its scenarios in a row on a deployment of the target, and yields their outcomes."""

import itertools
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..deployment.target import Deployment, Target, TargetError
from ..drivers.process import DriverError, DriverFailure
from ..drivers.toolchains.recipe import BuildError
from ..outcomes import known_differences
from ..outcomes.outcome import Outcome, Verdict, judge
from ..outcomes.recorded_outcomes import RecordedOutcomes
from ..scenario import Scenario, record_key
from ..sdk.scenario_context import DriverProcesses, scenario_context
from .active_drivers import ActiveDrivers
from .attempts import first_expected
from .plan import is_own
from .pool import Task
from .sample import ScenarioSample

_COMPLETE_ERRORS = (DriverError, DriverFailure, BuildError, AssertionError)
"""Errors whose text is complete; any other error is shown with its source line."""
PIECE_MAX = 20
"""Maximum number of scenarios in one task of an SDK. Tasks of the SDKs alternate, and each starts its SDK again."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """`own`: pieces that need a broker which most others cannot use. `common`: pieces that share a broker."""

    own: list[Task]
    common: list[Task]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Tasks that run scenarios again, up to `attempts` times in all. They run last, so that the machine is idle."""

    attempts: int
    tasks: list[Task] = field(default_factory=list)


def scenario_tasks(
    scenarios: Sequence[Scenario],
    sdks: Sequence[str],
    target: Target,
    records: RecordedOutcomes,
    *,
    active_drivers: ActiveDrivers,
    repeats: Repeats | None = None,
    sample: ScenarioSample | None = None,
) -> Tasks:
    """Return the tasks of running every scenario with every SDK on a target.

    There are two kinds of pieces. One is a single SDK with at most `PIECE_MAX` scenarios that share a deployment with
    others. The other is one scenario that needs a deployment of its own, run with all SDKs in a row, because starting
    that deployment takes longer than using it. Pieces may run in parallel. Each yields an outcome for each of its
    scenarios and SDKs. With `repeats`, a scenario with an unexpected outcome yields none, but adds a task to
    them, which runs it again.

    With a `sample`, the pairs that it omits do not run. They yield an outcome only if the SDK can no longer take part.
    """
    once = partial(outcomes, target=target, records=records, active_drivers=active_drivers, repeats=repeats)

    def omitted(scenario: Scenario, sdk: str) -> bool:
        return sample is not None and sample.omits(scenario, sdk)

    # Once a transaction has ended, a broker of 5.5.0 keeps a processor busy permanently, so those scenarios come last.
    in_order = sorted(scenarios, key=lambda each: "send_tx" in each.mark.verbs)
    own: list[Task] = [
        partial(once, [each], wanted)
        for each in in_order
        if is_own(each) and (wanted := [sdk for sdk in sdks if not omitted(each, sdk)])
    ]
    shared = [each for each in scenarios if not is_own(each)]
    common: list[Task] = [
        partial(once, [each], [sdk]) for each in shared if each.mark.long for sdk in sdks if not omitted(each, sdk)
    ]
    # Scenarios in which time passes take longest on a real broker, and the pieces started last should be short.
    for ends, time_passes in itertools.product((False, True), (True, False)):
        alike = [
            each
            for each in shared
            if ("send_tx" in each.mark.verbs) == ends and each.mark.time_passes == time_passes and not each.mark.long
        ]
        pieces = [
            [(piece, sdk) for piece in _pieces([each for each in alike if not omitted(each, sdk)])] for sdk in sdks
        ]
        by_turns = itertools.chain.from_iterable(itertools.zip_longest(*pieces))
        common += [partial(once, each[0], [each[1]]) for each in by_turns if each is not None]
    without = [(each, sdk) for sdk in sdks for each in scenarios if omitted(each, sdk)]
    if without:
        common.append(partial(lost, without, target, records, active_drivers))
    return Tasks(own, common)


def _pieces(scenarios: Sequence[Scenario]) -> list[Sequence[Scenario]]:
    """Divide scenarios into pieces of similar length, so that none runs long after the others."""
    count = -(-len(scenarios) // PIECE_MAX)
    return [scenarios[number::count] for number in range(count)]


def outcomes(
    group: Sequence[Scenario],
    sdks: Sequence[str],
    target: Target,
    records: RecordedOutcomes,
    *,
    active_drivers: ActiveDrivers,
    repeats: Repeats | None = None,
) -> Iterator[Outcome]:
    """Yield the outcomes of scenarios that share a deployment. Raises TargetError."""
    wanted: dict[str, list[Scenario]] = {}
    for sdk in sdks:
        for scenario in group:
            obstacle = ruled_out(scenario, sdk, target, records, active_drivers=active_drivers)
            if obstacle is None:
                wanted.setdefault(sdk, []).append(scenario)
            else:
                yield obstacle
    if not wanted:
        return
    mark = group[0].mark
    with target.lend(mark.settings, alone=mark.alone, encrypted=True) as deployment:
        for sdk, scenarios in wanted.items():
            with active_drivers.drivers(sdk, deployment) as drivers:
                for scenario in scenarios:
                    outcome = run_scenario(scenario, deployment, drivers, target, records=records)
                    if outcome.expected or repeats is None:
                        yield outcome
                    else:
                        again = partial(repeated, outcome, scenario, sdk, target, records=records)
                        repeats.tasks.append(partial(again, active_drivers=active_drivers, attempts=repeats.attempts))


def repeated(
    first: Outcome,
    scenario: Scenario,
    sdk: str,
    target: Target,
    *,
    records: RecordedOutcomes,
    active_drivers: ActiveDrivers,
    attempts: int,
) -> Iterator[Outcome]:
    """Run a scenario again after an unexpected `first` outcome, and yield its outcome. Raises TargetError."""
    mark = scenario.mark
    with (
        target.lend(mark.settings, alone=mark.alone, encrypted=True) as deployment,
        active_drivers.drivers(sdk, deployment) as drivers,
    ):
        again = partial(run_scenario, scenario, deployment, drivers, target, records=records)
        yield first_expected(again, attempts, first)


def lost(
    pairs: Iterable[tuple[Scenario, str]], target: Target, records: RecordedOutcomes, active_drivers: ActiveDrivers
) -> Iterator[Outcome]:
    """Yield the outcomes of omitted pairs that could not run, for example because a driver lost a verb."""
    for scenario, sdk in pairs:
        obstacle = ruled_out(scenario, sdk, target, records, active_drivers=active_drivers)
        if obstacle is not None:
            yield obstacle


def ruled_out(
    scenario: Scenario, sdk: str, target: Target, records: RecordedOutcomes, *, active_drivers: ActiveDrivers
) -> Outcome | None:
    """Return the outcome of a scenario that cannot run with an SDK on a target, else None."""

    def not_run(verdict: Verdict, reason: str) -> Outcome:
        return Outcome(scenario.id_with(sdk), target.name, verdict, 0.0, reason=reason)

    missing = sorted(scenario.capabilities - target.capabilities)
    if missing:
        return not_run(Verdict.NOT_APPLICABLE, f"needs {', '.join(missing)}")
    try:
        obstacle = scenario.obstacle(sdk, active_drivers.hello(sdk))
    except (BuildError, DriverFailure) as error:
        return not_run(Verdict.ERROR, str(error))
    if not obstacle:
        return None
    if records.record_of(target.recorded_version, *record_key(scenario.id_with(sdk))) is not None:
        # A driver that lost a verb must not shrink the matrix silently.
        return not_run(Verdict.ERROR, f"{obstacle}, but a record exists")
    return not_run(Verdict.NOT_APPLICABLE, obstacle)


def run_scenario(
    scenario: Scenario, deployment: Deployment, drivers: DriverProcesses, target: Target, *, records: RecordedOutcomes
) -> Outcome:
    """Run one scenario with an SDK's driver processes and judge it. Raises TargetError, which ends the run."""
    name = scenario.id_with(drivers.sdk)
    record = records.record_of(target.recorded_version, *record_key(name))
    begin = time.monotonic()
    notes: list[tuple[str, Any]] = []
    problem = ""
    try:
        with scenario_context(deployment, drivers, secrets.token_hex(4)) as context:
            notes = context.notes
            scenario.run(context)
    except TargetError:
        raise
    except Exception as error:
        complete = isinstance(error, _COMPLETE_ERRORS)
        problem = str(error) if complete else f"{type(error).__name__}: {error}{_place(error)}"
    seconds = time.monotonic() - begin
    deliberate, gap = _explained(scenario, name, target)
    if problem:
        verdict, reason = (Verdict.ERROR, problem) if gap is None else (Verdict.GAP, gap)
    else:
        verdict, reason = judge(notes, record, deliberate=deliberate, gap=gap)
    reference = records.reference(record, *record_key(name))
    return Outcome(name, target.name, verdict, seconds, notes=notes, record=record, reference=reference, reason=reason)


def _explained(scenario: Scenario, name: str, target: Target) -> tuple[str | None, str | None]:
    """Return the deliberate difference and the known gap for this SDK, or for the scenario with all SDKs."""
    if not target.emulated:
        return None, None
    names = (name, scenario.id)
    deliberate = next((why for each in names if (why := known_differences.deliberate(each, target.defects))), None)
    return deliberate, known_differences.GAPS.get(name, known_differences.GAPS.get(scenario.id))


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" ({trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno})"
