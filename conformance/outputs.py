"""Files that a command will write: found to be writable before hours of work, and the command that is shown in them."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

_SECRETS = re.compile(r"((?:secret_key|token)=)[^,]*")


class OutputError(Exception):
    """A file cannot be written; one sentence with its option and the reason."""


def check_outputs(files: Mapping[str, Path | None]) -> None:
    """Raise OutputError unless each file, by its option, can be written. Missing folders are made."""
    for option, path in files.items():
        if path is None:
            continue
        new = not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("a").close()
        except OSError as error:
            raise OutputError(f"{option}: {path} cannot be written: {error.strerror}; name another place") from error
        if new:
            path.unlink()


def shown(words: Sequence[str]) -> str:
    """A command line as it can be typed again, without its secrets."""
    return shlex.join(["rocketmq-conformance", *(_SECRETS.sub(r"\1***", word) for word in words)])
