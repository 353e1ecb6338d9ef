"""The classifiers of the package name the systems and Python versions that tests run on, and no others."""

import tomllib
from pathlib import Path

import environments

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def classified(kind: str) -> set[str]:
    """Return the values of the classifiers of a kind."""
    return {each.removeprefix(f"{kind} :: ") for each in PROJECT["classifiers"] if each.startswith(f"{kind} :: ")}


def test_the_only_classified_system_is_the_one_that_tests_run_on() -> None:
    assert classified("Operating System") == {"POSIX :: Linux"}
    assert "All tests run on Linux" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_classified_pythons_are_the_oldest_allowed_and_those_of_test_environments() -> None:
    """CI tests with the oldest allowed Python, and has environments with the others."""
    oldest = PROJECT["requires-python"].removeprefix(">=")
    tested = {oldest, *(each.python for each in environments.OF_A_RUN if each.python)}
    assert classified("Programming Language") == {f"Python :: {each}" for each in tested}
