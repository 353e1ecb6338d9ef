"""Runs a separate test suite with the hooks of `bug_reports`, which fail tests for bugs that the emulator reports."""

import os
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent


def run_suite(folder: Path, suite: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a separate suite with this project's hooks."""
    hooks = "pytest_configure, pytest_runtest_teardown, pytest_sessionfinish"
    (folder / "conftest.py").write_text(f"from bug_reports import {hooks}\n")
    (folder / "test_it.py").write_text(suite)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {SUPPORT} {folder}\nmarkers = provokes_bugs\n")
    command = [str(Path(sys.executable).with_name("pytest")), "-p", "no:cacheprovider", "-rA", *words, str(folder)]
    # Other plugins are not needed, and each process would import them all.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, timeout=120, check=False, env=environment
    )


def failed_teardowns(output: str) -> set[str]:
    """Return the names of the tests that the hooks failed, from the output of a run."""
    return {
        line.split("::")[1].split(" ")[0] for line in output.splitlines() if line.startswith("ERROR ") and "::" in line
    }
