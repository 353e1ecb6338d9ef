"""The scratch copy of the checkout: mutants are made and tests run there, so that no file of the checkout changes."""

import shutil
import subprocess
import sys
from pathlib import Path

FINDER = "__editable___rocketmq_testkit"
"""Prefix of the module that maps packages to folders of the checkout (setuptools' editable installation)."""


def copy(root: Path, target: Path) -> None:
    """Copy all files that git tracks or would add, but no ignored files."""
    shutil.rmtree(target, ignore_errors=True)
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=root, check=True, capture_output=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        source = root / name
        if source.is_file():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)


def redirect(root: Path, tree: Path) -> None:
    """Import the package from the copy from now on. Raises RuntimeError if it is not installed as editable."""
    finders = [module for name, module in sys.modules.items() if name.startswith(FINDER)]
    if not finders:
        raise RuntimeError("rocketmq-testkit is not installed as editable; run make test-fast once")
    for finder in finders:
        mapping: dict[str, str] = finder.__dict__["MAPPING"]
        for package, folder in mapping.items():
            mapping[package] = str(tree / Path(folder).relative_to(root))
