"""What became of a case or scenario on a target, and whether that was expected."""

from dataclasses import dataclass, field
from enum import StrEnum

from .truth import Notes, Record, comparable


class Verdict(StrEnum):
    """How what was seen compares with what is recorded."""

    SAME = "same"
    DIFFERS = "differs"
    DELIBERATE = "deliberate"
    """Differs, as `explained.DELIBERATE` says."""
    GAP = "known gap"
    """Differs, as `explained.GAPS` says."""
    STALE = "no longer differs"
    """Listed as a difference, and is none."""
    UNRECORDED = "unrecorded"
    """There is nothing to compare with."""
    NOT_APPLICABLE = "not applicable"
    """The target cannot do what it needs."""
    ERROR = "error"
    """It could not be carried out."""


EXPECTED = frozenset({Verdict.SAME, Verdict.DELIBERATE, Verdict.GAP, Verdict.NOT_APPLICABLE})


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case, or one scenario with one SDK, on one target. `id`: of the case, or `scenario@sdk`."""

    id: str
    target: str
    verdict: Verdict
    seconds: float
    notes: Notes = field(default_factory=list)
    truth: Record | None = None
    reference: Record | None = None
    """What the reference version did, where the target's own version is recorded to do otherwise."""
    reason: str = ""
    """Why it is deliberate, a gap or not applicable; the error's text; the contradictions."""
    earlier: tuple[str, ...] = ()
    """What the attempts before it came to; each may have several lines."""

    @property
    def otherwise(self) -> bool:
        """Whether it went as recorded for its own version, which is not as the reference version does it."""
        return self.verdict is Verdict.SAME and self.reference is not None

    @property
    def expected(self) -> bool:
        """Whether the run may end well with it."""
        return self.verdict in EXPECTED


def judge(seen: Notes, truth: Record | None, *, deliberate: str | None, gap: str | None) -> tuple[Verdict, str]:
    """The verdict of a run that came to its end, and its reason. The two texts are those of `explained`, if any."""
    if truth is None:
        return Verdict.UNRECORDED, "no real broker was asked yet; record it with --record"
    same = comparable(seen) == comparable(truth.notes)
    if deliberate is None and gap is None:
        return (Verdict.SAME, "") if same else (Verdict.DIFFERS, "")
    if same:
        return Verdict.STALE, "listed as a difference in explained.py, but there is none: take it out"
    return (Verdict.DELIBERATE, deliberate) if deliberate is not None else (Verdict.GAP, gap or "")
