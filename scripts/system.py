"""Ensures that programs from outside Python, which tests need, are installed.

If Debian packages a recent enough version, a missing program is installed, as root or through sudo without password.
For other programs the error says what to do.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass


class MissingProgram(Exception):
    """A program is missing and cannot be installed here; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, the Debian packages that contain it, and its oldest usable version (empty: any).

    `version` is the command that prints the version. A program without packages must already be installed.
    """

    name: str
    packages: tuple[str, ...]
    version: tuple[str, ...] = ()
    oldest: tuple[int, ...] = ()


PROGRAMS = (
    Program("git", ("git",)),
    Program("curl", ("curl",)),
    Program("openssl", ("openssl",)),
    Program("gpg", ("gnupg",)),
    Program("ps", ("procps",)),
    Program("ip", ("iproute2",)),
    Program("buildah", ("buildah",)),
    Program("debootstrap", ("debootstrap",)),
    Program("g++", ("g++",)),
    Program("podman", ("podman", "crun", "netavark", "aardvark-dns")),
    # The netavark of Debian 12 calls it to map ports, and its package does not depend on it.
    Program("iptables", ("iptables",)),
    Program("javac", ("openjdk-17-jdk-headless",), ("javac", "-version"), (17,)),
    Program("mvn", ("maven",)),
    Program("node", ("nodejs",), ("node", "--version"), (20, 14)),
    Program("npm", ("npm",)),
    Program("chromium", ("chromium",)),
    Program("chromedriver", ("chromium-driver",)),
    Program("go", (), ("go", "version"), (1, 24)),
    Program("cargo", ()),
)
_VERSION = re.compile(r"\d+(?:\.\d+)+|\d+")


def lacking(programs: Iterable[Program] = PROGRAMS) -> list[Program]:
    """Return the programs that are not on the path."""
    return [program for program in programs if shutil.which(program.name) is None]


def version_of(program: Program) -> tuple[int, ...]:
    """Return the version that the program on the path prints. Raises MissingProgram if it prints none."""
    done = subprocess.run(program.version, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    # Some programs print it to standard error.
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
    # The package lists of a fresh machine are empty or outdated; an outdated list names packages that no longer exist.
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *packages]):
        try:
            subprocess.run([*before, *command], env=environment, stdin=subprocess.DEVNULL, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise MissingProgram(f"cannot install {', '.join(packages)}: {error}") from None


def ensure(programs: Iterable[Program] = PROGRAMS) -> None:
    """Install missing programs, then check every version. Raises MissingProgram."""
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
    """Ensure all programs; return exit code 1 with one sentence if that fails."""
    try:
        ensure()
    except MissingProgram as error:
        print(f"system: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
