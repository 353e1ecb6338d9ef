"""Pack the helpers for Java tests into a Maven repository: jars, sources, documentation and descriptions.

    python scripts/java_artifact.py FOLDER [--local REPOSITORY]

writes the files for the version of `pyproject.toml`. Maven reads them from the repository `file:///FOLDER`. `--local`
is the local repository that Maven uses, by default that of the user.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Sequence
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


def pack(folder: Path, local: Path | None = None) -> None:
    """Write the files of all helpers into a repository. Raises NotPacked."""
    for helper in HELPERS:
        _pack(helper, folder.resolve(), local)


def _pack(helper: Path, folder: Path, local: Path | None) -> None:
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
        repository = [] if local is None else [f"-Dmaven.repo.local={local}"]
        command = ["mvn", "-q", "-B", "-Prelease", *repository]
        # The phase also installs it in the local repository, where a helper that needs it finds it.
        command += [f"-DaltDeploymentRepository=folder::file://{folder}", "deploy"]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotPacked(done.stdout + done.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    """Pack all helpers into the folder of the command line."""
    parser = argparse.ArgumentParser(prog="java_artifact.py")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--local", type=Path)
    options = parser.parse_args(arguments)
    pack(options.folder, options.local)


if __name__ == "__main__":
    main()
