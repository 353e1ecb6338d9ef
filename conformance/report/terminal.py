"""Output of a run: a line for each unexpected outcome, its progress, and a table at the end.

On a terminal the progress is a bar with an ETA, and one line for each build of a driver; a log gets plain lines.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from ..drivers.build import Announce, announced
from ..outcomes.outcome import Outcome, Verdict
from ..outcomes.recorded_outcomes import differences
from ..runner.run import Run

if TYPE_CHECKING:
    from .live_lines import LiveLines


def live_lines(out: TextIO, total: int | None = None) -> "LiveLines | None":
    """Return lines that change in place, or None if `out` is no terminal that can show them."""
    if not out.isatty():
        return None
    from .live_lines import LiveLines  # rich is loaded only here; a log does without it

    found = LiveLines(out, total)
    return found if found.possible else None


@contextmanager
def builds_shown(out: TextIO) -> Iterator[Announce]:
    """Show builds of drivers within the block: one line each on a terminal, else plain lines on standard error."""
    live = live_lines(out)
    if live is None:
        yield announced
    else:
        with live:
            yield live.building


class Terminal:
    """Shows a run of `total` outcomes; a context manager that ends the lines which change in place."""

    def __init__(self, out: TextIO, total: int) -> None:
        self._out = out
        self._total = total
        self._done = 0
        self._live = live_lines(out, total)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.__exit__(kind, error, trace)

    @property
    def announce(self) -> Announce:
        """Shows builds of drivers: in the lines that change in place, unless standard error is a log."""
        return announced if self._live is None or not sys.stderr.isatty() else self._live.building

    def show(self, outcome: Outcome) -> None:
        """Show one outcome and the progress of the run."""
        self._done += 1
        if not outcome.expected:
            self._print(
                f"{outcome.verdict.value.upper():14} {outcome.target:14} {outcome.id}  ({outcome.seconds:.1f} s)"
            )
            if outcome.reason:
                self._print(f"    {outcome.reason}")
            if outcome.record is not None and outcome.verdict is Verdict.DIFFERS:
                for line in differences(outcome.record.notes, outcome.notes):
                    self._print(f"    {line}")
        if self._live is not None:
            self._live.advance(outcome.id)
        elif self._done % 50 == 0 and self._done < self._total:
            self._print(f"... {self._done} of {self._total}")
        self._out.flush()

    def conclude(self, run: Run) -> None:
        """Show the counts of each target."""
        for name in run.targets:
            verdicts = Counter(each.verdict for each in run.outcomes if each.target == name)
            counts = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict if verdicts[verdict])
            self._print(f"{name}: {counts or 'no outcomes'}")
            for each in (each for each in run.outcomes if each.target == name and each.earlier_attempts):
                self._print(f"  {each.id}: {each.verdict.value} {each.reason}; earlier attempts:")
                for line in "\n".join(each.earlier_attempts).splitlines():
                    self._print(f"    {line}")
            for line in run.likely_causes.get(name, []):
                self._print(f"  the broker has {line}: the likely cause of the differences")
            otherwise = [each.id for each in run.outcomes if each.target == name and each.differs_from_reference]
            if otherwise:
                self._print(f"  {len(otherwise)} of them as recorded for this version, unlike the reference version:")
                for id_ in otherwise:
                    self._print(f"    {id_}")
        if run.too_many_repeated:
            self._print(f"{run.repeated} outcomes needed another attempt; at most {run.repeated_max} are allowed")
        if run.problem:
            self._print(f"the run ended early: {run.problem}")
        if run.interrupted:
            self._print("interrupted; the outcomes up to then are shown")
        self._print(
            f"{len(run.outcomes)} outcomes in {run.seconds:.1f} s: {'as expected' if run.good else 'NOT as expected'}"
        )
        self._out.flush()

    def _print(self, line: str) -> None:
        if self._live is None:
            self._out.write(line + "\n")
        else:
            self._live.print(line)
