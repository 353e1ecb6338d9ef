"""Figures that tests have measured are told at the end of a run: a test notes one as its property `figure`."""

from typing import Any

FIGURE = "figure"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for each figure, in the order of the tests."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    figures = [
        value for each in reports if each.when == "call" for name, value in each.user_properties if name == FIGURE
    ]
    if figures:
        terminalreporter.section("figures")
        for figure in figures:
            terminalreporter.line(figure)
