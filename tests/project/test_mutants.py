"""The mutation tool: mutants, the choice of tests for a mutant, counts, and a fixed sample of mutants."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from mutation import forked, named, patch, reached, record, tree
from mutation.call_map import CallMap
from mutation.forked import Fate, MutantVerdict, judged
from mutation.mutant import Mutant
from mutation.operators import mutants
from mutation.results import Results
from mutation.rooms import Rooms
from mutation.sample import sample

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "mutants"
SAMPLE_SECONDS_MAX = 300
"""Limit of wall time for the fixed sample on a busy machine; it takes six seconds of processor time."""


def found(source: str) -> set[tuple[str, str]]:
    """Return (operator, line with the mutant) of all mutants of a source."""
    data = source.encode()
    return {
        (each.operator, each.applied(data).decode().splitlines()[each.line - 1].strip())
        for each in mutants("f.py", data)
    }


# Mutants.


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a < b", {("boundary", "(a <= b)"), ("comparison", "(a >= b)")}),
        ("a == b", {("comparison", "(a != b)")}),
        ("a is not None", {("comparison", "(a is None)")}),
        ("a not in b", {("comparison", "(a in b)")}),
        ("a - b", {("arithmetic", "(a + b)")}),
        ("a << b", {("arithmetic", "(a >> b)")}),
        ("a or b", {("and/or", "(a and b)"), ("removed operand", "a"), ("removed operand", "b")}),
        ("not a", {("removed sign", "a")}),
        ("a if b else c", {("swapped branches", "(c if b else a)")}),
        ("[a for a in b if c]", {("always", "[a for a in b if True]"), ("opposite", "[a for a in b if (not c)]")}),
        ("True", {("constant", "False")}),
        ("7", {("constant", "8")}),
        ("'text'", {("constant", "''")}),
        ("f(a, b)", {("swapped arguments", "f(b, a)")}),
        ("max(a, b)", {("min/max", "min(a, b)")}),
    ],
)
def test_each_operator_changes_only_its_own_expression(line: str, expected: set[tuple[str, str]]) -> None:
    """Each operator changes only the text of its own expression."""
    for_value = {(operator, f"value = {new}") for operator, new in expected}
    assert found(f"def g():\n    value = {line}\n") == for_value


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return a", {("return value", "return None")}),
        ("return", {("removed statement", "pass")}),
        ("f(a)", {("removed statement", "pass")}),
        ("a.b = c", {("removed statement", "pass")}),
        ("del a.b", {("removed statement", "pass")}),
        ("raise ValueError", {("removed statement", "pass")}),
        ("raise AssertionError", set()),
        ("while a: break", {("opposite", "while (not a): break"), ("break/continue", "while a: continue")}),
        ("if a: pass", {("opposite", "if (not a): pass")}),
        (
            "a += b",
            {("arithmetic", "a -= b"), ("assignment instead", "a = b"), ("removed statement", "pass")},
        ),
    ],
)
def test_statements_are_removed_conditions_inverted_and_values_dropped(
    line: str, expected: set[tuple[str, str]]
) -> None:
    """Statements are removed, conditions inverted, values dropped."""
    assert found(f"def g():\n    {line}\n") == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Documentation."""',
        "def f(a: 'int | None' = None) -> 'str':\n    '''Documentation.'''",
        "Alias = A | B",
        "if TYPE_CHECKING:\n    x = 1",
        "def f():\n    a = f'{b + 1} text'",
        "def f():\n    assert a == 1",
        "__slots__ = ('a', 'b')",
        "T = TypeVar('T')",
        "from a import b",
        "@decorated(1)\nclass A(B[1]): pass",
    ],
)
def test_annotations_documentation_and_assertions_have_no_mutants(source: str) -> None:
    """Annotations, type aliases, documentation, f-strings and assertions have no mutants."""
    assert found(source) == set()


def test_a_mutant_has_the_scope_and_function_of_its_code() -> None:
    """A mutant has its function; that of a default value is the surrounding function."""
    source = (
        b"class A:\n    LIMIT = 1\n    def f(self, a=2):\n        def g(b=3):\n            return 4\n        return g\n"
    )
    places = {each.old: (each.scope, each.function) for each in mutants("f.py", source) if each.operator == "constant"}
    assert places == {"1": ("A", ""), "2": ("A.f", ""), "3": ("A.f.g", "A.f"), "4": ("A.f.g", "A.f")}


def test_equal_mutants_of_a_scope_have_different_keys() -> None:
    """Equal mutants of a scope are numbered and have different keys."""
    first, second = mutants("f.py", b"def f():\n    g(1)\n    h(1)\n")[1::2]
    assert (first.old, first.number, second.old, second.number) == ("1", 0, "1", 1)
    assert first.key != second.key


def test_each_file_with_one_mutant_compiles() -> None:
    """Each file with one mutant compiles, and the key does not depend on the lines before it."""
    for name in ("emulator/pull/pull_request_hold.py", "remoting/wire/frame.py", "grpc_v2/convert/receipt_handle.py"):
        source = (ROOT / name).read_bytes()
        all_of_them = mutants(name, source)
        assert len(all_of_them) > 20
        for each in all_of_them:
            compile(each.applied(source), name, "exec")
        later = mutants(name, b"# one more line\n" + source)
        assert [each.key for each in later] == [each.key for each in all_of_them]
        assert later[0].line == all_of_them[0].line + 1


# Choice of mutants and tests.


def some(file: str, number: int) -> list[Mutant]:
    """Return mutants of one operator."""
    return [
        Mutant(file, at, at, at + 1, operator="constant", old="1", new="2", scope=f"f{at}", function="f")
        for at in range(number)
    ]


def test_a_seed_determines_the_sample() -> None:
    """A seed determines the sample, which has mutants of all rooms in turn, and all mutants of a small room."""
    rooms = {"a": some("a.py", 50), "b": some("b.py", 50), "c": some("c.py", 2)}
    chosen = sample(rooms, 20, 7)
    assert chosen == sample(rooms, 20, 7)
    assert chosen != sample(rooms, 20, 8)
    assert [sum(each.file == f"{room}.py" for each in chosen) for room in "abc"] == [9, 9, 2]
    assert len(sample(rooms, 1000, 7)) == 102


def test_a_file_belongs_to_the_room_that_lists_it_or_its_folder(tmp_path: Path) -> None:
    """A file belongs to the room that lists it, else to that of its folder; an unknown place is rejected."""
    for name in ("emulator/a.py", "emulator/b.py", "emulator/c/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    rooms = Rooms({"one": ["emulator/a.py"], "two": ["emulator"], "three": ["emulator/c"]})
    assert [rooms.of(file) for file in rooms.files(tmp_path)] == ["one", "two", "three"]
    assert rooms.files(tmp_path, ["three", "emulator/b.py"]) == ["emulator/b.py", "emulator/c/d.py"]
    assert rooms.of("fixtures/a.py") is None
    with pytest.raises(ValueError, match="emulater is no room and no file of one; the rooms are one, two, three"):
        rooms.files(tmp_path, ["emulater"])


def test_every_file_of_engine_and_protocols_has_a_room() -> None:
    """Every file of engine and protocols has a room, and every room has a file."""
    rooms = Rooms.read(DATA / "rooms.toml")
    files = rooms.files(ROOT)
    assert {file.split("/")[0] for file in files} == {"emulator", "remoting", "grpc_v2"}
    assert {rooms.of(file) for file in files} == set(rooms.names)


def test_tests_are_chosen_by_the_functions_that_they_call(tmp_path: Path) -> None:
    """Tests that call the function of a mutant are chosen: first those named like its file, then one case of each test.

    All other tests are chosen only for code that runs when its module is imported.
    """
    for name in ("tests/test_log.py", "tests/test_other.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    names = ["tests/test_log.py::a[1]", "tests/test_log.py::a[2]", "tests/test_other.py::b", "tests/test_other.py::c"]
    functions = [["emulator/log.py:f"], ["emulator/log.py:f.<locals>.g"], ["emulator/log.py:f"], ["emulator/x.py:g"]]
    tests = CallMap(tmp_path, tmp_path / "map.json", ["tests"])
    assert tests.missing == ["tests/test_log.py", "tests/test_other.py"]
    found = {name: (0.1 * at, called) for at, (name, called) in enumerate(zip(names, functions, strict=True), 1)}
    tests.add(found, tests.missing)
    tests = CallMap(tmp_path, tmp_path / "map.json", ["tests"])
    assert tests.missing == []
    called = Mutant("emulator/log.py", 1, 0, 1, operator="constant", old="1", new="2", scope="f", function="f")
    imported = Mutant("emulator/log.py", 1, 0, 1, operator="constant", old="1", new="2", scope="", function="")
    nobody = Mutant("emulator/log.py", 1, 0, 1, operator="constant", old="1", new="2", scope="h", function="h")
    assert tests.of(called) == [names[0], names[1], names[2]]
    assert tests.of(imported) == names
    assert tests.of(nobody) == names
    assert [tests.is_called(each) for each in (called, imported, nobody)] == [True, False, False]
    assert tests.within(names, 0.35) == names[:2]
    assert tests.within(names[3:], 0.1) == names[3:]
    (tmp_path / names[3].partition("::")[0]).write_text("# changed")
    assert CallMap(tmp_path, tmp_path / "map.json", ["tests"]).missing == ["tests/test_other.py"]


# Trials.


def act(action: Any) -> MutantVerdict:
    """Return the verdict on an action in a fork."""
    return judged(action, 0.0, Path("/dev/null"))


def test_a_fork_reports_the_failed_test_import_crash_or_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork of the process reports the failed test, a success, a failed import, a crash, or a timeout."""
    monkeypatch.setattr(forked, "SECONDS_FREE", 1.0)

    def broken() -> str | None:
        raise ImportError("a mutant in a constant")

    def dies() -> str | None:
        os._exit(1)

    def endless() -> str | None:
        while True:
            pass

    assert act(lambda: None).fate is Fate.SURVIVED
    assert (act(lambda: "tests/a.py::b").fate, act(lambda: "tests/a.py::b").by) == (Fate.KILLED, "tests/a.py::b")
    assert [act(action).by for action in (broken, dies, endless)] == ["import", "crash", "time"]


SOURCE = """
def factory(step):
    def nested(a):
        return a + step
    return nested

class A:
    def method(self, a):
        return super().__hash__() * 0 + a + 1

    @property
    def size(self):
        return 1

    def items(self, *, last=3):
        for number in range(1, last):
            yield number
"""


def imported(path: Path) -> dict[str, Any]:
    """Return the names of a module with the text of SOURCE."""
    space: dict[str, Any] = {"__name__": "mutated"}
    exec(compile(SOURCE, str(path), "exec"), space)
    return space


def test_existing_functions_get_the_code_of_a_mutant(tmp_path: Path) -> None:
    """Existing methods, properties, generators and nested functions get the code of a mutant."""
    path = tmp_path / "module.py"
    space = imported(path)
    one, made = space["A"](), space["factory"](1)
    alive = patch.functions()[str(path)]
    for old, new in (
        (b"a + 1", b"a - 1"),
        (b"return 1", b"return 2"),
        (b"range(1,", b"range(2,"),
        (b"a + step", b"a - step"),
    ):
        assert patch.replace(alive, str(path), SOURCE.encode(), SOURCE.encode().replace(old, new)) >= 1
        assert patch.replace(alive, str(path), SOURCE.encode(), SOURCE.encode()) == 0
    assert (one.method(5), one.size, list(one.items()), list(one.items(last=4))) == (4, 2, [2], [2, 3])
    assert (made(5), space["factory"](1)(5)) == (4, 4)


def test_a_probe_records_the_first_call_and_is_removed(tmp_path: Path) -> None:
    """A probe records the first call of a function and is removed, so that the function works as before."""
    path = tmp_path / "module.py"
    space = imported(path)
    noted: list[str] = []
    functions = [each for each in patch.functions()[str(path)] if isinstance(each, FunctionType)]
    probes = [
        reached.Probe(each, each.__code__.co_qualname, lambda probe: noted.append(probe.place)) for each in functions
    ]
    for _ in range(2):
        for probe in probes:
            probe.set()
        one, made = space["A"](), space["factory"](1)
        for _ in range(2):
            assert (one.method(5), one.size, list(one.items()), list(one.items(last=4))) == (6, 1, [1, 2], [1, 2, 3])
            assert made(5) == 6
    assert sorted(noted) == sorted(2 * ["factory", "A.method", "A.size", "A.items"])


def test_the_scratch_copy_has_tracked_and_new_files_and_no_ignored_ones(tmp_path: Path) -> None:
    root, copy = tmp_path / "root", tmp_path / "copy"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for name, text in ((".gitignore", "*.log\n"), ("kept.py", "1"), ("b/new.py", "2"), ("some.log", "3")):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    tree.copy(root, copy)
    assert sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()) == [
        ".gitignore",
        "b/new.py",
        "kept.py",
    ]


# Counts.


def test_the_last_stored_verdict_of_a_mutant_counts(tmp_path: Path) -> None:
    """Each verdict is stored at once; the last one of a mutant counts, also if another process stored it."""
    first, second = some("a.py", 2)
    results = Results(tmp_path / "results.jsonl")
    results.add(first, MutantVerdict(Fate.SURVIVED, "", 1.5))
    Results(tmp_path / "results.jsonl").add(first, MutantVerdict(Fate.KILLED, "tests/a.py::b", 0.5))
    assert results.of(first) == MutantVerdict(Fate.SURVIVED, "", 1.5)
    results.read()
    assert (results.of(first), results.of(second)) == (MutantVerdict(Fate.KILLED, "tests/a.py::b", 0.5), None)


def report(killed: int, survived: int, equivalent: int) -> record.Report:
    """Return a report of one room."""
    made = record.Report()
    for number, mutant in enumerate(some("a.py", killed + survived + equivalent)):
        fate = Fate.KILLED if number < killed else Fate.SURVIVED
        made.add("a", mutant, MutantVerdict(fate), "why" if number >= killed + survived else None)
    return made


FORM = report(285, 15, 10).form("2026-11-26", "a" * 40, 1)


def test_equivalent_mutants_do_not_count() -> None:
    """The score is the share of killed mutants among those that are not equivalent."""
    assert (FORM["mutants"], FORM["score"], FORM["rooms"]["a"]["score"]) == (310, 95.0, 95.0)
    assert (len(FORM["survived"]), len(FORM["equivalent"])) == (15, 10)
    assert record.problems(json.loads(json.dumps(FORM)), ["a"]) == []


@pytest.mark.parametrize(
    ("change", "error_text"),
    [
        ({"commit": "main"}, "commit=main"),
        ({"date": "today"}, "date=today"),
        ({"mutants": 299}, "mutants=299: the rooms have 310"),
        ({"survived": []}, "survived: 0 are listed"),
        (report(284, 16, 10).form("2026-11-26", "a" * 40, 1), "room a: its score is 94.7"),
        (report(200, 0, 0).form("2026-11-26", "a" * 40, 1), "mutants=200: the rooms have 200; at least 300"),
        ({"rooms": {"a": {"killed": 310, "survived": 0, "equivalent": 0, "score": 99.0}}}, "a score of 99.0 is stated"),
        ({"rooms": {}}, "room a: not in the record"),
    ],
)
def test_an_invalid_record_is_refused_with_a_sentence_for_each_error(change: dict[str, Any], error_text: str) -> None:
    assert any(error_text in problem for problem in record.problems({**FORM, **change}, ["a"]))


ENTRY = '[[equivalent]]\nfile = "a.py"\nscope = "f0"\nold = "1"\nnew = "2"\n'


def test_entries_match_mutants_by_file_scope_and_texts(tmp_path: Path) -> None:
    """Entries of equivalent.toml match mutants by file, scope and texts; entries without a mutant are stale."""
    file = tmp_path / "equivalent.toml"
    file.write_text(f'{ENTRY}reason = "nobody reads it"\n{ENTRY}number = 1\nreason = "nor that"\n')
    entries = named.read(file, "equivalent", "reason")
    first, other = some("a.py", 2)
    alike = replace(first, line=9, number=1)
    assert [named.said(each, entries) for each in (first, other, alike)] == ["nobody reads it", None, "nor that"]
    assert named.stale(entries, [first]) == entries[1:]
    assert named.stale(entries, some("b.py", 2)) == entries


@pytest.mark.parametrize("rest", ["", 'reason = " "\n', 'reason = "x"\nmore = 1\n'])
def test_an_entry_with_an_empty_text_or_further_fields_is_refused(tmp_path: Path, rest: str) -> None:
    file = tmp_path / "equivalent.toml"
    file.write_text(ENTRY + rest)
    with pytest.raises(named.NamedError, match=r"equivalent\.toml: entry 1 has "):
        named.read(file, "equivalent", "reason")


# The record and the fixed sample.


def test_the_record_has_300_mutants_and_95_percent_in_every_room() -> None:
    """The record has at least 300 mutants, and a score of 95 % in every room. `make mutants` writes it."""
    form = json.loads((DATA / "record.json").read_text())
    assert record.problems(form, Rooms.read(DATA / "rooms.toml").names) == []
    reasons = named.read(DATA / "equivalent.toml", "equivalent", "reason")
    assert all(any(each.endswith(f": {entry.says}") for entry in reasons) for each in form["equivalent"])


def test_each_mutant_of_the_fixed_sample_is_killed_by_its_own_test() -> None:
    """Each mutant of the fixed sample is killed by its own test, without a change of any file."""
    before = changes()
    command = [sys.executable, "scripts/mutants.py", "--sample"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SAMPLE_SECONDS_MAX, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = named.read(DATA / "sample.toml", "mutant", "test")
    assert f"{len(listed)} of {len(listed)} mutants of the sample exist, 0 survived" in done.stdout
    assert changes() == before


def changes() -> str:
    """Return git's status of the folders with code; other tests may write into other folders meanwhile."""
    status = ["git", "status", "--porcelain", "--", "emulator", "remoting", "grpc_v2", "fixtures", "scripts"]
    return subprocess.run(status, cwd=ROOT, capture_output=True, text=True, check=True).stdout
