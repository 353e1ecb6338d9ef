"""Rules for every file of the repository."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 600
GENERATED = re.compile(r"_pb2\.pyi?$|/types\.d\.ts$|package-lock\.json$|Cargo\.lock$|go\.sum$")
VENDORED_NAMES = re.compile(r"package-lock\.json$|Cargo\.lock$|go\.(mod|sum)$")
"""Lock files, in which their tools write the names of sources."""
PLACES = re.compile(
    r"/work/|/root/|/home/\w+/|\.\./shared\b"
    r"|pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|repo1?\.maven|maven\.org|proxy\.golang\.org|crates\.io"
    r"|deb\.debian\.org"
)
"""Folders of one machine, and hosts of package registries, which package managers know themselves."""
PICTURES = {".png", ".jpg", ".gif", ".ico", ".gz", ".bin", ".pcap"}


def tracked() -> list[str]:
    """Return the files of the repository, including new ones that are not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def texts() -> Iterator[tuple[str, str]]:
    """Yield name and text of every text file."""
    for name in tracked():
        if Path(name).suffix not in PICTURES:
            yield name, (ROOT / name).read_text()


def package_folders() -> dict[str, str]:
    """Return the package mapping of pyproject.toml: name -> folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    mapped: dict[str, str] = project["tool"]["setuptools"]["package-dir"]
    return mapped


def test_no_source_file_has_more_than_600_lines() -> None:
    """A source file has at most 600 lines, unless it is generated."""
    sources = {".py", ".java", ".go", ".js", ".mjs", ".ts", ".rs", ".sh"}
    too_long = {
        name: count
        for name, text in texts()
        if Path(name).suffix in sources and not GENERATED.search(name) and (count := text.count("\n")) > LINES_MAX
    }

    assert too_long == {}


def test_no_file_names_a_machine_or_a_registry() -> None:
    """No file names a machine's folder or a package registry."""
    this = Path(__file__).relative_to(ROOT).as_posix()
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in texts()
        if name != this and not VENDORED_NAMES.search(name)
        for number, line in enumerate(text.splitlines(), 1)
        if PLACES.search(line)
    ]

    assert found == []


def test_text_files_end_with_a_newline_and_have_no_trailing_blanks() -> None:
    """Text files end with a newline and have neither trailing blanks nor conflict marks."""
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
def test_each_package_folder_has_init_and_py_typed(folder: str) -> None:
    assert (ROOT / folder / "__init__.py").is_file()
    assert (ROOT / folder / "py.typed").is_file()


def test_every_folder_with_modules_is_a_package() -> None:
    """Every folder with modules has `__init__.py`, because tools treat namespace packages differently."""
    folders = {
        Path(name).parent
        for name in tracked()
        if name.endswith(".py") and name.split("/")[0] in set(package_folders().values())
    }

    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder / "__init__.py").is_file()] == []


def rooms_below(folder: str, pattern: str) -> set[str]:
    """Return the folders below `folder`, relative to it, that contain files whose names match `pattern`."""
    found = {Path(name).relative_to(folder) for name in tracked() if name.startswith(f"{folder}/")}
    return {path.parent.as_posix() for path in found if path.match(pattern)} - {"."}


def test_each_room_of_the_emulator_has_tests_in_a_folder_of_its_name() -> None:
    """`tests/emulator/` has the rooms of `emulator/`, and no others, so that the tests of a rule are found by name."""
    assert rooms_below("tests/emulator", "test_*.py") == rooms_below("emulator", "*.py")


def test_the_build_server_runs_the_command_of_the_readme() -> None:
    """`.ci/run` runs only the command that the README gives for all tests."""
    lines = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]

    assert lines[-1] == "make test"
    assert "make test" in (ROOT / "README.md").read_text()
