"""Runs of the command `rocketmq-emulator` in the process of the test."""

import io
import sys

import pytest
from rocketmq_testkit.fixtures.command import main


class Shell:
    """Runs commands and returns exit code, output and errors. `control` is added to each command if it is given."""

    def __init__(
        self, captured: pytest.CaptureFixture[bytes], patch: pytest.MonkeyPatch, control: str | None = None
    ) -> None:
        self._captured = captured
        self._patch = patch
        self._control = [] if control is None else ["--control", control]

    def __call__(self, *words: str, text: bytes = b"") -> tuple[int, bytes, str]:
        """Run a command; `text` is its standard input. Of the errors, the name of the program is removed."""
        self._captured.readouterr()
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        code = main([*words, *self._control])
        out, errors = self._captured.readouterr()
        return code, out, errors.decode().removeprefix("rocketmq-emulator: ").removesuffix("\n")
