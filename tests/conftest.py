"""Hooks of all tests. One prints the figures that tests have measured at the end of a run."""

from collections.abc import Callable
from typing import Any

import bug_reports
import pytest
import unhurried_examples
from bug_reports import pytest_runtest_teardown, pytest_sessionfinish  # noqa: F401 - hooks
from command_line import IS_EXECUTABLE, VARIABLE
from frozen_collection import pytest_collection_finish  # noqa: F401 - hook
from grouped_files import pytest_xdist_make_scheduler  # noqa: F401 - hook
from sampling import deselect_outside_sample
from selected_tests import OF_EXECUTABLE

FIGURE = "figure"


def pytest_configure(config: pytest.Config) -> None:
    """Configure the reports of bugs; refuse a run of the tests of the executable without one."""
    bug_reports.pytest_configure(config)
    if config.pluginmanager.hasplugin("hypothesispytest"):
        unhurried_examples.load()
    if config.getoption("markexpr") == OF_EXECUTABLE and not IS_EXECUTABLE:
        raise pytest.UsageError(
            f"{VARIABLE}: is not set, but -m {OF_EXECUTABLE} tests the executable; run `make executable`, and set "
            f"{VARIABLE} to the path of dist/rocketmq-emulator"
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the sample of marked tests, if TEST_SAMPLE is set."""
    deselect_outside_sample(config, items)


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The fixture of pytest, whose processes do not import Hypothesis: that takes a fifth of their time."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")  # the fixture has deleted it
    return pytester


@pytest.fixture
def tell_figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function that a test calls with a sentence about a measured figure.

    The sentence is part of the test's report, also if a worker of xdist runs the test.
    """

    def tell(figure: str) -> None:
        # The fixture record_property would warn about a format of reports that this suite does not write.
        request.node.user_properties.append((FIGURE, figure))

    return tell


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one line for each figure, in the order of the tests."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    figures = [
        value for each in reports if each.when == "call" for name, value in each.user_properties if name == FIGURE
    ]
    if figures:
        terminalreporter.section("figures")
        for figure in figures:
            terminalreporter.line(figure)
