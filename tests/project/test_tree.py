"""What every file of the repository keeps to."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 600
GENERATED = re.compile(r"_pb2\.pyi?$|package-lock\.json$|Cargo\.lock$|go\.sum$")
VENDORED_NAMES = re.compile(r"package-lock\.json$|Cargo\.lock$|go\.(mod|sum)$")
"""Lock files: their tools write the names of sources into them."""
PLACES = re.compile(
    r"/work/|/root/|/home/\w+/|\.\./shared\b"
    r"|pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|repo1?\.maven|maven\.org|proxy\.golang\.org|crates\.io"
    r"|deb\.debian\.org"
)
"""Folders of one machine, and hosts of package registries: the ordinary clients know where to ask."""
PICTURES = {".png", ".jpg", ".gif", ".ico", ".gz", ".bin", ".pcap"}


def tracked() -> list[str]:
    """The files of the repository, those included that are new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def texts() -> Iterator[tuple[str, str]]:
    """Name and text of every text file."""
    for name in tracked():
        if Path(name).suffix not in PICTURES:
            yield name, (ROOT / name).read_text()


def package_folders() -> dict[str, str]:
    """The package map of pyproject.toml: name -> folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    mapped: dict[str, str] = project["tool"]["setuptools"]["package-dir"]
    return mapped


def test_no_source_file_holds_two_nouns() -> None:
    """A source file has at most 600 lines; what is generated may have more."""
    sources = {".py", ".java", ".go", ".js", ".mjs", ".ts", ".rs", ".sh"}
    too_long = {
        name: count
        for name, text in texts()
        if Path(name).suffix in sources and not GENERATED.search(name) and (count := text.count("\n")) > LINES_MAX
    }

    assert too_long == {}


def test_no_file_names_a_machine_or_a_registry() -> None:
    """Whoever reads or builds the project has other folders, and other mirrors, than whoever wrote it."""
    this = Path(__file__).relative_to(ROOT).as_posix()
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in texts()
        if name != this and not VENDORED_NAMES.search(name)
        for number, line in enumerate(text.splitlines(), 1)
        if PLACES.search(line)
    ]

    assert found == []


def test_no_file_has_loose_ends() -> None:
    """Text files end with a newline, have no trailing blanks and no conflict marks."""
    loose = [
        name
        for name, text in texts()
        if not GENERATED.search(name)
        and Path(name).suffix in {".py", ".md", ".toml", ".java", ".go", ".js", ".mjs", ".rs", ".yaml", ".proto", ""}
        and (
            (text and not text.endswith("\n"))
            or re.search(r"[ \t]+$", text, re.MULTILINE)
            or re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE)
        )
    ]

    assert loose == []


@pytest.mark.parametrize("folder", sorted(package_folders().values()))
def test_a_package_folder_is_typed(folder: str) -> None:
    """Each folder of the package has an `__init__.py` and says by `py.typed` that it is typed."""
    assert (ROOT / folder / "__init__.py").is_file()
    assert (ROOT / folder / "py.typed").is_file()


def test_every_folder_with_modules_is_a_package() -> None:
    """A folder of Python modules without `__init__.py` would be a namespace, which tools treat differently."""
    folders = {
        Path(name).parent
        for name in tracked()
        if name.endswith(".py") and name.split("/")[0] in set(package_folders().values())
    }

    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder / "__init__.py").is_file()] == []


def test_the_build_server_runs_the_readmes_command() -> None:
    """`.ci/run` runs the command that the README gives for all tests, and nothing before or after it."""
    lines = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]

    assert lines[-1] == "make test"
    assert "make test" in (ROOT / "README.md").read_text()
