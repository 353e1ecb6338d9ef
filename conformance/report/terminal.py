"""Terminal output of a run: a line for each unexpected outcome, a progress counter, and a table at the end."""

from collections import Counter
from typing import TextIO

from ..outcomes.outcome import Outcome, Verdict
from ..outcomes.truth import differences
from ..runner.run import Run


class Terminal:
    """Shows a run of `total` outcomes. Lines that will be overwritten are only written to a terminal."""

    def __init__(self, out: TextIO, total: int) -> None:
        self._out = out
        self._total = total
        self._done = 0
        self._live = out.isatty()

    def show(self, outcome: Outcome) -> None:
        """Show one outcome and the progress of the run."""
        self._done += 1
        self._clear()
        if not outcome.expected:
            self._print(
                f"{outcome.verdict.value.upper():14} {outcome.target:14} {outcome.id}  ({outcome.seconds:.1f} s)"
            )
            if outcome.reason:
                self._print(f"    {outcome.reason}")
            if outcome.truth is not None and outcome.verdict is Verdict.DIFFERS:
                for line in differences(outcome.truth.notes, outcome.notes):
                    self._print(f"    {line}")
        if self._live:
            self._out.write(f"{self._done} of {self._total}  {outcome.id}"[:100])
        elif self._done % 50 == 0 and self._done < self._total:
            self._print(f"... {self._done} of {self._total}")
        self._out.flush()

    def conclude(self, run: Run) -> None:
        """Show the counts of each target."""
        self._clear()
        for name in run.targets:
            verdicts = Counter(each.verdict for each in run.outcomes if each.target == name)
            counts = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict if verdicts[verdict])
            self._print(f"{name}: {counts or 'no outcomes'}")
            for each in (each for each in run.outcomes if each.target == name and each.earlier):
                self._print(f"  {each.id}: {each.verdict.value} {each.reason}; earlier attempts:")
                for line in "\n".join(each.earlier).splitlines():
                    self._print(f"    {line}")
            for line in run.likely_causes.get(name, []):
                self._print(f"  the broker has {line}: the likely cause of the differences")
            otherwise = [each.id for each in run.outcomes if each.target == name and each.otherwise]
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

    def _clear(self) -> None:
        if self._live:
            self._out.write("\r\x1b[K")

    def _print(self, line: str) -> None:
        self._out.write(line + "\n")
