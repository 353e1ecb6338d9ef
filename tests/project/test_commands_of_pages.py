"""Commands on pages and in errors: their programs, options, targets, extras and files exist.

`test_readme.py`, `tests/sidecar` and `spark_tests/test_pages.py` run the commands that can run here. This file checks
all others, so that no page names a command that does not exist.
"""

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark_rocketmq.audit import command as audit_command
from pyspark_rocketmq.replay import command as replay_command
from rocketmq_testkit.conformance import command as conformance_command
from rocketmq_testkit.fixtures.command import OPTIONS_OF_COMMANDS
from rocketmq_testkit.fixtures.control.shell import commands as shell_commands
from rocketmq_testkit.fixtures.control.shell.verb_parser import BODY, QUERY, VerbParser
from rocketmq_testkit.fixtures.options import command_options

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for folder in (".", "docs", "docker", "bench", "examples/*")
    for path in ROOT.glob(f"{folder}/*.md")
    if path.name != "CHANGELOG.md"
)
SOURCES = ("conformance", "emulator", "fixtures", "grpc_v2", "remoting", "scripts", "spark", "testkit")
"""Folders whose error texts may name a command."""
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}\S.*\n)+", re.MULTILINE)
INLINE = re.compile(r"`((?:make|pip install|rocketmq-[a-z]+) [^`]+)`")
PIP = re.compile(r"pip install [^`\"\n]*?'?[\w./-]*\[?[\w,]*\]?'?(?=[`\"\n;,:]|$)")
ELLIPSIS = ("...", "NAME", "DIR", "FILE")
"""Placeholders in a command."""


def parse_emulator(words: Sequence[str]) -> None:
    """Parse options of the server, or a command for a running emulator with the values of its options."""
    if words and words[-1] == "--help":
        assert not words[:-1] or words[:-1] == list(shell_commands.prefix_of(words, shell_commands.commands()))
        return
    if not words or (words[0].startswith("-") and words[0] not in OPTIONS_OF_COMMANDS):
        command_options.parse(words)
        return
    known = shell_commands.commands()
    words = shell_commands.command_first(words, known)
    found, verb = shell_commands.find(words, known)
    parser = VerbParser(found, verb)
    read = parser.read(words[len(found) :])
    for part in (QUERY, BODY):
        parser.values(read, part)


PARSERS: dict[str, Callable[[Sequence[str]], object]] = {
    "rocketmq-emulator": parse_emulator,
    "rocketmq-conformance": lambda words: conformance_command.parser().parse_args(words),
    "rocketmq-audit": lambda words: audit_command.parser().parse_args(words),
    "rocketmq-replay": lambda words: replay_command.parser().parse_args(words),
}
OTHERS = frozenset(
    {
        *("cd", "curl", "docker", "exit", "go", "grep", "java", "javac", "kill", "mvn", "pytest", "python", "python3"),
        *("sleep", "git", "do", "done", "export", "while", "unzip", "node", "npm", "npx", "dist/rocketmq-emulator"),
        *("cargo", "g++", "touch", "./orders_test"),
    }
)
"""Other programs and shell keywords, whose arguments are not checked here but by the tests that run the block."""


@dataclass(frozen=True)
class Command:
    """A command and its page."""

    page: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.text[:60]}"


def commands() -> Iterator[Command]:
    """Yield all commands of all pages: those in blocks, and those in backquotes that have arguments."""
    for path in PAGES:
        text, page = path.read_text(), path.relative_to(ROOT).as_posix()
        blocks = [*BLOCK.findall(text), *(each for each in INDENTED.findall(text) if path.parts[-3] == "examples")]
        for block in blocks:
            for line in block.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\|\||;|&$", line):
                    if part.strip() and not part.strip().startswith("#"):
                        yield Command(page, part.strip())
        for found in INLINE.findall(text):
            if not any(each in found for each in ELLIPSIS):
                yield Command(page, " ".join(found.split()))


ALL = list(commands())


def targets_of_make() -> set[str]:
    """Return the targets of the Makefile."""
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def extras() -> set[str]:
    """Return the extras of the package."""
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def test_the_search_finds_the_commands_of_the_pages() -> None:
    assert len(ALL) > 60
    assert {"README.md", "docs/command.md", "docs/conformance.md", "docs/audit.md", "examples/orders/README.md"} <= {
        each.page for each in ALL
    }


@pytest.mark.parametrize("command", ALL, ids=str)
def test_a_command_of_a_page_has_a_known_program_and_valid_options(command: Command) -> None:
    """The program of a command is known, a program of this project accepts all words, and `make` has the target."""
    words = shlex.split(command.text, comments=True)
    while words and re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
        words.pop(0)
    if not words:
        return
    program = words[0].rpartition("/")[2] if "bin/" in words[0] else words[0]
    if program in PARSERS:
        cut = next((at for at, word in enumerate(words) if word in (">", "|", "&")), len(words))
        PARSERS[program](words[1:cut])
    elif program == "make":
        named = [word for word in words[1:] if "=" not in word and not word.startswith(("-", ".", "/"))]
        assert named
        assert set(named) <= targets_of_make()
    elif program == "pip":
        check_pip(command.text)
    else:
        assert program in OTHERS, command.text
        if program == "curl" and "/v1/" in command.text and {"-d", "--data"} & set(words):
            assert "content-type: application/json" in words, f"{command.text}: the control port refuses it"


def check_pip(text: str) -> None:
    """Check that a command installs the project from a clone, because no index has it, and names existing extras."""
    for word in shlex.split(text, comments=True)[2:]:
        name, bracket, found = word.partition("[")
        if bracket:
            assert set(found.rstrip("]").split(",")) <= extras(), text
        assert name != "rocketmq-testkit", f"{text}: no index has it; say /path/to/rocketmq-testkit"


def sources() -> Iterator[tuple[str, str]]:
    """Yield (source file, installation command in it)."""
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for found in PIP.findall(path.read_text()):
                yield path.relative_to(ROOT).as_posix(), found


@pytest.mark.parametrize(("source", "text"), list(sources()))
def test_installation_commands_in_errors_are_valid(source: str, text: str) -> None:
    """Installation commands in errors and docstrings are valid."""
    assert source
    check_pip(text)
