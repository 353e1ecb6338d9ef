"""Waiting for what processes of their own do, of which no event tells."""

import time
from collections.abc import Callable

SECONDS = 60.0
"""For what a client does by itself, on a machine that is busy with other things."""
_GLANCE_SECONDS = 0.05


def until(is_so: Callable[[], object], what: str, seconds: float = SECONDS) -> None:
    """Return when something is so; it has to be within `seconds`."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not so after {seconds:g} s"
        time.sleep(_GLANCE_SECONDS)
