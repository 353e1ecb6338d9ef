"""Trying a scenario again that came out otherwise than expected, where whoever runs it asks for that.

SDKs have limits of their own, such as three seconds for an answer, and a real broker takes a pop that was half a second
on its way for too old: on a machine that is too busy for them, what is not as expected may say nothing of the broker.
An outcome says at which attempt it came. Cases have no second attempt, and the project's own run of the matrix on the
emulator has none either.
"""

from collections.abc import Callable
from dataclasses import replace

from ..outcome import Outcome


def first_expected(run: Callable[[], Outcome], attempts: int) -> Outcome:
    """The first outcome that is expected, or the last of so many; a later one than the first has that as its reason."""
    outcome = run()
    for attempt in range(2, attempts + 1):
        if outcome.expected:
            break
        outcome = run()
        if outcome.expected:
            outcome = replace(outcome, reason=f"at attempt {attempt}; {outcome.reason}".rstrip("; "))
    return outcome
