"""A copy of the packages' sources, because a build in place leaves folders that later builds pick up."""

import shutil
from pathlib import Path

from namespace_links import ROOT, packages

LEFT_OUT = ("__pycache__", "target", "node_modules")
"""Folders that builds of SDK drivers in place leave behind."""


def copy_sources(folder: Path) -> Path:
    """Copy all that a wheel is built from into a new folder; return that folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for source in packages(ROOT).values():
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return folder
