"""The end of a run of stages: its closing lines and its exit code."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import stages
from stage_runs import Stage, StageResult, run

PASSED = '<testsuites><testsuite><testcase classname="a" name="test_one" time="1"/>{more}</testsuite></testsuites>'
SKIP = '<testcase classname="c" name="test_java"><skipped type="pytest.skip" message="no java"/></testcase>'
FAILURE = '<testcase classname="c" name="test_bad"><failure message="boom"/></testcase>'
WELL = StageResult("tests", "", 1.0)


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for reports."""
    monkeypatch.setattr(stages, "REPORTS", tmp_path)
    monkeypatch.setattr(stages, "CASES", tmp_path / "cases.json")
    monkeypatch.setattr(stages, "SAMPLE", tmp_path / "scenarios.json")
    monkeypatch.setattr(stages, "MATRIX", tmp_path / "matrix.json")
    return tmp_path


def junit(folder: Path, *more: str, name: str = "tests") -> None:
    """Write a report with a passed test and `more`."""
    (folder / f"{name}.xml").write_text(PASSED.format(more="".join(more)))


def test_a_good_run_exits_with_0_and_prints_tests_and_time(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A good run has exit code 0, and its last line has the number of tests of all reports and the time of the run."""
    junit(reports)
    junit(reports, name="alone")

    assert stages.conclude([WELL], 12.5) == 0
    assert capsys.readouterr().out.splitlines()[-1].strip("= ") == "2 passed in 12.50s"


@pytest.mark.parametrize(
    ("more", "line"), [(SKIP, "UNEXPECTED SKIP c::test_java: no java"), (FAILURE, "FAILED c::test_bad")]
)
def test_an_unexpected_skip_fails_the_run_like_a_failed_test(
    reports: Path, capsys: pytest.CaptureFixture[str], more: str, line: str
) -> None:
    """An unexpected skip fails the run and is named, like a failed test, even if every stage succeeded."""
    junit(reports, more)

    assert stages.conclude([WELL], 1) == 1
    assert line in capsys.readouterr().out.splitlines()


def test_a_failed_stage_fails_the_run_although_its_tests_passed(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failed stage fails the run although its tests passed; its problem is shown with its time."""
    junit(reports)

    assert stages.conclude([WELL, StageResult("types", "mypy ended with code 1", 3.0)], 4) == 1
    assert "types             3.0 s of    0      0.0 s  mypy ended with code 1" in capsys.readouterr().out


def test_a_run_without_reports_succeeds_and_an_empty_report_fails_it(reports: Path) -> None:
    """A run without reports, such as one of the stage lint, can succeed; a report without a passed test fails it."""
    assert stages.conclude([StageResult("lint", "", 1.0)], 1) == 0
    (reports / "tests.xml").write_text("<testsuites/>")
    assert stages.conclude([WELL], 1) == 1


def test_tests_that_leave_no_report_fail_their_stage(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that leave no report fail their stage, even if pytest exits with 0."""
    runner = tmp_path / "pytest"
    runner.write_text("#!/bin/sh\nexit 0\n")
    runner.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    [result] = run([Stage("tests", "", lambda: stages.pytest("tests", workers="0"))])

    assert result.problem == "tests has written no report; its tests are unknown"
    assert stages.conclude([result], 1) == 1


def test_the_budgets_of_all_stages_fit_into_the_run() -> None:
    """Every stage has a budget, the stages take 40 minutes at most, and the reserved time fits as well."""
    used = sum(stage.seconds for stage in stages.STAGES)

    assert all(stage.seconds > 0 for stage in (*stages.STAGES, *stages.ON_REQUEST))
    assert used <= 40 * 60
    assert used + sum(stages.RESERVED.values()) <= stages.RUN_SECONDS_MAX


def test_a_stage_over_its_budget_fails_the_run_only_on_the_build_server(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stage that exceeds its budget by more than the margin fails the run, but only on the build server.

    Quick stages have a margin in seconds. Other machines have unknown load.
    """
    junit(reports)
    slow, quick = StageResult("spark", "", 631.0, 300.0), StageResult("lint", "", 184.0, 5.0)

    assert stages.conclude([slow, quick], 240, stages.RUN_SECONDS_MAX) == 1
    printed = capsys.readouterr().out
    assert "spark           631.0 s of  300      0.0 s  TOO SLOW\n" in printed
    assert "lint            184.0 s of    5      0.0 s  ok\n" in printed
    assert stages.conclude([slow, quick], 240) == 0
    assert stages.conclude([StageResult("spark", "", 630.0, 300.0)], 240, stages.RUN_SECONDS_MAX) == 0


def test_set_up_stages_are_never_too_slow() -> None:
    """Stages of set-up have no budget, because a new machine builds drivers that others have in their cache."""
    [result] = run([Stage("drivers", "", lambda: None, 10.0, needed=True)])

    assert result.sets_up
    assert not replace(result, seconds=1000.0).too_slow


def test_the_result_of_a_stage_has_its_budget() -> None:
    [result] = run([Stage("one", "", lambda: None, 12.0)])

    assert result.allowed == 12.0
    assert not result.too_slow


def test_a_run_above_45_minutes_fails_on_the_build_server(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that takes more than 45 minutes fails on the build server; runs elsewhere have no limit."""
    junit(reports)

    assert stages.RUN_SECONDS_MAX == 2700
    assert stages.conclude([WELL], 2700, stages.RUN_SECONDS_MAX) == 0
    assert stages.conclude([WELL], 2701, stages.RUN_SECONDS_MAX) == 1
    assert "TOO SLOW: 2701 s, at most 2700 s" in capsys.readouterr().out
    assert stages.conclude([WELL], 2701) == 0


@pytest.mark.parametrize(
    ("names", "ci", "limit"), [([], "true", 2700), ([], None, None), (["one"], "true", None)], ids=str
)
def test_only_a_whole_run_on_the_build_server_has_a_limit(
    reports: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], ci: str | None, *, limit: float | None
) -> None:
    limits: list[float | None] = []

    def note(results: object, seconds: float, most: float | None = None) -> int:
        limits.append(most)
        return 0

    monkeypatch.setattr(stages, "STAGES", (Stage("one", "", lambda: None),))
    monkeypatch.setattr(stages, "conclude", note)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "")  # the run removes it
    if ci is None:
        monkeypatch.delenv("CI", raising=False)
    else:
        monkeypatch.setenv("CI", ci)
    assert stages.main(names) == 0
    assert limits == [limit]


def test_processes_of_a_run_may_write_bytecode(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a run may write bytecode even in containers that forbid it, so that the package is compiled once."""
    found: list[str | None] = []
    look = Stage("one", "", lambda: found.append(os.environ.get("PYTHONDONTWRITEBYTECODE")))
    monkeypatch.setattr(stages, "STAGES", (look,))
    monkeypatch.setattr(stages, "conclude", lambda *_: 0)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert stages.main([]) == 0
    assert found == [None]
