"""Counts of executed lines: a measure of work that is the same on every machine, unlike time."""

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any


def executed_lines(function: Callable[[], object]) -> int:
    """Return the number of lines of Python that `function`, and every function that it calls, executes.

    Loops inside C code (`in`, `list`, `sum`) count as one line. The garbage collector is off meanwhile: it would run
    finalizers of objects of earlier tests, whose lines would count.
    """
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal count
        if event == "line":
            count += 1
        return trace

    before, collected = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
        if collected:
            gc.enable()
    return count


def operations(work: Callable[[], object]) -> int:
    """Return the number of executed lines and of calls, including calls of C functions, until the work ends or raises.

    Work inside one call of C is not counted; `regex_steps` counts that of regular expressions.
    """
    count = 0

    def call(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    def counted() -> None:
        with suppress(Exception):  # a parser may reject its input in any way; the work until then counts
            work()

    before = sys.getprofile()
    sys.setprofile(call)
    try:
        lines = executed_lines(counted)
    finally:
        sys.setprofile(before)
    return lines + count
