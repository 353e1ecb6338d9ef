"""Builds the drivers of Python SDKs: a virtual environment for each, and a copy of the sources.

Two SDKs are imported by the same name, and one needs a protobuf version that conflicts with everything else. So they
share no environment with each other or with this suite.
"""

import platform
import shutil
import sys
from pathlib import Path

from .recipe import BuildFolders, Launch

COMMON = Path(__file__).parents[1] / "python_common"
INTERPRETER = (sys.implementation.cache_tag, platform.python_version(), sys.base_prefix)
"""The interpreter that runs this suite; an environment works only with the interpreter that created it."""


def build_driver(folders: BuildFolders) -> None:
    """Create ``venv`` with the folder's pinned requirements, and the package ``drivers`` next to it."""
    venv = folders.target / "venv"
    folders.run(sys.executable, "-m", "venv", venv)
    folders.run(
        venv / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--only-binary=:all:",
        "--no-deps",
        "-r",
        folders.source / "requirements.txt",
    )
    package = folders.target / "drivers"
    package.mkdir()
    (package / "__init__.py").touch()
    for folder in (COMMON, folders.source):
        # A recipe is used by the caller, not by the driver.
        shutil.copytree(folder, package / folder.name, ignore=shutil.ignore_patterns("__pycache__", "recipe.py"))


def words(launch: Launch, name: str) -> list[str]:
    """Return the command line that starts the driver in the folder ``name``."""
    return [str(launch.built / "venv" / "bin" / "python"), "-m", f"drivers.{name}.driver"]


def environment(launch: Launch) -> dict[str, str]:
    """Make the interpreter find only the copied sources, and none of the caller's packages."""
    return {"PYTHONPATH": str(launch.built), "PYTHONNOUSERSITE": "1"}
