"""Work of cases: one by one, or those that may have a broker after each other, which is started once for them."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain, groupby, repeat

from rocketmq_testkit.remoting.client.closing import Closing

from ..case import Case
from ..outcome import Outcome
from ..targets.target import Place, Target
from ..truth import Truth
from .attempts import first_expected
from .plan import in_order, is_own
from .pool import Work
from .work import Lend, run_case

PIECE_MAX = 6
"""Cases that have a broker after each other: to start one costs as much as some cases, but several may wait at once."""


def common_works(cases: Iterable[Case], target: Target, truth: Truth, attempts: int) -> list[Work]:
    """One piece for each case that needs nothing of its own."""
    return [_one(case, target, truth, attempts) for case in cases if not is_own(case)]


def own_works(cases: Iterable[Case], target: Target, truth: Truth, attempts: int) -> list[Work]:
    """Pieces of those that need a broker which most others cannot use."""
    if target.own_at_once is None:  # places cost nothing
        return [_one(case, target, truth, attempts) for case in cases if is_own(case)]
    works: list[Work] = []
    ordered = in_order(filter(is_own, cases))
    for (tidy, _), each in groupby(ordered, key=lambda case: (case.mark.tidy, case.mark.settings)):
        group = list(each)
        if tidy:
            pieces = (group[at : at + PIECE_MAX] for at in range(0, len(group), PIECE_MAX))
            works += [partial(_after_each_other, piece, target, truth, attempts) for piece in pieces]
        else:
            works += [_one(case, target, truth, attempts) for case in group]
    return works


def _one(case: Case, target: Target, truth: Truth, attempts: int) -> Work:
    return lambda: [_outcome(case, target, truth, attempts, repeat(None))]


def _after_each_other(cases: Sequence[Case], target: Target, truth: Truth, attempts: int) -> Iterator[Outcome]:
    mark = cases[0].mark
    with _Kept(lambda: target.lend(mark.settings, alone=True)) as kept:
        for case in cases:
            outcome = _outcome(case, target, truth, attempts, chain([kept.lend], repeat(None)))
            if outcome.earlier or not outcome.expected:
                kept.close()  # what it has done to the broker is not known
            yield outcome


def _outcome(case: Case, target: Target, truth: Truth, attempts: int, lends: Iterator[Lend | None]) -> Outcome:
    def run() -> Outcome:
        return run_case(case, target, truth, secrets.token_hex(4), next(lends))

    # The emulator is told the time, so that nothing is too late there.
    return first_expected(run, 1 if target.emulated else attempts)


class _Kept(Closing):
    """A place that is lent when it is first wanted, and given back in the end."""

    def __init__(self, lend: Lend) -> None:
        self._lend = lend
        self._held = ExitStack()
        self._place: Place | None = None

    @contextmanager
    def lend(self) -> Iterator[Place]:
        """The place; whoever wants it after `close` has another."""
        if self._place is None:
            self._place = self._held.enter_context(self._lend())
        yield self._place

    def close(self) -> None:
        """Give it back."""
        self._place = None
        self._held.close()
