"""Mistakes on the command line of rocketmq-conformance and their exact error sentences."""

import shlex

import pytest
from mistakes import Mistake, mistakes
from rocketmq_testkit.conformance.command import main


@pytest.mark.parametrize("mistake", mistakes("conformance", "$ rocketmq-conformance "), ids=str)
def test_a_wrong_command_line_exits_with_2_and_the_text_of_the_transcript(
    mistake: Mistake, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistake exits with code 2 and its sentence on standard error, before a case runs."""
    assert main(shlex.split(mistake.typed)) == 2
    assert capsys.readouterr().err == f"rocketmq-conformance: {mistake.sentence}\n"
