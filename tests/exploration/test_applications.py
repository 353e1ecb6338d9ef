"""Small applications with planted bugs: the exploration finds each one, and passes their repaired versions."""

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

APPLICATIONS = Path(__file__).with_name("applications")
SUPPORT = Path(__file__).parents[1] / "support"


def explored(pytester: pytest.Pytester, name: str, *options: str) -> pytest.RunResult:
    """Run the tests of an application in a process of their own."""
    pytester.makeini(f"[pytest]\npython_files = *.py\npythonpath = {SUPPORT}")
    return pytester.runpytest_subprocess(
        APPLICATIONS / f"{name}.py",
        "-c",
        pytester.path / "tox.ini",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        "--show-capture=no",
        *options,
        timeout=60,
    )


def plan_in(result: pytest.RunResult) -> str:
    """Return the smallest failing plan, in words."""
    found = re.search(r": failed: (.*)", result.stdout.str())
    assert found, result.stdout.str()
    return found[1]


@pytest.mark.parametrize(
    ("name", "plan"),
    [("charge_twice", "the first acknowledgement of order-1 is lost")],
)
def test_a_planted_bug_is_found_and_its_repair_passes(pytester: pytest.Pytester, name: str, plan: str) -> None:
    result = explored(pytester, name)

    result.assert_outcomes(failed=1, passed=1)
    assert plan_in(result) == plan
