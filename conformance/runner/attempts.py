"""Trying again what came out otherwise than expected.

SDKs have races of their own that a real broker loses as well, such as a message that is sent between a new consumer's
two questions about where to begin; and a pop that takes half a second to arrive is too old for a broker. A busy machine
makes both likelier. An outcome says at which attempt it came.
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
