"""The record of short schedules that ran, and the command that extends it."""

from dataclasses import replace
from pathlib import Path

import pytest
import short_schedules
from schedule_record import FIRST, FIRST_OPERATIONS, FIRST_WHOLE, RECORD, Run, add, next_number, problems, read, totals
from short_schedules import LENGTH, found, main, schedule
from simulation import ACTIONS

RUN = Run("2026-11-27", "4b0f52e9", FIRST, 100, failed=[FIRST + 7])


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "record.json"
    path.write_text('{"short": 0, "whole": 0, "operations": 0, "runs": []}')
    return path


def test_the_record_has_runs_without_overlap_and_their_sum() -> None:
    """The runs of `record.json` do not overlap, and `found_schedules.txt` has each schedule that failed."""
    runs = read(RECORD)
    assert runs
    assert {number for run in runs for number in run.failed} <= set(found())


def test_a_run_is_added_after_the_others(record: Path) -> None:
    assert next_number(record) == FIRST
    assert add(RUN, record) == 100
    assert next_number(record) == FIRST + 100
    assert add(replace(RUN, first=FIRST + 100, failed=[]), record) == 200
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
        replace(RUN, first=FIRST_WHOLE - 50, failed=[]),
    ],
)
def test_a_run_that_contradicts_itself_is_rejected(record: Path, wrong: Run) -> None:
    assert len(problems([wrong])) == 1
    with pytest.raises(ValueError, match=f"{wrong.first}|failed"):
        add(wrong, record)
    assert read(record) == []


def test_a_run_that_has_numbers_of_another_is_rejected(record: Path) -> None:
    add(RUN, record)
    with pytest.raises(ValueError, match="the run from 1000000 to 1000099 has this number"):
        add(replace(RUN, first=FIRST + 99, failed=[]), record)


def test_a_record_with_a_wrong_sum_is_rejected(record: Path) -> None:
    add(RUN, record)
    record.write_text(record.read_text().replace('"short": 100', '"short": 101'))
    with pytest.raises(ValueError, match="short=101: the runs have 100"):
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


def test_whole_schedules_have_numbers_and_a_sum_of_their_own(record: Path) -> None:
    add(RUN, record)
    assert next_number(record, "whole") == FIRST_WHOLE
    assert add(replace(RUN, first=FIRST_WHOLE, count=40, failed=[]), record) == 40
    assert next_number(record, "whole") == FIRST_WHOLE + 40
    assert next_number(record) == FIRST + 100
    assert totals(read(record)) == {"short": 100, "whole": 40, "operations": 0}


def test_schedules_of_all_operations_have_numbers_and_a_sum_of_their_own(record: Path) -> None:
    """The numbers of the others, whose programs stay as they are, continue without them."""
    first = next_number(record, "operations")
    assert add(replace(RUN, first=first, count=40, failed=[]), record) == 40
    assert next_number(record, "operations") == first + 40
    assert next_number(record, "whole") == FIRST_WHOLE
    assert totals(read(record)) == {"short": 0, "whole": 0, "operations": 40}
    assert {schedule(number)[0].name for number in (FIRST_OPERATIONS, first)} == {"all operations"}
    assert schedule(FIRST_OPERATIONS - 1)[0].name != "all operations"
    [wrong] = problems([replace(RUN, first=FIRST_OPERATIONS - 20, count=40, failed=[])])
    assert wrong.endswith("a run has schedules of one kind")


def test_the_number_of_a_schedule_determines_its_length() -> None:
    assert len(schedule(FIRST)[2]) == LENGTH
    assert len(schedule(FIRST_WHOLE)[2]) == ACTIONS
