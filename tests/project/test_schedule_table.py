"""The recorded schedules of the simulation: the pages that state their numbers agree with the record."""

import json
import re
from pathlib import Path

import pytest
import schedule_record
import schedule_table
from schedule_table import HEAD, Row, rows, summary, table, with_summary

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
MIN = {"whole": 101_219, "operations": 7_608}
"""The numbers of schedules of full length and of all operations up to 2026-11-28. The record may not lose any."""
RUN = {"date": "2026-11-27", "commit": "4b0f52e9", "first": 1_000_000, "count": 100, "failed": [1_000_007]}
NEVER = "0" * 8
"""A commit that does not exist."""


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A record with three runs of one commit, and one run of a commit that Git does not know."""
    runs = [
        RUN,
        {**RUN, "date": "2026-11-28", "first": schedule_record.FIRST_WHOLE, "count": 1_200, "failed": []},
        {**RUN, "commit": NEVER, "first": 1_000_100, "failed": []},
        {**RUN, "date": "2026-11-28", "first": schedule_record.FIRST_OPERATIONS, "count": 30, "failed": []},
    ]
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"short": 200, "whole": 1_200, "operations": 30, "runs": runs}))
    return path


def test_the_pages_state_the_numbers_of_the_record() -> None:
    """`make pages` changes neither the table of CONTRIBUTING.md nor the numbers of CHANGELOG.md."""
    assert "\n".join(table(CONTRIBUTING)) in CONTRIBUTING
    assert with_summary(CHANGELOG, summary()) == CHANGELOG


def test_the_rows_of_the_page_have_the_sums_of_the_record() -> None:
    totals = schedule_record.totals(schedule_record.read(schedule_record.RECORD))
    _, _, lines = CONTRIBUTING.partition(HEAD)
    cells = [line.strip("| ").split(" | ") for line in lines.partition("\n\n")[0].splitlines()[2:]]

    assert [sum(int(row[column].replace(",", "")) for row in cells) for column in (3, 4, 5)] == [
        totals["whole"],
        totals["operations"],
        totals["short"],
    ]


@pytest.mark.parametrize(("kind", "least"), MIN.items())
def test_no_recorded_schedule_was_lost(kind: str, least: int) -> None:
    assert schedule_record.totals(schedule_record.read(schedule_record.RECORD))[kind] >= least


def test_each_recorded_run_names_the_code_that_it_ran() -> None:
    """Each commit is in one row, with the id of `emulator/`; if this repository has the commit, that is its id."""
    found = {commit: row.code for row in rows(CONTRIBUTING) for commit in row.commits}

    assert set(found) == {run.commit for run in schedule_record.read(schedule_record.RECORD)}
    assert all(re.fullmatch("[0-9a-f]{8}", code) for code in found.values())
    assert {commit: code for commit in found if (code := schedule_table.code_at(commit))}.items() <= found.items()


def test_runs_of_the_same_code_are_one_row(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that Git does not know keeps the id that the page has."""
    monkeypatch.setattr(schedule_table, "code_at", lambda commit: "" if commit == NEVER else "dc7c40cf")
    row = f"| `430e4de3` | a1b2c3d4, {NEVER} | 2026-11-27 | 0 | 0 | 0 | 0 |"
    page = f"{HEAD}\n|---|---|---|---:|---:|---:|---:|\n{row}\n\nText.\n"

    assert rows(page, record) == [
        Row(
            "dc7c40cf",
            ["4b0f52e9"],
            ["2026-11-27", *["2026-11-28"] * 2],
            whole=1_200,
            operations=30,
            short=100,
            failed=1,
        ),
        Row("430e4de3", [NEVER], ["2026-11-27"], whole=0, operations=0, short=100, failed=0),
    ]
    assert rows(page, record)[0].line() == "| `dc7c40cf` | 4b0f52e9 | 2026-11-27 to 2026-11-28 | 1,200 | 30 | 100 | 1 |"


def test_the_code_of_a_commit_is_the_id_of_its_folder() -> None:
    head = schedule_table.code_at("HEAD")
    assert re.fullmatch("[0-9a-f]{8}", head)
    assert schedule_table.code_at(NEVER) == ""


def test_the_summary_states_numbers_dates_and_failures(record: Path) -> None:
    assert summary(record) == (
        "  1,200 schedules of full length, 30 of all operations and 200 short ones ran by 2026-11-28; 1 failed."
    )


def test_a_page_without_the_line_of_the_summary_is_rejected() -> None:
    line = "  7 schedules of full length, 9 of all operations and 8 short ones ran by 2026-11-27; none failed."
    assert with_summary(f"Text:\n{line}\n", "  8 of them.") == "Text:\n  8 of them.\n"
    with pytest.raises(ValueError, match="the page has 0 lines like"):
        with_summary("Text.\n", line)


def test_the_schedules_of_a_kind_begin_at_the_number_of_the_simulation() -> None:
    assert schedule_table.FIRST_WHOLE == schedule_record.FIRST_WHOLE
    assert schedule_table.FIRST_OPERATIONS == schedule_record.FIRST_OPERATIONS
