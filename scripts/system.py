"""Makes sure of the programs that tests need from outside Python.

What Debian packages recent enough is installed when it is missing (as root, or through sudo where that asks nothing);
for the rest there is a sentence that says what to do.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass


class MissingProgram(Exception):
    """Something is missing and cannot be installed here; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, the Debian packages that bring it, and the oldest version that will do (empty: any).

    `version` is the command that prints the version. Without packages it has to be there already.
    """

    name: str
    packages: tuple[str, ...]
    version: tuple[str, ...] = ()
    oldest: tuple[int, ...] = ()


PROGRAMS = (
    Program("git", ("git",)),
    Program("curl", ("curl",)),
    Program("openssl", ("openssl",)),
    Program("ps", ("procps",)),
    Program("ip", ("iproute2",)),
    Program("buildah", ("buildah",)),
    Program("debootstrap", ("debootstrap",)),
    Program("javac", ("openjdk-17-jdk-headless",), ("javac", "-version"), (17,)),
    Program("mvn", ("maven",)),
    Program("node", ("nodejs",), ("node", "--version"), (18,)),
    Program("npm", ("npm",)),
    Program("go", (), ("go", "version"), (1, 24)),
    Program("cargo", ()),
)
_VERSION = re.compile(r"\d+(?:\.\d+)+|\d+")


def lacking(programs: Iterable[Program] = PROGRAMS) -> list[Program]:
    """Those that are not on the path."""
    return [program for program in programs if shutil.which(program.name) is None]


def version_of(program: Program) -> tuple[int, ...]:
    """The version that the program on the path tells. Raises MissingProgram when it tells none."""
    done = subprocess.run(program.version, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    # Some print it on standard error.
    found = _VERSION.search(done.stdout + done.stderr)
    if done.returncode != 0 or found is None:
        raise MissingProgram(f"{' '.join(program.version)} does not say its version")
    return tuple(int(part) for part in found[0].split("."))


def install(packages: list[str]) -> None:
    """Install Debian packages without questions. Raises MissingProgram."""
    if shutil.which("apt-get") is None:
        raise MissingProgram(
            f"install {', '.join(packages)} with your system's package manager; there is no apt-get here"
        )
    before = [] if os.geteuid() == 0 else ["sudo", "-n"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # The lists of a fresh machine are empty or old; an old one names packages that are no longer there.
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *packages]):
        try:
            subprocess.run([*before, *command], env=environment, stdin=subprocess.DEVNULL, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise MissingProgram(f"cannot install {', '.join(packages)}: {error}") from None


def ensure(programs: Iterable[Program] = PROGRAMS) -> None:
    """Install what is missing, then check every version. Raises MissingProgram."""
    programs = tuple(programs)
    missing = lacking(programs)
    by_hand = [program.name for program in missing if not program.packages]
    if by_hand:
        raise MissingProgram(
            f"not found: {', '.join(by_hand)}; install it from its maker, Debian's is too old or absent"
        )
    if missing:
        install([package for program in missing for package in program.packages])
        still = lacking(missing)
        if still:
            raise MissingProgram(f"installed, but not on the path: {', '.join(program.name for program in still)}")
    for program in programs:
        if program.oldest and (found := version_of(program)) < program.oldest:
            wanted = ".".join(map(str, program.oldest))
            raise MissingProgram(f"{program.name} is {'.'.join(map(str, found))}; {wanted} or newer is needed")


def main() -> int:
    """Ensure all of them; exit code 1 with one sentence when that fails."""
    try:
        ensure()
    except MissingProgram as error:
        print(f"system: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
