"""Progress output of a run and of builds: in a log, and on a terminal."""

import io
import re
import subprocess
import sys

import pytest
from rocketmq_testkit.conformance.drivers.build import announced
from rocketmq_testkit.conformance.outcomes.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcome
from rocketmq_testkit.conformance.report.live_lines import LiveLines
from rocketmq_testkit.conformance.report.terminal import Terminal, builds_shown
from rocketmq_testkit.conformance.runner.run import Run

GOOD = Outcome("send.good", "emulator", Verdict.SAME, 0.1)
BAD = Outcome(
    "send.bad",
    "emulator",
    Verdict.DIFFERS,
    2.0,
    notes=[("sent", 1)],
    record=RecordedOutcome("5.3.3", "2026-01-31", [("sent", 0)]),
)


class Screen(io.StringIO):
    """An interactive terminal that keeps all that is written to it."""

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        """Return everything that was shown at some time, without the sequences that move the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue()).replace("\r", "\n")


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A terminal that can move its cursor, wide enough for each line."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    return Screen()


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


def test_a_terminal_has_a_bar_with_an_estimate(screen: Screen) -> None:
    """A terminal shows count, estimated time and last id in place; lasting lines appear above them."""
    with Terminal(screen, 3) as terminal:
        for outcome in (GOOD, BAD, GOOD):
            terminal.show(outcome)
    terminal.conclude(Run(["emulator"], [GOOD, BAD, GOOD]))
    assert re.search(r"3 of 3 +\d:\d\d:\d\d ETA \d:\d\d:\d\d send\.good", screen.text())
    lasting = screen.text().splitlines()
    assert "    + sent: 1" in lasting
    assert lasting[-2:] == ["emulator: 2 same, 1 differs", "3 outcomes in 0.0 s: NOT as expected"]


def test_a_screen_shows_texts_as_they_are(screen: Screen) -> None:
    """Brackets in ids and values, which rich could take for markup, are shown as they are."""
    odd = Outcome("send.[bold]odd", "emulator", Verdict.ERROR, 0.1, reason="[red]boom[/red] :smile:")
    with Terminal(screen, 1) as terminal:
        terminal.show(odd)
    assert "    [red]boom[/red] :smile:" in screen.text().splitlines()
    assert "send.[bold]odd" in screen.text()


def test_each_build_has_a_line_on_a_screen(screen: Screen) -> None:
    """Each driver in progress has a line; a finished build leaves a line with its time, a failed one none."""
    with LiveLines(screen, 10) as lines:
        with lines.building("java-grpc"), lines.building("go-remoting"):
            lines.print("drawn")
        with pytest.raises(OSError, match="no compiler"), lines.building("rust"):
            raise OSError("no compiler")
    assert re.search(r"java-grpc: building +\d:\d\d:\d\d\n. go-remoting: building +\d:\d\d:\d\d", screen.text())
    assert re.findall(r"\S+: built in \d+ s", screen.text()) == ["go-remoting: built in 0 s", "java-grpc: built in 0 s"]


def test_builds_are_plain_lines_in_a_log(monkeypatch: pytest.MonkeyPatch, screen: Screen) -> None:
    """Without a terminal, or with one that cannot move its cursor, builds are announced in plain lines."""
    with builds_shown(io.StringIO()) as announce:
        assert announce is announced
    with builds_shown(screen) as announce:
        assert announce is not announced
    monkeypatch.setenv("TERM", "dumb")
    with builds_shown(Screen()) as announce:
        assert announce is announced
    terminal = Terminal(Screen(), 1)
    assert terminal.announce is announced


def test_builds_are_plain_lines_if_standard_error_is_a_log(screen: Screen) -> None:
    """A run on a terminal announces builds on standard error if that is redirected to a log."""
    assert not sys.stderr.isatty()
    assert Terminal(screen, 1).announce is announced


def test_a_log_needs_no_rich() -> None:
    """Without a terminal rich is not loaded."""
    script = (
        "import io, sys; from rocketmq_testkit.conformance.report.terminal import Terminal\n"
        "with Terminal(io.StringIO(), 1): print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


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
