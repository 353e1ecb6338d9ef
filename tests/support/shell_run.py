"""Runs of the command `rocketmq-emulator` in the process of the test."""

import io
import sys

import pytest
from rocketmq_testkit.fixtures.command import main


class Shell:
    """Runs the subcommands of `rocketmq-emulator`. `control`: the value of their option `--control`, if given."""

    def __init__(
        self, captured: pytest.CaptureFixture[bytes], patch: pytest.MonkeyPatch, control: str | None = None
    ) -> None:
        self._captured = captured
        self._patch = patch
        self._control = [] if control is None else ["--control", control]

    def __call__(self, *words: str, text: bytes = b"") -> tuple[int, bytes, str]:
        """Run a command with standard input `text`; return exit code, standard output and standard error.

        The output is bytes, because some commands print files. The errors are text without the name of the program.
        """
        self._captured.readouterr()
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        code = main([*words, *self._control])
        out, errors = self._captured.readouterr()
        return code, out, errors.decode().removeprefix("rocketmq-emulator: ").removesuffix("\n")
