"""What a recipe is: how the driver of one SDK is built and started, as data.

A recipe lives beside the driver's source, in ``<folder>/recipe.py``, and is entered in ``registry.py``. It knows
nothing of the cache, of locks or of processes: ``build.py`` and ``process.py`` own those.
"""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Protocol = Literal["remoting", "grpc"]

BUILD_SECONDS_MAX = 1800
"""A clean Rust build takes over a minute on two cores; a build that takes this long will never end."""


class BuildError(Exception):
    """A driver cannot be built; the text says which one, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One executable that a build or a start needs, and the sentence that tells how to get it."""

    name: str
    get: str


@dataclass(frozen=True, slots=True)
class Workshop:
    """The place of one build: ``source`` is the recipe's folder (read only), ``target`` an empty folder to fill.

    ``target`` is renamed when the build is complete, so nothing in it may hold its own path: call the interpreter of a
    virtual environment, not its scripts.
    """

    source: Path
    target: Path

    def run(self, *argv: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        """Run one build command in ``target`` (or ``cwd``) with ``env`` added to the environment; return its stdout.

        Raises BuildError with the end of what the command printed when it fails.
        """
        words = [str(word) for word in argv]
        try:
            done = subprocess.run(
                words,
                cwd=cwd or self.target,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=BUILD_SECONDS_MAX,
                check=False,
            )
        except FileNotFoundError as error:
            raise BuildError(f"cannot run {words[0]}: {error.strerror or error}") from error
        except subprocess.TimeoutExpired as error:
            raise BuildError(f"{' '.join(words)} did not end within {BUILD_SECONDS_MAX} s") from error
        if done.returncode != 0:
            printed = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
            raise BuildError(f"{' '.join(words)} ended with exit code {done.returncode}:\n{printed}")
        return done.stdout


@dataclass(frozen=True, slots=True)
class Launch:
    """What the start of one driver process depends on: the finished build and the process's own HOME.

    ``load`` asks for a process that is made for long runs under load rather than for a quick start; a runtime without
    such a choice ignores it.
    """

    built: Path
    home: Path
    load: bool = False


def no_environment(_launch: Launch) -> dict[str, str]:
    """Add nothing to the environment of a driver process."""
    return {}


def settled(_built: Path) -> None:
    """Do nothing once a build stands in its place."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build and start the driver of one SDK.

    ``package`` and ``version`` name the published SDK. ``folder`` holds the driver's source; every file in it and in
    ``shared`` (further files or folders) counts for the cache key, as do ``version`` and ``salt`` (further text, such
    as the Python version that a virtual environment was made with). ``build`` fills a Workshop's target; ``command``
    gives the words that start the driver, to which the caller appends ``--namesrv`` or ``--endpoint`` and the other
    switches of PROTOCOL.md; ``environment`` is added to the process's environment, in which HOME is set already.
    ``settle`` adds to a finished build what has to know its final place, and what the build is whole without.
    """

    name: str
    language: str
    protocol: Protocol
    package: str
    version: str
    folder: Path
    build: Callable[[Workshop], None]
    command: Callable[[Launch], Sequence[str]]
    tools: tuple[Tool, ...] = ()
    environment: Callable[[Launch], Mapping[str, str]] = no_environment
    shared: tuple[Path, ...] = ()
    salt: tuple[str, ...] = ()
    settle: Callable[[Path], None] = settled
