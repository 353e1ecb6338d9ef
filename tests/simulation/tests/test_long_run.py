"""A run of short schedules that is stopped, continued and added to the record."""

import os
import signal
from pathlib import Path

import pytest
import short_schedules
from long_run import LongRun, continue_run, merge
from schedule_record import FIRST, FIRST_WHOLE, Run, read


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "record.json").write_text('{"short": 0, "whole": 0, "operations": 0, "runs": []}')
    (tmp_path / "found.txt").write_text("# none\n")
    monkeypatch.setattr("long_run.RECORD", tmp_path / "record.json")
    monkeypatch.setattr(short_schedules, "FOUND", tmp_path / "found.txt")
    monkeypatch.setattr(short_schedules, "commit", lambda: "4b0f52e9")


def test_a_run_that_was_stopped_continues_after_its_last_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def failure(number: int) -> str:
        ran.append(number)
        if len(ran) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return "Violation: it" if number == FIRST + 1 else ""

    monkeypatch.setattr(short_schedules, "failure", failure)
    assert continue_run(tmp_path / "run.json", 5).count == 3
    continue_run(tmp_path / "run.json", 5)

    assert ran == list(range(FIRST, FIRST + 5))
    run = LongRun.load(tmp_path / "run.json")
    assert (run.first, run.count, run.failed) == (FIRST, 5, {FIRST + 1: "Violation: it"})


def test_the_results_of_a_run_are_added_to_the_record(tmp_path: Path) -> None:
    LongRun("4b0f52e9", FIRST, 40, {FIRST + 7: "Violation: it"}).save(tmp_path / "run.json")
    assert merge(tmp_path / "run.json", tmp_path / "record.json") == 40

    [run] = read(tmp_path / "record.json")
    assert run == Run(run.date, "4b0f52e9", FIRST, 40, failed=[FIRST + 7])
    assert short_schedules.found() == [FIRST + 7]


def test_a_run_executes_its_schedules(tmp_path: Path) -> None:
    run = continue_run(tmp_path / "run.json", 20, every_s=0)
    assert (run.count, run.failed) == (20, {})


def test_a_run_of_whole_schedules_executes_them(tmp_path: Path) -> None:
    run = continue_run(tmp_path / "run.json", 20, kind="whole")
    assert (run.first, run.count, run.failed) == (FIRST_WHOLE, 20, {})
