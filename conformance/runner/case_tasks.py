"""Tasks of cases: each with a deployment of its own, or several in a row that share one broker start."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain, groupby, repeat

from rocketmq_testkit.remoting.client.closeable import Closeable

from ..case import Case
from ..deployment.target import Deployment, Target
from ..outcomes.outcome import Outcome
from ..outcomes.recorded_outcomes import RecordedOutcomes
from .attempts import first_expected
from .case_run import Lend, run_case
from .plan import in_order, is_own
from .pool import Task

PIECE_MAX = 6
"""Limit of cases in a row on one broker: a start takes as long as some cases, but cases on other brokers overlap."""


def tasks_on_common_deployment(
    cases: Iterable[Case], target: Target, records: RecordedOutcomes, attempts: int
) -> list[Task]:
    """Return one task for each case that can use the common deployment."""
    return [_one(case, target, records, attempts) for case in cases if not is_own(case)]


def tasks_with_own_deployment(
    cases: Iterable[Case], target: Target, records: RecordedOutcomes, attempts: int
) -> list[Task]:
    """Return the tasks of cases that need a broker which most other cases cannot use."""
    if target.own_deployments_max is None:  # a deployment costs nothing to start
        return [_one(case, target, records, attempts) for case in cases if is_own(case)]
    tasks: list[Task] = []
    ordered = in_order(filter(is_own, cases))
    for (tidy, _), each in groupby(ordered, key=lambda case: (case.mark.tidy, case.settings_of(target))):
        group = list(each)
        if tidy:
            pieces = (group[at : at + PIECE_MAX] for at in range(0, len(group), PIECE_MAX))
            tasks += [partial(_in_sequence, piece, target, records, attempts) for piece in pieces]
        else:
            tasks += [_one(case, target, records, attempts) for case in group]
    return tasks


def _one(case: Case, target: Target, records: RecordedOutcomes, attempts: int) -> Task:
    return lambda: [_outcome(case, target, records, attempts, lends=repeat(None))]


def _in_sequence(cases: Sequence[Case], target: Target, records: RecordedOutcomes, attempts: int) -> Iterator[Outcome]:
    settings = cases[0].settings_of(target)
    with _LazyDeployment(lambda: target.lend(settings, alone=True)) as kept:
        for case in cases:
            outcome = _outcome(case, target, records, attempts, lends=chain([kept.lend], repeat(None)))
            if outcome.earlier_attempts or not outcome.expected:
                kept.close()  # the broker's state after this case is unknown
            yield outcome


def _outcome(
    case: Case, target: Target, records: RecordedOutcomes, attempts: int, *, lends: Iterator[Lend | None]
) -> Outcome:
    def run() -> Outcome:
        return run_case(case, target, records, secrets.token_hex(4), lend=next(lends))

    # The emulator runs in virtual time, so nothing is late there.
    return first_expected(run, 1 if target.emulated else attempts)


class _LazyDeployment(Closeable):
    """A deployment that is lent on first use and returned at the end."""

    def __init__(self, lend: Lend) -> None:
        self._lend = lend
        self._held = ExitStack()
        self._deployment: Deployment | None = None

    @contextmanager
    def lend(self) -> Iterator[Deployment]:
        """Lend the deployment; after `close`, lend a new one."""
        if self._deployment is None:
            self._deployment = self._held.enter_context(self._lend())
        yield self._deployment

    def close(self) -> None:
        """Return the deployment."""
        self._deployment = None
        self._held.close()
