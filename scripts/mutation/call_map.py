"""The tests that call each function, cached between runs for unchanged test files.

After a change of the code the map is slightly wrong. A mutant may then be tried with fewer tests than call its
function, and counts as survived if those do not kill it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from . import reached
from .mutant import Mutant

PAGES = "tests/project/test_pages.py"
"""Tests of the generated pages, which show most of the declarations that an import executes."""
TESTS = (
    "tests/emulator",
    "tests/remoting",
    "tests/grpc_v2",
    "tests/behaviour",
    PAGES,
)
"""Tests that run in one process."""
LEFT_OUT = frozenset(
    f"tests/grpc_v2/transport/test_{name}.py" for name in ("grpcio", "h2spec", "interop_go", "refused")
)
"""Tests among them that need another program."""


class CallMap:
    """The tests that call each function, and the processor time of each test in seconds."""

    def __init__(self, tree: Path, file: Path, tests: Sequence[str] = TESTS) -> None:
        self._tree, self._file = tree, file
        self._states = {
            each: sha256((tree / each).read_bytes()).hexdigest()
            for name in tests
            for each in sorted(str(path.relative_to(tree)) for path in _test_files(tree / name))
            if each not in LEFT_OUT
        }
        self._files: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.is_file() else {}
        self._index()

    @property
    def missing(self) -> list[str]:
        """Test files without a measurement of their current content."""
        return [name for name, state in self._states.items() if self._files.get(name, {}).get("state") != state]

    def add(self, measured: Mapping[str, tuple[float, list[str]]], files: Iterable[str]) -> None:
        """Store the measurements of test files."""
        for name in files:
            tests = {test: found for test, found in measured.items() if _file_of(test) == name}
            self._files[name] = {"state": self._states[name], "tests": tests}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(self._files))
        self._index()

    def _index(self) -> None:
        self.seconds: dict[str, float] = {}
        self._by_function: dict[str, list[str]] = defaultdict(list)
        self._by_file: dict[str, set[str]] = defaultdict(set)
        for name, state in self._states.items():
            kept = self._files.get(name, {})
            if kept.get("state") != state:
                continue
            for test, (spent, places) in kept["tests"].items():
                self.seconds[test] = spent
                for place in {place.partition(".<locals>")[0] for place in places}:
                    self._by_function[place].append(test)
                    self._by_file[place.partition(":")[0]].add(test)

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that may fail with a mutant, likely and quick ones first.

        If no test calls the function, or the import executes the mutant, the order is: tests that call other functions
        of the file, tests of the generated pages, all other tests.
        """
        if self.is_called(mutant):
            return self._ordered(mutant, self._by_function[f"{mutant.file}:{mutant.function}"])
        near = self._ordered(mutant, self._by_file.get(mutant.file, ()))
        pages = [name for name in self.seconds if _file_of(name) == PAGES]
        return list(dict.fromkeys([*near, *pages, *self._ordered(mutant, self.seconds)]))

    def is_called(self, mutant: Mutant) -> bool:
        """Return True if a test calls the function of a mutant, or a function created by it."""
        return bool(mutant.function) and f"{mutant.file}:{mutant.function}" in self._by_function

    def _ordered(self, mutant: Mutant, names: Iterable[str]) -> list[str]:
        """Sort by a word shared with the file's name, then one case of each test before any second one, then time."""
        words = _words(mutant.file)
        ranks: dict[str, int] = defaultdict(int)
        keys = {}
        found = sorted(set(names), key=self.seconds.__getitem__)
        for name in found:
            test = name.partition("[")[0]
            keys[name] = (words.isdisjoint(_words(_file_of(test))), ranks[test])
            ranks[test] += 1
        return sorted(found, key=keys.__getitem__)

    def within(self, tests: Sequence[str], seconds: float) -> list[str]:
        """Return the first tests that fit into this processor time, but at least one."""
        chosen: list[str] = []
        spent = 0.0
        for name in tests:
            if not chosen or spent + self.seconds[name] <= seconds:
                spent += self.seconds[name]
                chosen.append(name)
        return chosen


def measured(out: Path) -> Mapping[str, tuple[float, list[str]]]:
    """Return the results that the plugin of `reached` has written. Raises FileNotFoundError if there are none."""
    return reached.read(out)


def _test_files(place: Path) -> Iterable[Path]:
    return [place] if place.suffix else place.rglob("test_*.py")


def _words(file: str) -> set[str]:
    """Return the words in the name of a file, without the s of plurals."""
    return {word.rstrip("s") for word in Path(file).stem.split("_")} - {"test"}


def _file_of(test: str) -> str:
    return test.partition("::")[0]
