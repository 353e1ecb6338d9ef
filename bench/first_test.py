"""Measure how long the pages for Java, Go and Node take from nothing to the first passing test.

    make bench-first-test
    PYTHONPATH=tests/support python bench/first_test.py [--write] [PAGE ...]

prints a table; PAGE is `java`, `go` or `node`, by default all. `--write` puts the table into bench/README.md.

A page's files and commands up to its first passing test are taken word for word; only /path/to/rocketmq-testkit becomes
the path of a clone of this tree. The commands run in an empty folder, with an empty home folder, so that all packages
are downloaded and nothing is unpacked or compiled yet, and with a PATH without Python. `make executable` runs first in
the clone, as the page says; it needs Python, and its time is measured apart. Registries of packages are those of the
user's configuration. Run this on a machine without other load: the table names the load average at the beginning.
"""

import argparse
import datetime
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from command_line import path_without_python
from page_snippets import TREE, snippets, write_files

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "bench" / "README.md"
BEGIN, END = "<!-- first test begins -->\n", "<!-- first test ends -->\n"
LAST_LINE = "The test passes in seconds."
"""The first words of each page after the commands of its first test."""
COLUMNS = """\
| page | s, with a built executable | processor time, s | s, with `make executable` |
|---|---:|---:|---:|
"""


@dataclass(frozen=True)
class Page:
    """A page, the text that its passing test leaves, and the file with that text, if it is not the output."""

    name: str
    path: str
    passed: str
    report: str = ""


PAGES = (
    Page("Java", "docs/java.md", "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0", "target/surefire-reports/*.txt"),
    Page("Go", "docs/go.md", "ok  \torders\t"),
    Page("Node", "docs/node.md", "# pass 1\n# fail 0\n"),
)
CACHES = ("GOPATH", "GOMODCACHE", "GOCACHE", "MAVEN_ARGS", "NPM_CONFIG_CACHE", "PIP_CACHE_DIR", "XDG_CACHE_HOME")
"""Variables that could lead to caches outside of the home folder."""


@dataclass(frozen=True)
class Taken:
    """Seconds by the wall clock, and seconds of processor time of a program and its children."""

    wall: float
    processor: float


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the variables of a user with an empty home folder and the present configuration of registries."""
    home.mkdir()
    settings = Path.home() / ".m2" / "settings.xml"
    maven = f"-Duser.home={shlex.quote(str(home))}"  # Java takes the home folder from the system, not from HOME
    return {
        **{name: value for name, value in os.environ.items() if name not in (*CACHES, "ROCKETMQ_EMULATOR")},
        "HOME": str(home),
        "GOENV": os.environ.get("GOENV") or str(Path.home() / ".config" / "go" / "env"),
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -modcacherw".strip(),  # so that the home folder can be deleted
        "NPM_CONFIG_USERCONFIG": os.environ.get("NPM_CONFIG_USERCONFIG") or str(Path.home() / ".npmrc"),
        "MAVEN_OPTS": maven,
        **({"MAVEN_ARGS": f"--settings={settings}"} if settings.is_file() else {}),
        **variables,
    }


def timed(folder: Path, script: str, variables: Mapping[str, str]) -> tuple[Taken, str]:
    """Run commands of a shell, which must succeed. Return their time and their standard output."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{script}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(wall, processor), done.stdout


def build(folder: Path) -> tuple[Path, Taken]:
    """Clone this tree and build the executable in the clone. Return the clone and the time of the build."""
    tree = folder / "rocketmq-testkit"
    subprocess.run(["git", "clone", "--quiet", ROOT, tree], check=True)
    python = Path(sys.base_prefix) / "bin" / "python3"  # a version manager may not find its own with another home
    taken, _ = timed(tree, "make executable", environment(folder / "home-of-build", PYTHON=str(python)))
    return tree, taken


def commands(page: Page, tree: Path) -> str:
    """Return the commands of a page up to its first passing test, with the path of a source tree."""
    return "\n".join(each.text for each in snippets(page.path, "sh", before=LAST_LINE)).replace(TREE, str(tree))


def first_test(page: Page, tree: Path, folder: Path) -> Taken:
    """Follow a page in a new folder until its test has passed."""
    project = folder / page.name
    project.mkdir()
    write_files(snippets(page.path, before=LAST_LINE), project)
    path = path_without_python(folder / f"programs-{page.name}")
    if shutil.which("python3", path=path) or shutil.which("python", path=path):
        sys.exit("PATH still has a Python")
    taken, output = timed(project, commands(page, tree), environment(folder / f"home-{page.name}", PATH=path))
    texts = [file.read_text() for file in project.glob(page.report)] if page.report else [output]
    if not any(page.passed in text for text in texts):
        sys.exit(f"{page.path}: no test passed:\n{output}")
    return taken


def table(taken: Mapping[str, Taken], built: Taken, load: float) -> str:
    """Return the table as Markdown, with the date, the processors and the load average at the beginning."""
    rows = [
        f"| {name} | {each.wall:.0f} | {each.processor:.0f} | {each.wall + built.wall:.0f} |\n"
        for name, each in taken.items()
    ]
    head = (
        f"{datetime.datetime.now(tz=datetime.UTC).date()}, {os.cpu_count()} cores, load average {load:.1f} at the "
        f"beginning. `make executable` took {built.wall:.0f} s, and {built.processor:.0f} s of processor time.\n\n"
    )
    return head + COLUMNS + "".join(rows)


def write(text: str) -> None:
    """Replace the table of bench/README.md."""
    page = README.read_text()
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        sys.exit(f"{README} has no {BEGIN.strip()} before {END.strip()}")
    README.write_text(before + BEGIN + text + END + after)


def main(arguments: Sequence[str]) -> None:
    """Measure the pages, print the table, and write it if that is wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="java, go or node; by default all")
    wanted = parser.parse_args(arguments)
    if unknown := set(wanted.pages) - {page.name.lower() for page in PAGES}:
        parser.error(f"PAGE={min(unknown)}: there is no such page; java, go and node are allowed")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree, built = build(folder)
        chosen = [page for page in PAGES if not wanted.pages or page.name.lower() in wanted.pages]
        taken = {page.name: first_test(page, tree, folder) for page in chosen}
    text = table(taken, built, load)
    print(text, end="")
    if wanted.write:
        write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
