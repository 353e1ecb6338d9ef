"""Scripts of this project that a test runs, such as those that build and deploy the artifacts of a release."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 600
"""Timeout of a script."""


def run_script(name: str, *words: str | Path, **variables: str) -> str:
    """Run a script of `scripts/` with the Python of the tests, and return its output. It must succeed."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / name), *(str(word) for word in words)],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_artifacts(folder: Path, *parts: str, **variables: str) -> Path:
    """Build parts of a release as `make dist` does, and return the folder."""
    run_script("dist.py", folder, *parts, **variables)
    return folder
