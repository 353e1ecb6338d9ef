"""Finds other Pythons of the machine by their versions."""

import os
import subprocess
from pathlib import Path

_SAY = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"


def find(version: str) -> Path | None:
    """Return the interpreter of a version such as `3.12`, by its name or from pyenv; None if there is none."""
    # pyenv hides versions that are not selected behind a program of the same name, which fails.
    environment = {**os.environ, "PYENV_VERSION": version}
    command = [f"python{version}", "-c", _SAY]
    try:
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found, _, executable = said.strip().partition(" ")
    return Path(executable) if found == version else None
