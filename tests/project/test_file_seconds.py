"""`make test-fast`: the recorded seconds of test files, and the files that it leaves out."""

from collections.abc import Iterable
from pathlib import Path

import file_seconds
import floors
import pytest
import stages
from file_seconds import (
    NEW_MAX,
    SECONDS_MAX,
    SUM_MAX,
    FileSecondsError,
    RecordedSeconds,
    files_of_tests,
    record_of,
    text_of,
)
from near_tests import TESTS, Tree
from selected_tests import ENGINE_AND_PROTOCOLS

UNTESTED = {
    "emulator/deviation.py",  # a declaration without a rule
}
"""Rooms without tests near them."""
CASE = '<testcase classname="{}" name="test_one" time="{}"/>'
SUITES = '<testsuites><testsuite timestamp="{}">{}</testsuite></testsuites>'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with three files of tests, of which one needs an idle machine."""
    for name, text in (
        ("emulator/test_a.py", ""),
        ("fixtures/test_b.py", ""),
        ("fixtures/test_c.py", "pytestmark = pytest.mark.alone"),
    ):
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def report(folder: Path, cases: Iterable[tuple[str, float]]) -> Path:
    """Write a JUnit file."""
    path = folder / "report.xml"
    path.write_text(SUITES.format("2026-01-31T23:59:58.123456", "".join(CASE.format(*each) for each in cases)))
    return path


# The record of this project.


def test_record_names_existing_files_only() -> None:
    """A file that was renamed or deleted leaves `tests/seconds.json`."""
    assert set(file_seconds.read().files) <= set(files_of_tests())


def test_files_of_make_test_fast_take_less_than_a_minute() -> None:
    """Their recorded seconds are below the limit, and few files have no record."""
    record = file_seconds.read()
    slow = record.left_out()
    assert sum(seconds for file, seconds in record.files.items() if file not in slow) < SUM_MAX
    new = set(files_of_tests()) - set(record.files)
    assert len(new) <= NEW_MAX, "run `make test`, then `python scripts/file_seconds.py .reports/tests.xml`"


def test_make_test_fast_runs_a_file_of_each_room() -> None:
    """Each room of engine and protocols keeps a file: in its folder of tests, or near its sources without a folder."""
    run = set(files_of_tests()) - set(file_seconds.read().left_out())
    tree = Tree()
    missing = set()
    for package in ("emulator", "remoting", "grpc_v2"):
        files = floors.sources(package)
        for room in floors.ROOMS[package]:
            of_room = [file for file in files if floors.room_of(file) == room and not file.endswith("__init__.py")]
            folder = f"{TESTS[package]}/{room}/"
            tests = {file for file in files_of_tests() if file.startswith(folder)}
            tests = tests or {test for file in of_room for layer in tree.near_source(file)[:2] for test in layer}
            if of_room and not tests & run:
                missing.add(f"{package}/{room}")
    assert missing == UNTESTED


def test_stage_leaves_out_slow_files_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The stage `fast` ignores files above the limit, runs the others of the folders, and prints the figures."""
    record = RecordedSeconds("2026-01-31", {"tests/emulator/test_a.py": SECONDS_MAX, "tests/fixtures/test_b.py": 9.0})
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(file_seconds, "read", lambda: record)
    monkeypatch.setattr(stages, "pytest", lambda *words: commands.append(words))
    stages.run_fast()
    assert [word for word in commands[0] if word.startswith("--ignore")] == ["--ignore=tests/fixtures/test_b.py"]
    assert commands[0][-len(ENGINE_AND_PROTOCOLS) :] == ENGINE_AND_PROTOCOLS
    assert "left out are 1 with more than" in capsys.readouterr().out


def test_room_of_slow_files_keeps_the_quickest_one() -> None:
    """A folder of engine or protocols is not without tests; a folder of the host may be."""
    slow = {"tests/emulator/gate/test_a.py": 9.0, "tests/emulator/gate/test_b.py": 8.0, "tests/fixtures/test_c.py": 7.0}
    left_out = RecordedSeconds("2026-01-31", {**slow, "tests/remoting/test_d.py": 6.0}).left_out()
    assert left_out == ["tests/emulator/gate/test_a.py", "tests/fixtures/test_c.py"]


# Recording.


def test_record_has_date_and_seconds_of_the_run(project: Path) -> None:
    """The seconds of a file are the sum of its tests, with those in classes; other folders are not recorded."""
    cases = [
        ("tests.emulator.test_a", 1.0),
        ("tests.emulator.test_a.TestMore", 2.5),
        ("tests.fixtures.test_b", 0.25),
        ("tests.project.test_d", 1.0),
    ]
    record = record_of([report(project, cases)], project)
    assert record == RecordedSeconds("2026-01-31", {"tests/emulator/test_a.py": 3.5, "tests/fixtures/test_b.py": 0.25})
    file = project / "seconds.json"
    file.write_text(text_of(record))
    assert file_seconds.read(file) == record


def test_only_a_whole_run_is_recorded(project: Path) -> None:
    """A report without tests of a file is refused."""
    with pytest.raises(FileSecondsError, match=r"^tests/fixtures/test_b\.py: no test ran"):
        record_of([report(project, [("tests.emulator.test_a", 1.0)])], project)


def test_wrong_command_line_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a report, or with an option, the script prints its description and exits with code 2."""
    assert file_seconds.main([]) == file_seconds.main(["--all"]) == 2
    assert "python scripts/file_seconds.py REPORT" in capsys.readouterr().err
