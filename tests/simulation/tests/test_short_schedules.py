"""Short random schedules of all simulations, each judged by its own model.

SCHEDULES=n runs n schedules (default 2000), FIRST_SCHEDULE=n begins with number n. `make simulate-short` runs more of
them without pytest. 200 schedules of all operations, which are whole, run in `test_all_operations.py`.
"""

import os
from pathlib import Path

import pytest
import short_schedules
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.snapshot.durable_state import EngineState
from short_schedules import FORKS, FOUND, LENGTH, TURNS, failure, fork_failure, found, main, report, schedule
from simulation import plan

BLOCK = 100
FIRST = int(os.environ.get("FIRST_SCHEDULE", "0"))
COUNT = int(os.environ.get("SCHEDULES", "2000"))
BLOCKS = [range(first, min(first + BLOCK, FIRST + COUNT)) for first in range(FIRST, FIRST + COUNT, BLOCK)]


@pytest.mark.parametrize("numbers", BLOCKS, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_no_model_finds_a_violation_in_any_short_schedule(numbers: range) -> None:
    reports = [text for number in numbers if (text := report(number))]

    assert not reports, "\n\n".join(reports)


@pytest.mark.parametrize("number", found())
def test_a_schedule_that_failed_once_passes(number: int) -> None:
    assert report(number) == ""


def test_a_schedule_is_the_beginning_of_a_seed() -> None:
    """The number of a schedule alone determines its program, set-up and actions."""
    for number in range(len(TURNS)):
        program, setup, actions = schedule(number)
        assert (setup, actions) == (program.plan(number)[0], program.plan(number)[1][:LENGTH])
        assert len(actions) == LENGTH


def test_a_fork_that_sees_what_its_parent_stores_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """If messages of the parent also reach the fork, the comparison with the copy reports a difference."""
    engines: list[Engine] = []

    def started(state: EngineState) -> Engine:
        engines.append(Engine(state=state))
        return engines[-1]

    def disturb(engine: Engine, number: int) -> None:
        short_schedules.send_to_others(engines[-1])

    monkeypatch.setattr(short_schedules, "Engine", started)
    setup, actions = plan(0)
    assert fork_failure(setup, actions[:LENGTH]) == ""
    monkeypatch.setattr(short_schedules, "disturb", disturb)
    assert fork_failure(setup, actions[:LENGTH]).startswith("Violation: ")


def test_the_found_schedules_of_forks_fail_while_the_session_listens_to_the_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`found_schedules.txt` states this cause for these schedules."""
    lines = [line.split("  # ") for line in FOUND.read_text(encoding="utf-8").splitlines() if line[0].isdigit()]
    recorded = {int(number): error for number, error in lines if error.endswith(" cannot be read")}
    monkeypatch.setattr(short_schedules, "stop_listening", lambda parent: None)

    assert len(recorded) == 60
    assert {TURNS[number % len(TURNS)] for number in recorded} == {FORKS}
    failures = {number: failure(number) for number in recorded}
    assert {number: error for number, error in failures.items() if "cannot be read" not in error} == {}


def test_the_runner_prints_its_figures_and_keeps_the_schedules_that_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "found.txt"
    kept.write_text("# none\n")
    monkeypatch.setattr(short_schedules, "FOUND", kept)
    assert main(["40", "20"]) == 0
    assert capsys.readouterr().out.startswith("20 schedules from number 40 in ")
    short_schedules.keep(7, "Violation: a\nb")
    short_schedules.keep(7, "Violation: a\nb")
    assert kept.read_text() == "# none\n7  # Violation: a b\n"
    assert found() == [7]
