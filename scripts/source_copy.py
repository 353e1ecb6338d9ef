"""A copy of the packages' sources, because a build in place leaves folders that later builds pick up."""

import hashlib
import shutil
from pathlib import Path

from namespace_links import ROOT, packages

LEFT_OUT = ("__pycache__", "target", "node_modules")
"""Folders that builds of SDK drivers in place leave behind."""


OTHERS = ("pyproject.toml", "README.md", "LICENSE")


def digest_of_sources() -> str:
    """Return a hash of the paths and contents of all that `copy_sources` copies."""
    found = hashlib.sha256()
    files = [ROOT / name for name in OTHERS]
    for source in packages(ROOT).values():
        files += (each for each in source.rglob("*") if each.is_file() and not {*each.parts} & {*LEFT_OUT})
    for file in sorted(files):
        content = file.read_bytes()
        found.update(f"{file.relative_to(ROOT)} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def copy_sources(folder: Path) -> Path:
    """Copy all that a wheel is built from into a new folder; return that folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in OTHERS:
        shutil.copy(ROOT / name, folder)
    for source in packages(ROOT).values():
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return folder
