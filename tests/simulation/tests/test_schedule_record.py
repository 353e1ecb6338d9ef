"""The record of short schedules that ran, and the command that extends it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import short_schedules
from schedule_record import FIRST, RECORD, Run, add, next_number, problems, read
from short_schedules import LENGTH, found, main

RUN = Run("2026-11-27", "4b0f52e9", FIRST, 100, [FIRST + 7])


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "record.json"
    path.write_text('{"length": 20, "schedules": 0, "runs": []}')
    return path


def test_the_record_has_runs_without_overlap_and_their_sum() -> None:
    """The runs of `record.json` do not overlap, and `found_schedules.txt` has each schedule that failed."""
    runs = read(RECORD)
    assert runs
    assert json.loads(RECORD.read_text())["length"] == LENGTH
    assert {number for run in runs for number in run.failed} <= set(found())


def test_a_run_is_added_after_the_others(record: Path) -> None:
    assert next_number(record) == FIRST
    assert add(RUN, LENGTH, record) == 100
    assert next_number(record) == FIRST + 100
    assert add(replace(RUN, first=FIRST + 100, failed=[]), LENGTH, record) == 200
    assert [run.first for run in read(record)] == [FIRST, FIRST + 100]


@pytest.mark.parametrize(
    "wrong",
    [
        replace(RUN, count=0, failed=[]),
        replace(RUN, first=FIRST - 1, failed=[]),
        replace(RUN, commit="main"),
        replace(RUN, date="27.11.2026"),
        replace(RUN, failed=[FIRST + 100]),
        replace(RUN, first=FIRST - 50, failed=[]),
    ],
)
def test_a_run_that_contradicts_itself_is_rejected(record: Path, wrong: Run) -> None:
    assert len(problems([wrong])) == 1
    with pytest.raises(ValueError, match=f"{wrong.first}|failed"):
        add(wrong, LENGTH, record)
    assert read(record) == []


def test_a_run_that_has_numbers_of_another_is_rejected(record: Path) -> None:
    add(RUN, LENGTH, record)
    with pytest.raises(ValueError, match="the run from 1000000 to 1000099 has this number"):
        add(replace(RUN, first=FIRST + 99, failed=[]), LENGTH, record)


def test_a_record_with_a_wrong_sum_is_rejected(record: Path) -> None:
    add(RUN, LENGTH, record)
    record.write_text(record.read_text().replace('"schedules": 100', '"schedules": 101'))
    with pytest.raises(ValueError, match="schedules=101: the runs have 100"):
        read(record)


def test_the_runner_adds_the_next_numbers_to_the_record(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(short_schedules, "RECORD", record)
    monkeypatch.setattr(short_schedules, "failure", lambda number: "")
    assert main(["next", "20"]) == 0
    assert capsys.readouterr().out.endswith("20 recorded schedules\n")
    [run] = read(record)
    assert (run.first, run.count, run.failed) == (FIRST, 20, [])
