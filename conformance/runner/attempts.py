"""Repeated attempts at cases and scenarios with an unexpected outcome, on request.

SDKs have limits of their own, such as three seconds for a response. A real broker treats a pop that took half a second
to arrive as expired. On an overloaded machine an unexpected outcome may therefore be no fault of the broker. An outcome
notes its attempt number and the results of earlier attempts. A run may limit the number of outcomes that needed more
than one. Scenarios are repeated one at a time, after all others. Cases are repeated at once, and on real brokers only:
on the emulator they wait in virtual time.
"""

from collections.abc import Callable
from dataclasses import replace

from ..outcomes.outcome import Outcome
from ..outcomes.recorded_outcomes import differences


def first_expected(run: Callable[[], Outcome], attempts: int, first: Outcome | None = None) -> Outcome:
    """Return the first expected outcome, or the last of `attempts`; a later attempt is named in the reason.

    `first` is the outcome of the first attempt if that has already run.
    """
    earlier: list[str] = []
    outcome = first or run()
    for attempt in range(2, attempts + 1):
        if outcome.expected:
            break
        earlier.append(_described(outcome))
        outcome = run()
        if outcome.expected:
            reason = f"at attempt {attempt}; {outcome.reason}".rstrip("; ")
            outcome = replace(outcome, reason=reason, earlier_attempts=tuple(earlier))
    return outcome


def _described(outcome: Outcome) -> str:
    lines = [f"{outcome.verdict.value}: {outcome.reason}".rstrip(": ")]
    if outcome.record is not None:
        lines += differences(outcome.record.notes, outcome.notes)
    return "\n".join(lines)
