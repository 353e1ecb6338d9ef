"""A bug that the emulator reports during a test fails the test, and one that it reports between tests the run."""

import sys
from pathlib import Path

import pytest
import stages
from bug_reports import take
from bug_suite import failed_teardowns, run_suite
from rocketmq_testkit.emulator.kernel import bug_reports as bugs
from stage_runs import StageResult

ROOT = Path(__file__).parents[2]
SUITE = """
import subprocess
import sys
import pytest
from rocketmq_testkit.emulator.kernel import bug_reports as bugs

def test_usual(): pass
def test_reports(): bugs.note("one\\nline of a traceback")
def test_starts_a_process_that_reports():
    code = "from rocketmq_testkit.emulator.kernel import bug_reports as bugs; bugs.note('in another process')"
    subprocess.run([sys.executable, "-c", code], check=True)
@pytest.mark.provokes_bugs
def test_provokes(): bugs.note("wanted")
@pytest.mark.provokes_bugs
def test_provokes_nothing(): pass
"""
LATE = """
from rocketmq_testkit.emulator.kernel import bug_reports as bugs

def pytest_runtest_logfinish(nodeid, location):
    bugs.note("too late")
"""


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n", "2")])
def test_a_test_during_which_a_bug_was_reported_fails(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A test during which a bug was reported fails, also with workers and child processes.

    A test with the marker `provokes_bugs` fails if no bug was reported.
    """
    done = run_suite(tmp_path, SUITE, *words)
    assert failed_teardowns(done.stdout) == {
        "test_reports",
        "test_starts_a_process_that_reports",
        "test_provokes_nothing",
    }
    assert "line of a traceback" in done.stdout
    assert "in another process" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n", "2")])
def test_a_bug_report_between_tests_fails_the_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A bug report between tests fails the run, such as one of a session's emulator after the last test."""
    suite = "def test_usual(): pass\n"
    assert run_suite(tmp_path, suite, *words).returncode == 0
    (tmp_path / "late.py").write_text(LATE)
    done = run_suite(tmp_path, suite, "-p", "late", *words)
    assert "too late" in done.stdout
    assert done.returncode == 1


def test_each_bug_report_is_taken_once_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "reports"
    monkeypatch.setenv(bugs.REPORTS_FILE, str(path))
    bugs.note("first\nsecond line\n")
    bugs.note("half of a pair: \ud800")
    assert take(path) == ["first\nsecond line\n", "half of a pair: ?\n"]
    assert take(path) == []


def test_a_conformance_run_during_which_a_bug_was_reported_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A conformance run during which a bug was reported fails, even if every case has the recorded outcome."""
    monkeypatch.setattr(stages, "REPORTS", tmp_path)
    monkeypatch.setattr(stages, "BUGS", tmp_path / "bugs.txt")
    assert stages.conclude([StageResult("conformance", "", 1.0)], 1.0) == 0
    code = "from rocketmq_testkit.emulator.kernel import bug_reports as bugs; bugs.note('an IndexError')"
    stages.call(sys.executable, "-c", code)
    assert stages.conclude([StageResult("conformance", "", 1.0)], 1.0) == 1
    assert "an IndexError" in capsys.readouterr().out
