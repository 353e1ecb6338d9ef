"""Outcome of a case or scenario on a target, and whether it was expected."""

from dataclasses import dataclass, field
from enum import StrEnum

from .recorded_outcomes import Notes, Record, comparable


class Verdict(StrEnum):
    """Result of comparing the observed notes with the recorded ones."""

    SAME = "same"
    DIFFERS = "differs"
    DELIBERATE = "deliberate"
    """Differs, as explained in `known_differences.DELIBERATE`."""
    GAP = "known gap"
    """Differs, as explained in `known_differences.GAPS`."""
    STALE = "no longer differs"
    """Listed as a difference, but does not differ."""
    UNRECORDED = "unrecorded"
    """No record to compare with."""
    NOT_APPLICABLE = "not applicable"
    """The target lacks a required capability."""
    ERROR = "error"
    """The case or scenario could not be run to its end."""


EXPECTED = frozenset({Verdict.SAME, Verdict.DELIBERATE, Verdict.GAP, Verdict.NOT_APPLICABLE})


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case, or one scenario with one SDK, on one target. `id`: case id, or `scenario@sdk`."""

    id: str
    target: str
    verdict: Verdict
    seconds: float
    notes: Notes = field(default_factory=list)
    record: Record | None = None
    reference: Record | None = None
    """Record of the reference version, if the record of the target's own version differs from it."""
    reason: str = ""
    """Reason for deliberate, gap or not applicable; the error text; or the contradictions."""
    earlier_attempts: tuple[str, ...] = ()
    """Results of earlier attempts; each may have several lines."""

    @property
    def differs_from_reference(self) -> bool:
        """True if the outcome matches the record of the target's version, which differs from the reference version."""
        return self.verdict is Verdict.SAME and self.reference is not None

    @property
    def expected(self) -> bool:
        """True if the run may still succeed with this outcome."""
        return self.verdict in EXPECTED


def judge(seen: Notes, record: Record | None, *, deliberate: str | None, gap: str | None) -> tuple[Verdict, str]:
    """Return verdict and reason of a completed run. `deliberate` and `gap` explain a difference."""
    if record is None:
        return Verdict.UNRECORDED, "no real broker was asked yet; record it with --record"
    same = comparable(seen) == comparable(record.notes)
    if deliberate is None and gap is None:
        return (Verdict.SAME, "") if same else (Verdict.DIFFERS, "")
    if same:
        return Verdict.STALE, "listed as a difference in known_differences.py, but there is none: take it out"
    return (Verdict.DELIBERATE, deliberate) if deliberate is not None else (Verdict.GAP, gap or "")
