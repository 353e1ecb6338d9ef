"""Outcome of a case or scenario on a target, and its comparison with the outcome that a real broker had."""

from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum

from .recorded_outcomes import Notes, RecordedOutcome, comparable


class Verdict(StrEnum):
    """Result of comparing the observed notes with the recorded ones."""

    SAME = "same"
    DIFFERS = "differs"
    DELIBERATE = "deliberate"
    """Differs on purpose and permanently, as explained in `known_differences.DELIBERATE`."""
    GAP = "known gap"
    """Differs until a planned change of the emulator, as explained in `known_differences.GAPS`."""
    STALE = "no longer differs"
    """Listed in `known_differences`, but does not differ."""
    UNRECORDED = "unrecorded"
    """No record to compare with."""
    NOT_APPLICABLE = "not applicable"
    """The target lacks a required capability."""
    ERROR = "error"
    """The case or scenario could not be run to its end."""


EXPECTED = frozenset({Verdict.SAME, Verdict.DELIBERATE, Verdict.GAP, Verdict.NOT_APPLICABLE})
"""Verdicts with which a run of the suite may succeed; each of the others makes it fail."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case, or one scenario with one SDK, on one target.

    `id` is the case id, or `scenario@sdk`. `target` is the name of the target, `seconds` the wall time of the last
    attempt, and `notes` the observations.
    """

    id: str
    target: str
    verdict: Verdict
    seconds: float
    _: KW_ONLY
    notes: Notes = field(default_factory=list)
    record: RecordedOutcome | None = None
    """The record with which the notes were compared; None if there is none."""
    reference: RecordedOutcome | None = None
    """Record of the reference version (5.3.3) if the target's version has a record of its own, else None."""
    reason: str = ""
    """Reason of the verdict: of a known difference, a missing capability or an error.

    For DIFFERS, the codes that contradict the statements of the case; empty if only the notes differ.
    """
    earlier_attempts: tuple[str, ...] = ()
    """Verdicts and differences of earlier attempts, the first one first; each text may have several lines."""

    @property
    def differs_from_reference(self) -> bool:
        """True if the outcome matches the record of the target's version, which differs from the reference version."""
        return self.verdict is Verdict.SAME and self.reference is not None

    @property
    def expected(self) -> bool:
        """True if the run of the suite may still succeed with this outcome."""
        return self.verdict in EXPECTED


def judge(
    seen: Notes, record: RecordedOutcome | None, *, deliberate: str | None, gap: str | None
) -> tuple[Verdict, str]:
    """Return verdict and reason of a case or scenario that ran to its end.

    `deliberate` and `gap` are the reasons of a known difference, None if it is not listed as one.
    """
    if record is None:
        return Verdict.UNRECORDED, "there is no record of a real broker; run it on one with --record"
    same = comparable(seen) == comparable(record.notes)
    if deliberate is None and gap is None:
        return (Verdict.SAME, "") if same else (Verdict.DIFFERS, "")
    if same:
        return Verdict.STALE, "listed as a difference in known_differences.py, but there is none: remove the entry"
    return (Verdict.DELIBERATE, deliberate) if deliberate is not None else (Verdict.GAP, gap or "")
