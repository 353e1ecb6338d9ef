"""Output files of a command, checked to be writable before hours of work, and the command line shown in them."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocketmq_testkit.emulator.kernel.masking import masked_words


class OutputError(Exception):
    """A file cannot be written; one sentence with its option and the reason."""


def check_outputs(files: Mapping[str, Path | None], name: str = "") -> None:
    """Raise OutputError unless each file, by its option, can be written. Missing folders are made.

    With `name`, paths are those of folders, and the file of that name in each is checked.
    """
    for option, given in files.items():
        if given is None:
            continue
        path = given / name if name else given
        new = not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("a").close()
        except OSError as error:
            what = f"{name} cannot be written there" if name else "cannot be written"
            raise OutputError(f"{option}={given}: {what}, {error.strerror}; name another place") from error
        if new:
            path.unlink()


def shown(words: Sequence[str]) -> str:
    """Return the command line in a form that can be typed again, with secrets masked."""
    return shlex.join(["rocketmq-conformance", *masked_words(words)])
