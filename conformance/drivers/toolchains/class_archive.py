"""Class data archives of Java programs: with one, a JVM starts with nearly half of the processor time.

An archive is stored next to its jars in their final folder, because it contains their paths. It contains the classes
that a first run loads. A JVM that cannot use it, because of another version or a moved folder, starts without it and
prints nothing.
"""

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .recipe import BuildError, BuildFolders

NAME = "classes.jsa"
_RUN_SECONDS_MAX = 120.0

Run = Callable[[Sequence[str]], None]
"""Runs programs in JVMs with these additional options."""


def switches(built: Path) -> list[str]:
    """Return the JVM options for the archive of the jars in ``built/lib``; empty if there is no archive."""
    archive = built / NAME
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:class+path=off"] if archive.is_file() else []


def make(built: Path, run: Run) -> None:
    """Create the archive of ``built/lib``, with the classes that the JVMs of ``run`` load.

    Raises BuildError, and the errors of ``run``.
    """
    archive = built / NAME
    with tempfile.TemporaryDirectory(prefix=f"{built.name}-classes-") as name:
        folder = Path(name)
        run([f"-XX:DumpLoadedClassList={folder}/%p.list"])
        listed = folder / "classes"
        listed.write_text("".join(f"{each}\n" for each in _loaded(folder)))
        draft = archive.with_suffix(".draft")
        options = ("-XX:+UseSerialGC", "-Xshare:dump", f"-XX:SharedClassListFile={listed}")
        # The class path must be the same text with which programs are started.
        BuildFolders(folder, folder).run("java", *options, f"-XX:SharedArchiveFile={draft}", "-cp", f"{built}/lib/*")
        draft.replace(archive)


def converse(words: Sequence[str], commands: Sequence[Mapping[str, Any]], environment: Mapping[str, str]) -> None:
    """Start a driver, send it these commands, and end it after all replies and one message to a listener.

    Raises BuildError if the driver rejects a command, ends early, or takes too long.
    """
    process = subprocess.Popen(
        list(words), env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    limit = threading.Timer(_RUN_SECONDS_MAX, process.kill)
    limit.start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, command in enumerate(commands):
            process.stdin.write(json.dumps({"i": number, **command}).encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):  # an early end is reported below
            process.stdin.flush()
        waited_for = {*range(len(commands)), "msg"}
        while waited_for:
            line = process.stdout.readline()
            if not line:
                raise BuildError(f"{words[0]} ended, or was ended after {_RUN_SECONDS_MAX:g} s, in its first run")
            said = json.loads(line)
            if said.get("ok") is False:
                raise BuildError(f"the driver's first run failed: {line.decode(errors='replace')}")
            waited_for.discard(said["i"] if "i" in said else said.get("ev"))
        process.communicate(json.dumps({"i": -1, "do": "exit"}).encode() + b"\n")
    finally:
        limit.cancel()
        process.kill()
        process.wait()


def _loaded(folder: Path) -> list[str]:
    """Return the lines of all lists without duplicates; the last line may be incomplete if the process was killed."""
    lines: dict[str, None] = {}
    for each in sorted(folder.glob("*.list")):
        lines |= dict.fromkeys(each.read_text().rpartition("\n")[0].splitlines())
    return list(lines)
