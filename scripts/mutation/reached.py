"""Records the functions that each test calls, and the processor time of each test.

A probe replaces the code of each function. The first call in a test is recorded and restores the code. This costs
almost nothing, while tracing lines makes tests several times slower. All probes are set again before the next test.
"""

import json
import time
from collections.abc import Callable, Generator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from . import patch


class Probe:
    """Records the first call of a function."""

    def __init__(self, function: FunctionType, place: str, note: Callable[["Probe"], None]) -> None:
        self.place = place
        self._function, self._note = function, note
        self._code = function.__code__
        self._own = _probing(len(self._code.co_freevars), self._call)

    def set(self) -> None:
        """Replace the code of the function by the probe."""
        self._function.__code__ = self._own

    def unset(self) -> None:
        """Restore the code of the function."""
        self._function.__code__ = self._code

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        self.unset()
        self._note(self)
        return self._function(*args, **kwargs)


@cache
def _template(cells: int) -> CodeType:
    """Return the code of a function with `cells` free variables: a replacement must have as many as the original."""
    names = [f"cell{number}" for number in range(cells)]
    lines = [
        f"def outer({', '.join(names)}):",
        "    def probe(*args, **kwargs):",
        *(f"        if 0: {name}" for name in names),
        "        return 'call'.__call__(*args, **kwargs)",
        "    return probe",
    ]
    space: dict[str, Any] = {}
    source = "\n".join(lines)
    exec(compile(source, "<probe>", "exec", dont_inherit=True), space)
    probe: FunctionType = space["outer"](*names)
    return probe.__code__


def _probing(cells: int, call: Callable[..., Any]) -> CodeType:
    code = _template(cells)
    return code.replace(co_consts=tuple(call if each == "call" else each for each in code.co_consts))


class Reached:
    """A pytest plugin that writes the seconds and the called functions of each passed test."""

    def __init__(self, tree: Path, functions: patch.Functions, out: Path) -> None:
        self._out = out
        self._called: list[Probe] = []
        self._found: dict[str, tuple[float, list[str]]] = {}
        self._failed: set[str] = set()
        self._probes = [
            Probe(function, f"{Path(file).relative_to(tree)}:{function.__code__.co_qualname}", self._called.append)
            for file, alive in functions.items()
            if file.startswith(f"{tree}/") and not file.startswith(f"{tree}/tests/")
            for function in alive
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run one test with probes set; this includes its fixtures."""
        for probe in self._called or self._probes:
            probe.set()
        self._called.clear()
        begun = time.process_time()
        try:
            return (yield)
        finally:
            spent = round(time.process_time() - begun, 4)
            self._found[item.nodeid] = spent, sorted({probe.place for probe in self._called})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record tests that fail without a mutant, which prove nothing."""
        if report.failed:
            self._failed.add(report.nodeid)

    def write(self) -> None:
        """Write the results."""
        self._out.write_text(json.dumps({name: self._found[name] for name in self._found if name not in self._failed}))


def read(file: Path) -> Mapping[str, tuple[float, list[str]]]:
    """Read the results that the plugin has written."""
    found: dict[str, tuple[float, list[str]]] = json.loads(file.read_text())
    return found
