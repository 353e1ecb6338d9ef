"""Recipes: how the driver of one SDK is built and started, as data.

A recipe is stored next to the driver's source, in ``<folder>/recipe.py``, and is listed in ``registry.py``. It must not
know the cache, locks or processes, which belong to ``build.py`` and ``process.py``.
"""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal

Protocol = Literal["remoting", "grpc"]

BUILD_SECONDS_MAX = 1800
"""A clean Rust build takes over a minute on two cores; a build that takes this long is stuck."""


class BuildError(Exception):
    """A driver cannot be built; the text says which one, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One executable that a build or a start needs, and a sentence that says how to install it."""

    name: str
    get: str


@dataclass(frozen=True, slots=True)
class BuildFolders:
    """The folders of one build: ``source`` is the recipe's folder (read only), ``target`` is filled by the build.

    ``target`` is empty at first and is renamed after the build, so no file in it may contain its path. Start the
    interpreter of a virtual environment, for example, not its scripts.
    """

    source: Path
    target: Path

    def run(self, *argv: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        """Run one build command in ``target`` (or ``cwd``) with ``env`` added to the environment; return its stdout.

        Raises BuildError with the end of the command's output if it fails.
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
    """Inputs for the start of one driver process: the finished build and the process's own HOME.

    ``load`` requests a process tuned for long runs under load instead of a quick start; a runtime without such options
    ignores it.
    """

    built: Path
    home: Path
    load: bool = False


def no_environment(_launch: Launch) -> dict[str, str]:
    """Add nothing to the environment of a driver process."""
    return {}


def nothing_to_finish(_built: Path) -> None:
    """Add nothing to a build in its final folder."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build and start the driver of one SDK.

    ``package`` and ``version`` name the published SDK. ``folder`` contains the driver's source. ``build`` fills the
    target of a BuildFolders. A finished build is kept, and used again as long as all of these are unchanged: the files
    in ``folder`` and in ``shared`` (further files or folders), ``version``, and ``other_inputs`` (further text, such as
    the Python version of a virtual environment). ``command`` returns the command line of the driver, to which the
    caller appends ``--namesrv`` or ``--endpoint`` and the other options of PROTOCOL.md. ``environment`` is added to
    the process's environment, in which HOME is already set. ``finish_in_place`` adds to a build in its final folder
    the files that contain the path of that folder, such as an archive of Java classes; the driver also starts
    without them.
    """

    name: str
    language: str
    protocol: Protocol
    package: str
    _: KW_ONLY
    version: str
    folder: Path
    build: Callable[[BuildFolders], None]
    command: Callable[[Launch], Sequence[str]]
    tools: tuple[Tool, ...] = ()
    environment: Callable[[Launch], Mapping[str, str]] = no_environment
    shared: tuple[Path, ...] = ()
    other_inputs: tuple[str, ...] = ()
    finish_in_place: Callable[[Path], None] = nothing_to_finish
