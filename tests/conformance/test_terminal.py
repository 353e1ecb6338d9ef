"""Progress output of a run."""

import io

from rocketmq_testkit.conformance.outcomes.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.outcomes.truth import Record
from rocketmq_testkit.conformance.report.terminal import Terminal
from rocketmq_testkit.conformance.runner.run import Run

GOOD = Outcome("send.good", "emulator", Verdict.SAME, 0.1)
BAD = Outcome("send.bad", "emulator", Verdict.DIFFERS, 2.0, [("sent", 1)], Record("5.3.3", "2026-01-31", [("sent", 0)]))


class Screen(io.StringIO):
    """An interactive terminal."""

    def isatty(self) -> bool:
        return True


def test_a_log_shows_a_count_every_50_outcomes() -> None:
    """A log shows a count every fifty outcomes; the last count is in the table."""
    log = io.StringIO()
    terminal = Terminal(log, 100)
    for _ in range(100):
        terminal.show(GOOD)
    assert log.getvalue() == "... 50 of 100\n"


def test_an_unexpected_outcome_is_shown_at_once() -> None:
    """An unexpected outcome is shown at once, with target, id, time and the differing lines."""
    log = io.StringIO()
    Terminal(log, 2).show(BAD)
    head, *rest = log.getvalue().splitlines()
    assert head.split() == ["DIFFERS", "emulator", "send.bad", "(2.0", "s)"]
    assert rest == ["    - sent: 0", "    + sent: 1"]


def test_a_terminal_has_one_progress_line_that_is_overwritten() -> None:
    """A terminal has one progress line that is overwritten; lasting lines are printed above it."""
    screen = Screen()
    terminal = Terminal(screen, 3)
    for outcome in (GOOD, BAD, GOOD):
        terminal.show(outcome)
    terminal.conclude(Run(["emulator"], [GOOD, BAD, GOOD]))
    kept = [line.rpartition("\r\x1b[K")[2] for line in screen.getvalue().split("\n")]
    assert "1 of 3  send.good\r\x1b[K" in screen.getvalue()
    assert kept[0].startswith("DIFFERS")
    assert kept[3:5] == ["emulator: 2 same, 1 differs", "3 outcomes in 0.0 s: NOT as expected"]
    assert not [line for line in kept if " of 3" in line]


def test_outcomes_are_counted_per_target() -> None:
    """Outcomes are counted per target in the order of the command line, including targets without any.

    An early end is reported and is not a success.
    """
    log = io.StringIO()
    run = Run(["emulator", "apache:5.3.3", "own"], [GOOD, Outcome("send.good", "own", Verdict.NOT_APPLICABLE, 0.0)])
    run.problem = "TargetError: it died"
    Terminal(log, 3).conclude(run)
    assert log.getvalue().splitlines() == [
        "emulator: 1 same",
        "apache:5.3.3: no outcomes",
        "own: 1 not applicable",
        "the run ended early: TargetError: it died",
        "2 outcomes in 0.0 s: NOT as expected",
    ]
