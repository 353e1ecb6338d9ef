"""A virtual environment for one test: without pip, which takes longest to install, and without compiled modules."""

import subprocess
import sys
from pathlib import Path


def make_venv(folder: Path) -> Path:
    """Make a virtual environment; return its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin"


def install(programs: Path, *words: str | Path) -> None:
    """Install packages into a virtual environment with the pip of this one. It must succeed."""
    pip = f"{sys.executable} -m pip --python {programs}/python --disable-pip-version-check install --quiet --no-compile"
    command = [*pip.split(), *(str(word) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
