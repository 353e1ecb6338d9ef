"""Waiting for other processes, which send no event."""

import time
from collections.abc import Callable

SECONDS = 60.0
"""Timeout for actions of a client on a busy machine."""
_GLANCE_SECONDS = 0.05


def until(is_so: Callable[[], object], what: str, seconds: float = SECONDS) -> None:
    """Wait until `is_so` returns true. Raises AssertionError, which names the condition as `what`, after `seconds`."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not so after {seconds:g} s"
        time.sleep(_GLANCE_SECONDS)
