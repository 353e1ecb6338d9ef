"""Counts of executed lines: a measure of work that is the same on every machine, unlike time."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def executed_lines(function: Callable[[], object]) -> int:
    """Return how many lines of Python `function` executes, in every function that it calls.

    Loops inside C code (`in`, `list`, `sum`) count as one line.
    """
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal count
        if event == "line":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
