"""Trials of mutants, each in a fork, with the tests that may kill it.

A mutant inside of a function is put into a process that has already collected all tests, which takes milliseconds. A
mutant that the import executes needs a process that imports the package with the changed source of one file. No file is
written, so that an interrupted run leaves nothing to repair.
"""

import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.machinery import SourceFileLoader
from itertools import zip_longest
from pathlib import Path
from types import CodeType

import pytest

from . import patch
from . import tree as scratch
from .forked import Fate, MutantVerdict, judged
from .mutant import Mutant
from .reached import Reached

LIBRARIES = ("construct", "google.protobuf.message", "hpack", "hypothesis.strategies", "orjson")
"""Imported once, before all forks. None of them starts threads."""
WORDS = ("--hypothesis-seed=0", "-p", "no:cacheprovider", "-p", "no:xdist")
SILENT = ("-p", "no:terminal", "-o", "addopts=--import-mode=importlib")
"""Without the terminal plugin, pytest does not know this project's options for it."""
HOUR = 3600.0
OnVerdict = Callable[[Mutant, MutantVerdict], bool]
"""Called with each verdict; a result of False ends the run."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant, its tests in the order in which they run, and their processor time without the mutant.

    `imported` is True if only the import executes the mutant.
    """

    mutant: Mutant
    tests: Sequence[str]
    seconds: float
    imported: bool = False


Attempt = Callable[[Sequence[str], Mutant | None], str | None]
"""Runs tests with a mutant, or with the original code, and returns the result of an `Action`."""


def controlled(trial: Trial, tests: Sequence[str], attempt: Attempt, log: Path) -> MutantVerdict:
    """Try a mutant; a test kills it only if the same tests up to that one pass without it.

    A test that fails without the mutant, in this order or in such a process, proves nothing and is left out.
    """
    left = list(tests)
    while True:
        verdict = judged(partial(attempt, left, trial.mutant), trial.seconds, log)
        if verdict.by not in left:
            return verdict
        before = left[: left.index(verdict.by) + 1]
        if judged(partial(attempt, before, None), trial.seconds, log).fate is Fate.SURVIVED:
            return verdict
        left.remove(verdict.by)


class Chosen:
    """A plugin that keeps the chosen tests in their order and records the first failure."""

    def __init__(self, names: Iterable[str]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self.failed: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep only the chosen tests, and sort them."""
        items[:] = [item for item in items if item.nodeid in self._places]
        items.sort(key=lambda item: self._places[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the first failed test."""
        if report.failed and self.failed is None:
            self.failed = report.nodeid


class Collected(Chosen):
    """A plugin that tries mutants with the collected tests instead of running the tests once."""

    def __init__(self, tree: Path, log: Path, trials: Sequence[Trial], on_verdict: OnVerdict) -> None:
        super().__init__(name for trial in trials for name in trial.tests)
        self._tree, self._log, self._trials, self._on_verdict = tree, log, trials, on_verdict

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant in a fork."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors while the tests were collected")
        items = {item.nodeid: item for item in session.items}
        alive = patch.functions()
        for trial in self._trials:
            chosen = [items[name] for name in trial.tests if name in items]
            names = [item.nodeid for item in chosen]

            def attempt(
                tests: Sequence[str], mutant: Mutant | None, chosen: Sequence[pytest.Item] = chosen
            ) -> str | None:
                wanted = set(tests)
                return self._try(mutant, [item for item in chosen if item.nodeid in wanted], alive)

            if not self._on_verdict(trial.mutant, controlled(trial, names, attempt, self._log)):
                break
        return True

    def _try(self, mutant: Mutant | None, items: Sequence[pytest.Item], alive: patch.Functions) -> str | None:
        if mutant is not None:
            path = self._tree / mutant.file
            before = path.read_bytes()
            count = patch.replace(alive.get(str(path), ()), str(path), before, mutant.applied(before))
            print(mutant, f"is in {count} functions", flush=True)
        for item, following in zip_longest(items, items[1:]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed is not None:
                return self.failed
        return None


class Measured:
    """A plugin that measures the tests with the plugin of `reached`."""

    def __init__(self, tree: Path, out: Path) -> None:
        self._tree, self._out = tree, out

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Set the probes; the tests then run as usual."""
        self._plugin = Reached(self._tree, patch.functions(), self._out)
        session.config.pluginmanager.register(self._plugin, "mutation-reached")

    def pytest_sessionfinish(self) -> None:
        """Write the results."""
        self._plugin.write()


class Trials:
    """Trials in a scratch copy of a checkout. The process must not have imported the package."""

    def __init__(self, root: Path, tree: Path, log: Path) -> None:
        self._root, self._tree, self._log = root, tree, log
        for name in LIBRARIES:
            importlib.import_module(name)

    def measure(self, files: Sequence[str], out: Path) -> None:
        """Run unchanged test files in a fork and measure them. Raises RuntimeError if they cannot be run."""
        out.unlink(missing_ok=True)
        judged(partial(self._measure, files, out), HOUR, self._log)
        if not out.is_file():
            raise RuntimeError(f"the tests cannot be measured; see {self._log}")

    def _measure(self, files: Sequence[str], out: Path) -> None:
        _prepare(self._root, self._tree, self._log)
        pytest.main([*WORDS, "-m", "not alone", *files], plugins=[Measured(self._tree, out)])

    def run(self, trials: Sequence[Trial], on_verdict: OnVerdict) -> None:
        """Try each mutant. Raises RuntimeError if pytest fails.

        Mutants that the import executes come first, because the others import the package in this process.
        """
        called = [trial for trial in trials if not trial.imported]
        for trial in trials:
            if trial.imported:
                slow = replace(trial, seconds=trial.seconds + 10)
                if not on_verdict(trial.mutant, controlled(slow, trial.tests, self._imported, self._log)):
                    return
        if called:
            _prepare(self._root, self._tree, self._log)
            plugin = Collected(self._tree, self._log, called, on_verdict)
            names = [name for trial in called for name in trial.tests]
            code = pytest.main([*WORDS, *SILENT, *_files(names)], plugins=[plugin])
            if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                raise RuntimeError(f"pytest ended with code {int(code)}")

    def _imported(self, tests: Sequence[str], mutant: Mutant | None) -> str | None:
        _prepare(self._root, self._tree, self._log)
        if mutant is not None:
            path = self._tree / mutant.file
            _replace(path, mutant.applied(path.read_bytes()))
        chosen = Chosen(tests)
        code = pytest.main([*WORDS, "-x", *_files(tests)], plugins=[chosen])
        return None if code == pytest.ExitCode.OK else chosen.failed or "import"


def _files(tests: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name.partition("::")[0] for name in tests))


def _prepare(root: Path, tree: Path, log: Path) -> None:
    """Import from the copy, and keep Hypothesis from writing into it.

    Hypothesis does not search for the smallest example either, because any failure kills a mutant.
    """
    from hypothesis import configuration
    from hypothesis.internal.conjecture.engine import ConjectureRunner

    os.chdir(tree)
    scratch.redirect(root, tree)
    configuration.set_hypothesis_home_dir(log.parent / "hypothesis")
    for name in ("shrink_interesting_examples", "shrink_interesting_test_cases"):  # depends on Hypothesis' version
        if hasattr(ConjectureRunner, name):
            setattr(ConjectureRunner, name, lambda _self: None)


def _replace(path: Path, source: bytes) -> None:
    """Let the import system load another source for one file, in this fork only."""
    usual = SourceFileLoader.get_code
    target = str(path)

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        if loader.get_filename(fullname) == target:
            return compile(source, target, "exec", dont_inherit=True)
        return usual(loader, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment,method-assign]  # only of files
