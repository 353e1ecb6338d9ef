"""Choice of the tests that are near source files, by the names of files and rooms, and by imports.

Near a source file are, the nearest first:

1. tests named after the file,
2. the tests of its room: `tests/emulator/pop/` for `emulator/pop/`. Where a package has no such folder: the tests of
   the package that import the file's module, or if none does, a module of its room. A file of `emulator/operations/`,
   which has no rules, gets both,
3. the rules of `tests/behaviour/` that are named after the file or the room.

A file that has none of these is tested through the files that import it: it gets the first and second of theirs.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

import floors

TESTS = {**{package: f"tests/{package}" for package in floors.PACKAGES}, "spark": "spark_tests"}
TESTS["scripts"] = "tests/project"
"""The folder of tests of each folder of sources."""
RULES = "tests/behaviour"
"""Rules about consumption, for the engine and both protocols."""
RULED = ("emulator", "grpc_v2", "remoting")
CASES = "conformance/cases/"
WITHOUT_RULES = "emulator/operations"
"""The room of requests and responses, whose rules other rooms have and test."""


@dataclass(slots=True)
class Near:
    """Tests near a change, the nearest first, and nouns of changed conformance cases.

    `without` are the changed sources that have neither.
    """

    tests: list[str] = field(default_factory=list)
    cases: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)


def is_test(name: str) -> bool:
    """True if a file contains tests."""
    path = PurePosixPath(name)
    return path.parts[0] in ("tests", "spark_tests") and path.suffix == ".py" and path.stem.startswith("test_")


class Tree:
    """The sources and tests below a root. Files are paths relative to it."""

    def __init__(self, root: Path = floors.ROOT) -> None:
        self._root = root
        self._imports: dict[str, set[str]] = {}
        self._steps: dict[str, list[floors.Step]] = {}

    def near(self, files: Iterable[str]) -> Near:
        """Return the tests that are near changed files; changed tests come first."""
        found = Near()
        changed: list[str] = []
        layers: tuple[list[str], ...] = ([], [], [])
        for file in files:
            if is_test(file):
                changed.append(file)
            elif file.startswith(CASES):
                found.cases.append(PurePosixPath(file).stem)
            elif file.partition("/")[0] in TESTS:
                tests = self.near_source(file)
                for layer, more in zip(layers, tests, strict=True):
                    layer += more
                if not any(tests):
                    found.without.append(file)
        found.tests = list(dict.fromkeys([*changed, *(test for layer in layers for test in layer)]))
        return found

    def near_source(self, file: str) -> tuple[list[str], list[str], list[str]]:
        """Return the tests that are named after a source file, those of its room, and the rules of either name."""
        named, of_room, rules = self._named(file), self._of_room(file), self._rules(file)
        if not named and not of_room:
            importing = self._importing(file)
            named = [test for each in importing for test in self._named(each)]
            of_room = [test for each in importing for test in self._of_room(each)]
        return named, of_room, rules

    def _named(self, file: str) -> list[str]:
        return [test for test in self._tests(_folder(file)) if _is_named(test, _stem(file))]

    def _of_room(self, file: str) -> list[str]:
        package, *rooms, _ = file.split("/")
        of_folder: list[str] = []
        for count in range(len(rooms), 0, -1):
            folder = "/".join([TESTS[package], *rooms[:count]])
            if (self._root / folder).is_dir():
                of_folder = self._tests(folder)
                if not file.startswith(f"{WITHOUT_RULES}/"):
                    return of_folder
                break
        tests = self._tests(TESTS[package])
        room = ".".join(filter(None, [floors.PACKAGES.get(package), *rooms]))
        module = ".".join(filter(None, [room, _stem(file)]))
        importing = [test for test in tests if self._imports_any(test, module)] or [
            test for test in tests if rooms and self._imports_any(test, room)
        ]
        return [*of_folder, *importing]

    def _rules(self, file: str) -> list[str]:
        package, *rooms, _ = file.split("/")
        words = [_stem(file), *rooms[:1]] if package in RULED else []
        return [test for test in self._tests(RULES) if any(_is_named(test, word) for word in words)]

    def _tests(self, folder: str) -> list[str]:
        return [test for test in self._all_tests if test.startswith(f"{folder}/")]

    @cached_property
    def _all_tests(self) -> list[str]:
        found = (path.relative_to(self._root).as_posix() for path in self._root.glob("*tests/**/test_*.py"))
        return sorted(found)

    def _importing(self, file: str) -> list[str]:
        """Return the files of the same package that import a file."""
        package = file.partition("/")[0]
        if package not in floors.PACKAGES:
            return []
        if package not in self._steps:
            self._steps[package] = list(floors.steps(floors.read(package, self._root)))
        return [step.file for step in self._steps[package] if step.imported == file]

    def _imports_any(self, test: str, module: str) -> bool:
        """True if a test imports a module, a module below it, or a name of it."""
        if test not in self._imports:
            self._imports[test] = set(_imported((self._root / test).read_text()))
        return any(name == module or name.startswith(f"{module}.") for name in self._imports[test])


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _folder(file: str) -> str:
    return TESTS[file.partition("/")[0]]


def _stem(file: str) -> str:
    return PurePosixPath(file).name.partition(".")[0]


def _is_named(test: str, stem: str) -> bool:
    name = PurePosixPath(test).stem.removeprefix("test_")
    return name == stem or name.startswith(f"{stem}_")
