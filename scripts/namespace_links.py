"""Creates `.ns`, a tree of links that shows type checkers the folders under their installed names.

Type checkers cannot see the import hook of an editable installation. The mapping is that of pyproject.toml.
"""

import os
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def packages(root: Path) -> dict[str, Path]:
    """Return the folder of each package by its installed name."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    folders: dict[str, str] = project["tool"]["setuptools"]["package-dir"]
    return {name: root / folder for name, folder in folders.items()}


def links(root: Path) -> dict[Path, Path]:
    """Return each link (absolute path) and its target.

    The target is a folder, or a file of a package whose subpackages are in other folders.
    """
    found: dict[Path, Path] = {}
    folders = packages(root)
    for name, folder in folders.items():
        link = root / ".ns" / Path(*name.split("."))
        if any(other.startswith(f"{name}.") for other in folders):
            found |= {link / file.name: file for file in folder.iterdir() if file.is_file()}
        else:
            found[link] = folder
    return found


def main(root: Path = ROOT) -> int:
    """Create missing links and remove those that the mapping no longer has."""
    wanted = links(root)
    for link, target_path in wanted.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        # A relative link survives a move of the tree.
        target = Path(os.path.relpath(target_path, link.parent))
        if not link.is_symlink() or link.readlink() != target:
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    for found in (root / ".ns").rglob("*"):
        if found.is_symlink() and found not in wanted:
            found.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
