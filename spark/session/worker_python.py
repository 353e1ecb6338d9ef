"""Interpreter of Spark's Python workers, which imports the installed PySpark instead of an archive.

Spark puts its `pyspark.zip` at the front of the workers' import path. Python stores no compiled code for modules in an
archive. So each kind of worker first compiles two hundred modules, which takes most of a second of one core. Four kinds
are needed before the first row arrives.

The program created here removes that archive from the import path. It is a small script in
``$ROCKETMQ_TESTKIT_CACHE/spark``, by default in ``~/.cache/rocketmq-testkit/spark``.
"""

import hashlib
import os
import shlex
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from . import class_archive

VARIABLES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
"""Variables that Spark reads: for workers that run tasks and read plans, and for the worker that finds data sources."""

_SCRIPT = """#!/bin/sh
# Python without the archives of PySpark's sources that Spark puts in front of its path.
set -f
kept=
IFS=:
for each in $PYTHONPATH; do
    case $each in
    */python/lib/pyspark.zip | */python/lib/py4j-*-src.zip) ;;
    *) kept=${kept:+$kept:}$each ;;
    esac
done
PYTHONPATH=$kept exec %s "$@"
"""


def choose(master: str) -> None:
    """Make workers of this process's sessions start with `program()` on a local master, else with this interpreter.

    A program that the environment already names stays.
    """
    chosen = program() if master.startswith("local") else sys.executable
    for each in VARIABLES:
        os.environ.setdefault(each, chosen)


def program(kept: Path | None = None) -> str:
    """Return the program's path, or this interpreter's if workers need the archives or the script cannot be stored.

    `kept` is the folder of the script, by default that of the class data archives.
    """
    if os.name != "posix" or "SPARK_HOME" in os.environ or not _is_installed():
        return sys.executable
    try:
        return _script(class_archive.folder() if kept is None else kept) or sys.executable
    except (OSError, RuntimeError):  # no home, or one that is not writable
        return sys.executable


def _is_installed() -> bool:
    """True if a newly started interpreter finds the same PySpark without Spark's help."""
    packages = Path(sysconfig.get_path("purelib"))
    found = [find_spec(name) for name in ("pyspark", "py4j")]
    return all(each is not None and each.origin == str(packages / each.name / "__init__.py") for each in found)


def _script(kept: Path) -> str | None:
    text = _SCRIPT % shlex.quote(sys.executable)
    path = kept / f"python-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if not path.is_file():
        kept.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(path)  # other processes may start it at this moment
    # Not executable if the file system of the home forbids programs.
    return str(path) if os.access(path, os.X_OK) else None
