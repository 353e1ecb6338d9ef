"""The interpreter of Spark's Python workers: one that imports PySpark from where it is installed.

Spark puts its `pyspark.zip` in front of the path of workers. Python keeps no compiled code of what lies in an archive,
so each kind of worker begins with compiling two hundred modules, which takes it most of a second of one core, and
four kinds are needed until a first row has come. The program made here leaves that archive out. It is a small script in
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
"""Where Spark looks: for workers that run tasks and read plans, and for the one that looks for data sources."""

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
    """Have workers of sessions of this process run by it, unless the environment says already by what."""
    chosen = program() if master.startswith("local") else sys.executable
    for each in VARIABLES:
        os.environ.setdefault(each, chosen)


def program(kept: Path | None = None) -> str:
    """Its path; this very interpreter's where workers must look into the archives, or the script cannot be kept."""
    if os.name != "posix" or "SPARK_HOME" in os.environ or not _is_installed():
        return sys.executable
    try:
        return _script(class_archive.folder() if kept is None else kept) or sys.executable
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        return sys.executable


def _is_installed() -> bool:
    """Whether an interpreter that is started anew finds the same PySpark without Spark's help."""
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
        draft.replace(path)  # others may start by it at this moment
    # Not where programs may not lie, on some systems' file systems of homes.
    return str(path) if os.access(path, os.X_OK) else None
