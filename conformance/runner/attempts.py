"""Trying again what came out otherwise than expected, where whoever runs it asks for that.

SDKs have limits of their own, such as three seconds for an answer, and a real broker takes a pop that was half a second
on its way for too old: on a machine that is too busy for them, what is not as expected may say nothing of the broker.
An outcome says at which attempt it came, and what the attempts before it came to; a run may limit how many outcomes
needed more than one. Cases have a second attempt with real brokers only: they wait for the emulator in no time at all.
"""

from collections.abc import Callable
from dataclasses import replace

from ..outcome import Outcome
from ..truth import differences


def first_expected(run: Callable[[], Outcome], attempts: int) -> Outcome:
    """The first outcome that is expected, or the last of so many; a later one than the first has that as its reason."""
    earlier: list[str] = []
    outcome = run()
    for attempt in range(2, attempts + 1):
        if outcome.expected:
            break
        earlier.append(_told(outcome))
        outcome = run()
        if outcome.expected:
            reason = f"at attempt {attempt}; {outcome.reason}".rstrip("; ")
            outcome = replace(outcome, reason=reason, earlier=tuple(earlier))
    return outcome


def _told(outcome: Outcome) -> str:
    lines = [f"{outcome.verdict.value}: {outcome.reason}".rstrip(": ")]
    if outcome.truth is not None:
        lines += differences(outcome.truth.notes, outcome.notes)
    return "\n".join(lines)
