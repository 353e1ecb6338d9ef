"""The stage `executable` runs its tests with the executable, and with nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import command_line
import pytest
import stages

ROOT = Path(__file__).resolve().parents[2]
RUNNER = """#!/bin/sh
for word; do case "$word" in --junitxml=*) : > "${word#--junitxml=}"; esac; done
echo "$COMMAND_UNDER_TEST" "$@" >> "$0.log"
"""
"""A pytest that writes an empty report and notes its variable and its arguments."""


def collected(**variables: str) -> subprocess.CompletedProcess[str]:
    """Collect tests of the executable with some variables."""
    others = {name: value for name, value in os.environ.items() if name != command_line.VARIABLE}
    words = ("-p", "no:cacheprovider", "--collect-only", "-q", "-m", "executable", "tests/clients/test_go_helper.py")
    return subprocess.run(
        [Path(sys.executable).with_name("pytest"), *words],
        cwd=ROOT,
        env={**others, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_each_run_of_the_stage_gets_the_executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("python", "#!/bin/sh\n"), ("pytest", RUNNER)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(stages, "REPORTS", tmp_path)
    stages.run_executable()
    runs = (tmp_path / "pytest.log").read_text().splitlines()
    assert {each.split()[0] for each in runs} == {str(ROOT / "dist" / "rocketmq-emulator")}
    # The suites of helpers and the tests of the artifacts, then the suite of the command in two parts.
    assert ["-m executable " in each for each in runs] == [True, False, False]


def test_a_run_of_the_marker_without_an_executable_is_refused() -> None:
    done = collected()
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"{command_line.VARIABLE}: is not set, but -m executable tests the executable" in done.stderr


def test_a_script_is_no_command_under_test() -> None:
    done = collected(COMMAND_UNDER_TEST=command_line.INSTALLED)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"{command_line.VARIABLE}={command_line.INSTALLED}: is no executable" in done.stdout + done.stderr


def test_a_program_of_machine_code_is_accepted() -> None:
    done = collected(COMMAND_UNDER_TEST=os.path.realpath(sys.executable))
    assert done.returncode == pytest.ExitCode.OK
    assert "test_go_helper.py::test_tests_of_the_helper_pass" in done.stdout
