"""pytest results for outcomes."""

import pytest

from .outcomes.outcome import Outcome, Verdict
from .outcomes.recorded_outcomes import differences


def conclude(outcome: Outcome) -> None:
    """Pass, skip or fail the current test according to the outcome."""
    if outcome.verdict is Verdict.NOT_APPLICABLE:
        pytest.skip(outcome.reason)
    if not outcome.expected:
        lines = [f"{outcome.id} on {outcome.target}: {outcome.verdict.value}", outcome.reason]
        lines += differences([] if outcome.record is None else outcome.record.notes, outcome.notes)
        pytest.fail("\n".join(filter(None, lines)), pytrace=False)
