"""Runs of stages: one after another or two at the same time, with the processor time of their processes."""

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import stages
from stage_runs import NICENESS, Stage, StageFailed, execute, run

PATIENCE_S = 60.0


def python(text: str) -> None:
    """Run a program of the current stage."""
    execute([sys.executable, "-c", text], Path.cwd(), os.environ)


def test_a_stage_beside_another_one_runs_at_the_same_time(capfd: pytest.CaptureFixture[str]) -> None:
    """Both stages of a pair run at once; those beside the same stage run one after another."""
    met, running, most = threading.Barrier(2), [0], [0]

    def meet() -> None:
        met.wait(PATIENCE_S)

    def count() -> None:
        running[0] += 1
        most.append(running[0])
        python("")
        running[0] -= 1

    results = run(
        [
            Stage("first", "", meet),
            Stage("other", "", lambda: None),
            Stage("second", "", meet, beside="first"),
            Stage("third", "", count, beside="first"),
            Stage("fourth", "", count, beside="first"),
        ]
    )
    assert [each.name for each in results] == ["first", "second", "third", "fourth", "other"]
    assert [each.problem for each in results] == [""] * 5
    assert max(most) == 1


def test_output_of_a_stage_beside_another_one_is_not_mixed(capfd: pytest.CaptureFixture[str]) -> None:
    """Lines of a stage follow its title, even if both stages write by turns. A failure is reported as usual."""
    turns = threading.Barrier(2)

    def write(name: str) -> None:
        for number in range(3):
            turns.wait(PATIENCE_S)
            python(f"import sys; print('{name}', {number}, file=sys.stderr)")
        if name == "second":
            raise StageFailed("it is broken")

    results = run(
        [Stage("first", "one", lambda: write("first")), Stage("second", "two", lambda: write("second"), beside="first")]
    )
    printed = capfd.readouterr()
    lines = [line for line in printed.out.splitlines() if line and not line.startswith("$")]
    assert lines[-5:] == ["--- second: two", "second 0", "second 1", "second 2", "--- second failed: it is broken"]
    assert printed.err.splitlines() == ["first 0", "first 1", "first 2"]
    assert [each.problem for each in results] == ["", "it is broken"]


def test_a_stage_beside_another_one_has_a_lower_priority(capfd: pytest.CaptureFixture[str]) -> None:
    def show() -> None:
        python("import os; print('niceness', os.nice(0))")

    run([Stage("first", "", show), Stage("second", "", show, beside="first"), Stage("third", "", show)])
    own = os.nice(0)
    shown = [int(line.split()[1]) for line in capfd.readouterr().out.splitlines() if line.startswith("niceness")]
    assert sorted(shown) == [own, own, min(19, own + NICENESS)]


def test_a_stage_runs_alone_if_the_one_beside_it_is_not_wanted() -> None:
    [result] = run([Stage("second", "", lambda: None, 7.0, beside="first")])
    assert (result.name, result.allowed) == ("second", 7.0)


def test_an_error_of_a_stage_beside_another_one_ends_the_run() -> None:
    def fail() -> None:
        raise ValueError("a fault of the stage")

    with pytest.raises(ValueError, match="a fault of the stage"):
        run([Stage("first", "", lambda: None), Stage("second", "", fail, beside="first")])


def test_a_needed_stage_that_fails_ends_the_run() -> None:
    def fail() -> None:
        raise StageFailed("no disk")

    names = [Stage("set-up", "", fail, needed=True), Stage("beside", "", lambda: None, beside="set-up")]
    results = run([*names, Stage("later", "", lambda: None)])
    assert [(each.name, each.problem) for each in results] == [("set-up", "no disk"), ("beside", "")]


def test_processor_seconds_are_those_of_the_processes_of_a_stage() -> None:
    """The time of grandchildren counts; waiting does not."""
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}], check=True)"
    idle = "import select; select.select([], [], [], 0.5)"
    results = run([Stage("busy", "", lambda: python(parent)), Stage("idle", "", lambda: python(idle), beside="busy")])
    found = {each.name: each.processor_seconds for each in results}
    assert found["busy"] >= 0.3
    assert found["idle"] < found["busy"]


def test_every_stage_runs_once_in_a_run_of_all_stages() -> None:
    """A stage beside one that is itself beside another one would not run."""
    results = run(replace(stage, run=lambda: None) for stage in stages.STAGES)
    assert sorted(each.name for each in results) == sorted(stage.name for stage in stages.STAGES)


def test_stages_beside_another_one_follow_it() -> None:
    names = [stage.name for stage in stages.STAGES]
    for stage in stages.STAGES:
        assert not stage.beside or names.index(stage.beside) < names.index(stage.name)
        assert not (stage.beside and stage.needed)
