"""Packs the helper for Go tests as the module that a Go module proxy serves.

The files are those of a proxy for the version of `pyproject.toml`. `GOPROXY=file:///FOLDER` reads them.
"""

import json
import re
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "clients" / "go"
EXCLUDED = re.compile(r"_test\.go$")


def module() -> tuple[str, str]:
    """Return the path and the version of the module."""
    found = re.search(r"^module (\S+)$", (SOURCE / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found[1], f"v{project['version']}"


def pack(folder: Path) -> Path:
    """Write the files of a proxy into a folder. Returns the zip file of the module."""
    path, version = module()
    place = folder / path / "@v"
    place.mkdir(parents=True, exist_ok=True)
    (place / "list").write_text(f"{version}\n", encoding="utf-8")
    (place / f"{version}.info").write_text(json.dumps({"Version": version}), encoding="utf-8")
    (place / f"{version}.mod").write_bytes((SOURCE / "go.mod").read_bytes())
    packed = place / f"{version}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted([*SOURCE.glob("*.go"), SOURCE / "go.mod", SOURCE / "README.md", ROOT / "LICENSE"]):
            if not EXCLUDED.search(file.name):
                archive.write(file, f"{path}@{version}/{file.name}")
    return packed
