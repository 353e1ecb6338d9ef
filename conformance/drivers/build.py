"""Builds each SDK driver once and caches it in a folder named ``<sdk>-<hash>``.

The hash covers the sources, the SDK's version and the other inputs of the recipe. The cache is the folder
``$ROCKETMQ_TESTKIT_CACHE``; if the variable is not set, ``~/.cache/rocketmq-testkit/drivers``.

A build runs in a temporary folder of the cache, which gets its final name when the driver can be started. Then the
recipe adds the files that contain the final path, such as an archive of Java classes; a driver also starts without
them. If this last step fails, the build is removed. A file lock prevents two processes from building the same driver.

Command: ``python -m rocketmq_testkit.conformance.drivers.build [NAME ...]`` (no name: all of them).
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path

from . import registry
from .toolchains.recipe import BuildError, BuildFolders, Recipe

Announce = Callable[[str], AbstractContextManager[None]]
"""Takes a driver's name and returns a context manager that shows, within its block, that the driver is being built."""
_NOT_SOURCE = {"__pycache__", "target", "node_modules", "bin", ".venv"}


def cache_folder() -> Path:
    """Return the folder of finished builds: ``$ROCKETMQ_TESTKIT_CACHE`` or ``~/.cache/rocketmq-testkit/drivers``."""
    chosen = os.environ.get("ROCKETMQ_TESTKIT_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "rocketmq-testkit" / "drivers"


def fingerprint(recipe: Recipe) -> str:
    """Return sixteen hex digits: a hash of everything that the build of ``recipe`` depends on."""
    digest = hashlib.sha256()
    for text in (recipe.name, recipe.package, recipe.version, *recipe.other_inputs):
        digest.update(f"{len(text)}:{text}".encode())
    for top in (recipe.folder, *recipe.shared):
        for path in _files(top):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(top.parent)}:{len(content)}:".encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def build_folder(recipe: Recipe) -> Path:
    """Return the folder of the finished build of ``recipe``; it exists once the driver was built."""
    return cache_folder() / f"{recipe.name}-{fingerprint(recipe)}"


def build(recipe: Recipe, announce: Announce | None = None) -> Path:
    """Build the driver of ``recipe`` if it is not cached, and return its folder.

    ``announce`` shows that a build is in progress, by default in lines on standard error. Raises BuildError if a tool
    is missing (before anything is started) or a build command fails.
    """
    final = build_folder(recipe)
    if final.is_dir():
        return final
    require_tools(recipe, *(tool.name for tool in recipe.tools))
    final.parent.mkdir(parents=True, exist_ok=True)
    with locked(final.with_name(final.name + ".lock")):
        if not final.is_dir():
            with (announce or announced)(recipe.name):
                _build_into(recipe, final)
    return final


def require_tools(recipe: Recipe, *names: str) -> None:
    """Raise BuildError, which says how to install them, if programs of these names are missing."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        advice = {tool.name: tool.get for tool in recipe.tools}
        wanted = "; ".join(f"{name} is not installed: {advice.get(name, 'the build requires it')}" for name in missing)
        raise BuildError(f"the {recipe.name} driver cannot be built or started. {wanted}")


def _build_into(recipe: Recipe, final: Path) -> None:
    target = Path(tempfile.mkdtemp(prefix=f".{recipe.name}-", dir=final.parent))
    try:
        recipe.build(BuildFolders(source=recipe.folder, target=target))
        target.rename(final)
        try:
            recipe.finish_in_place(final)
        except BaseException:
            final.rename(target)
            raise
    except BuildError as error:
        raise BuildError(f"the {recipe.name} driver cannot be built. {error}") from error
    finally:
        shutil.rmtree(target, ignore_errors=True)


@contextlib.contextmanager
def announced(name: str, every_seconds: float = 15.0) -> Iterator[None]:
    """Print to standard error that a build starts, that it continues, and how long it took: it may take minutes."""
    begin = time.monotonic()
    done = threading.Event()

    def report(text: str) -> None:
        print(f"{name}: {text}", file=sys.stderr, flush=True)

    def report_progress() -> None:
        while not done.wait(every_seconds):
            report(f"still building, {time.monotonic() - begin:.0f} s")

    report("building; the build is kept until its sources change")
    thread = threading.Thread(target=report_progress, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    report(f"built in {time.monotonic() - begin:.0f} s")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on this file within the block, across processes."""
    # The file is not removed: otherwise a third process could lock a new file of the same name.
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _files(top: Path) -> list[Path]:
    if top.is_file():
        return [top]
    return sorted(
        path for path in top.rglob("*") if path.is_file() and not _NOT_SOURCE.intersection(path.relative_to(top).parts)
    )


def main(arguments: list[str] | None = None) -> int:
    """Build the named drivers, or all; print one line each. Exit code 1 if one cannot be built, 2 for a bad name."""
    parser = argparse.ArgumentParser(prog="python -m rocketmq_testkit.conformance.drivers.build")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(registry.names())}; none: all")
    options = parser.parse_args(arguments)
    try:
        recipes = [registry.recipe(name) for name in options.names or registry.names()]
    except LookupError as error:
        parser.error(str(error))
    # Languages in parallel; drivers of one language share its package manager and its downloads.
    languages = [list(group) for _, group in groupby(sorted(recipes, key=_language), _language)]
    with ThreadPoolExecutor(len(languages)) as pool:
        return 0 if all(list(pool.map(_build_in_sequence, languages))) else 1


def _language(recipe: Recipe) -> str:
    return recipe.language


def _build_in_sequence(recipes: Sequence[Recipe]) -> bool:
    """Build one driver after the other and print a line for each; returns True if all could be built."""
    all_built = True
    for recipe in recipes:
        begin = time.monotonic()
        try:
            print(f"{recipe.name}: {build(recipe)} ({time.monotonic() - begin:.1f} s)", flush=True)
        except BuildError as error:
            all_built = False
            print(error, file=sys.stderr, flush=True)
    return all_built


if __name__ == "__main__":
    sys.exit(main())
