"""Packs the helpers for Java tests into a Maven repository: jars, sources, documentation and descriptions.

The files have the version of `pyproject.toml`. Maven reads them from the repository `file:///FOLDER`.
"""

import re
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HELPERS = (ROOT / "clients" / "java", ROOT / "clients" / "java-spring")
"""The helpers, each after those that it needs."""


class NotPacked(Exception):
    """Maven has failed, or the description names another version than the project."""


def version() -> str:
    """Return the version of the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def pack(folder: Path) -> None:
    """Write the files of all helpers into a repository. Raises NotPacked."""
    for helper in HELPERS:
        _pack(helper, folder.resolve())


def _pack(helper: Path, folder: Path) -> None:
    description = (helper / "pom.xml").read_text(encoding="utf-8")
    found = re.search(r"^  <version>(.+)</version>$", description, re.MULTILINE)
    if found is None or found[1] != version():
        raise NotPacked(f"{helper.name}/pom.xml: the version is not {version()}, that of pyproject.toml")
    with tempfile.TemporaryDirectory(prefix="java-artifact-") as temporary:
        copy = Path(temporary) / helper.name
        shutil.copytree(helper, copy, ignore=shutil.ignore_patterns("target", "test"))
        notices = copy / "src" / "main" / "resources" / "META-INF"
        notices.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "LICENSE", notices)
        command = ["mvn", "-q", "-B", "-Prelease"]
        # The phase also installs it in the local repository, where a helper that needs it finds it.
        command += [f"-DaltDeploymentRepository=folder::file://{folder}", "deploy"]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotPacked(done.stdout + done.stderr)
