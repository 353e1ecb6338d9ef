"""How every driver for an SDK of Python is built: a virtual environment of its own and a copy of the sources.

Two SDKs are imported by the same name, and one wants a protobuf that nothing else bears, so they share no environment
with each other or with this suite.
"""

import platform
import shutil
import sys
from pathlib import Path

from .recipe import Launch, Workshop

COMMON = Path(__file__).parent / "python_common"
SALT = (sys.implementation.cache_tag, platform.python_version(), sys.base_prefix)
"""An environment is bound to the interpreter that it was made with."""


def build_driver(workshop: Workshop) -> None:
    """Make ``venv`` with the folder's pinned requirements, and the package ``drivers`` beside it."""
    venv = workshop.target / "venv"
    workshop.run(sys.executable, "-m", "venv", venv)
    workshop.run(
        venv / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--only-binary=:all:",
        "--no-deps",
        "-r",
        workshop.source / "requirements.txt",
    )
    package = workshop.target / "drivers"
    package.mkdir()
    (package / "__init__.py").touch()
    for folder in (COMMON, workshop.source):
        # A recipe belongs to the side of the caller.
        shutil.copytree(folder, package / folder.name, ignore=shutil.ignore_patterns("__pycache__", "recipe.py"))


def words(launch: Launch, name: str) -> list[str]:
    """The words that start the driver in the folder ``name``."""
    return [str(launch.built / "venv" / "bin" / "python"), "-m", f"drivers.{name}.driver"]


def environment(launch: Launch) -> dict[str, str]:
    """Lets the interpreter find the copied sources and nothing of the caller's."""
    return {"PYTHONPATH": str(launch.built), "PYTHONNOUSERSITE": "1"}
