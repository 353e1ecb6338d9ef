"""Measures reset, fork, snapshot and fixtures of the emulator beside those of other tools, in one run.

    python bench/testkit.py [--write] [--repeats N] [--only TEXT]

The other tools are installed into `.venv-peers`, with the versions of `bench/peers/requirements.txt`, and PostgreSQL by
apt-get if it is missing. A tool that cannot be installed or measured is named with the reason. The exit code is 1 if
the emulator misses a goal. A goal applies to the median of the processor time, which other load changes less than the
wall clock.
"""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from document import Table
from peers.figures import STEPS, Figure, read

BENCH = Path(__file__).resolve().parent
ENVIRONMENT = BENCH.parent / ".venv-peers"
REQUIREMENTS = BENCH / "peers" / "requirements.txt"
POSTGRESQL = Path("/usr/lib/postgresql/15/bin/pg_ctl")
LOADED = 0.5
"""The load average for each processor above which the table says that the machine has other load."""
TABLE = Table("testkit")


class Unavailable(Exception):
    """A tool cannot be measured; the text is the reason."""


@dataclass(frozen=True)
class Module:
    """A module of `bench/peers`, and the name of its tool."""

    name: str
    tool: str

    def command(self) -> list[str | Path]:
        """Return the words that run it. Raises Unavailable."""
        if self.name == "testkit":
            return [sys.executable, "-m", f"peers.{self.name}"]
        words: list[str | Path] = [ENVIRONMENT / "bin" / "python", "-m", f"peers.{self.name}"]
        if self.name == "postgresql":
            install_postgresql()
            if os.geteuid() == 0:  # PostgreSQL refuses to run as root; a namespace shows another user
                words = ["unshare", "--user", "--map-user=65534", "--map-group=65534", *words]
        return words


MODULES = (
    Module("testkit", "rocketmq-testkit"),
    Module("fake_redis", "fakeredis"),
    Module("moto_server", "moto"),
    Module("postgresql", "PostgreSQL"),
    Module("kafka_mock", "librdkafka mock"),
)


def install_peers() -> None:
    """Make the environment of the other tools unless it has these versions. Raises Unavailable."""
    stamp = ENVIRONMENT / "requirements.txt"
    if stamp.is_file() and stamp.read_text() == REQUIREMENTS.read_text():
        return
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    run_or_raise([sys.executable, "-m", "venv", ENVIRONMENT])
    pip: list[str | Path] = [
        ENVIRONMENT / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    run_or_raise([*pip, "--requirement", REQUIREMENTS])
    stamp.write_text(REQUIREMENTS.read_text())


def install_postgresql() -> None:
    """Install Debian's package of PostgreSQL if it is missing. Raises Unavailable."""
    if POSTGRESQL.is_file():
        return
    if shutil.which("apt-get") is None:
        raise Unavailable(f"there is no {POSTGRESQL}, and no apt-get to install it")
    before = [] if os.geteuid() == 0 else ["sudo", "-n"]
    for words in (["update"], ["install", "-y", "--no-install-recommends", "postgresql-15"]):
        run_or_raise([*before, "apt-get", *words])


def run_or_raise(words: Sequence[str | Path]) -> str:
    """Run a command and return its output. Raises Unavailable with the last line of its errors."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = " ".join(map(str, words[:4]))
    try:
        done = subprocess.run(
            words, cwd=BENCH, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise Unavailable(f"{command}: {error}") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise Unavailable(f"`{command}` ends with code {done.returncode}: {lines[-1]}")
    return done.stdout


def measured(only: str, repeats: int) -> list[Figure]:
    """Return the figures of all tools; one with a reason for a tool that cannot be measured."""
    found: list[Figure] = []
    reason = ""
    try:
        install_peers()
    except Unavailable as error:
        reason = str(error)
    for module in MODULES:
        if only not in module.name:
            continue
        print(f"{module.tool} ...", file=sys.stderr, flush=True)
        try:
            if reason and module.name != "testkit":
                raise Unavailable(reason)
            found += read(run_or_raise([*module.command(), str(repeats)]))
        except Unavailable as error:
            found.append(Figure(module.tool, "", why=str(error)))
    return found


def missed(figure: Figure) -> bool:
    """True if the median of the processor time is above the goal."""
    return figure.goal is not None and statistics.median(figure.cpu_ms) > figure.goal


def _row(figure: Figure) -> str:
    """Return the row of a figure."""
    if figure.kib is not None:
        cells = [f"{figure.kib:,.0f} KiB", "", "", ""]
    else:
        times = (figure.wall_ms, figure.cpu_ms)
        cells = [f"{function(each):,.2f}" if each else "-" for each in times for function in (min, statistics.median)]
    goal = "" if figure.goal is None else f"{figure.goal:g}"
    return f"| {figure.step} | {figure.tool} | {figure.way} | {' | '.join(cells)} | {goal} |"


def table(figures: Sequence[Figure], repeats: int, load: float) -> str:
    """Return the table, and a sentence for each tool that is not in it. `load`: the load average before."""
    busy = load / (os.cpu_count() or 1) > LOADED
    with_load = f"with other load (load average before: {load:.1f})" if busy else "that run nothing else"
    steps = list(STEPS)
    steps += [figure.step for figure in figures if figure.step not in steps]
    measured_ones = [figure for figure in figures if not figure.why]
    rows = [_row(figure) for step in steps for figure in measured_ones if figure.step == step]
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores {with_load}"
    head = [
        f"{date.today()}, {machine}; ms, {repeats} repeats.",
        "",
        "| step | tool | way | wall min | wall median | CPU min | CPU median | goal |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    ]
    lost = [f"Not measured: {figure.tool}, because {figure.why}." for figure in figures if figure.why]
    return "\n".join([*head, *rows, *(["", *lost] if lost else [])]) + "\n"


def main() -> int:
    """Print the table; with `--write`, also write it to bench/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table to bench/README.md")
    parser.add_argument("--repeats", type=int, default=20, help="repeats of each step (default 20)")
    parser.add_argument("--only", default="", help="measure only modules of bench/peers whose name contains this text")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    figures = measured(options.only, options.repeats)
    text = table(figures, options.repeats, load)
    print(text)
    if options.write:
        TABLE.write(text)
    slow = [figure for figure in figures if missed(figure)]
    for figure in slow:
        print(f"{figure.step}: {statistics.median(figure.cpu_ms):.2f} ms, at most {figure.goal:g} ms", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
