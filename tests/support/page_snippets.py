"""The blocks of code of a page: found by language, written as the files that they name, and run as commands.

A block names its file in its first line, as a comment: `# test_shop.py`, `// orders_test.go` or `<!-- pom.xml -->`.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import COMMAND, IS_EXECUTABLE, path_without_python
from hidden_python import namespace

ROOT = Path(__file__).resolve().parents[2]
TREE = "/path/to/rocketmq-testkit"
"""Path of the source tree in commands of pages."""
SECONDS_MAX = 600
"""Timeout of a program or script of a page."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?://|#|<!--) ([\w./-]+\.\w+)(?: -->)?\n")


@dataclass(frozen=True)
class Snippet:
    """A block of a page: its language, its text, and the file name in its first line, if any."""

    page: str
    language: str
    text: str

    @property
    def file(self) -> str:
        """The name in the comment of the first line, or an empty string."""
        found = _FILE.match(self.text)
        return found[1] if found else ""

    def __str__(self) -> str:
        return f"{self.page}:{self.file or self.text.splitlines()[0]}"


def snippets(page: str, language: str = "", *, before: str = "") -> Sequence[Snippet]:
    """Return the blocks of a page in order: those of a language, and those before a text, such as a heading."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if before:
        assert before in text, f"{page} has no {before!r}"
        text = text.partition(before)[0]
    found = [Snippet(page, name, block) for name, block in _BLOCK.findall(text)]
    return [each for each in found if not language or each.language == language]


def only(page: str, language: str, part: str = "") -> str:
    """Return the one block of a language of a page that contains a text."""
    [found] = [each.text for each in snippets(page, language) if part in each.text]
    return found


def write_files(of: Sequence[Snippet], folder: Path) -> set[str]:
    """Write the blocks that name a file into a folder. Return their names."""
    files = {each.file: each.text for each in of if each.file and each.language != "sh"}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return set(files)


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the command or the executable in the variable ROCKETMQ_EMULATOR. The program must succeed.

    With the executable, the program and all that it starts find no Python on this machine.
    """
    done = subprocess.run(
        _hidden(*words),
        cwd=folder,
        env=_environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@contextmanager
def running(folder: Path, *words: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start a program as `run` does, and yield it with its standard output. It is killed at the end of the block."""
    with subprocess.Popen(
        _hidden(*words),
        cwd=folder,
        env=_environment(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _hidden(*words: str) -> list[str]:
    return [*(namespace() if IS_EXECUTABLE else ()), *words]


def _environment(variables: Mapping[str, str]) -> Mapping[str, str]:
    return {**os.environ, "ROCKETMQ_EMULATOR": COMMAND, **variables}


def run_script(folder: Path, script: str, **variables: str) -> str:
    """Run the commands of a page, with the path of this tree, and return their standard output."""
    return run(folder, "sh", "-eu", "-c", script.replace(TREE, str(ROOT)), **variables).stdout


@contextmanager
def no_python_in_path(folder: Path) -> Iterator[None]:
    """Set PATH to `folder`, which is created with all programs of the present PATH but Python and its tools.

    The installed command needs Python, which it still finds; for the executable, `run` hides every Python.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path_without_python(folder))
        yield
