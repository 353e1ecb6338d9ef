"""The archive of the classes that Spark's JVM loads: with one, the first row is there some seconds sooner.

The JVM of a first session writes a draft when it ends, those that start later share what is in it. A draft is only
taken once its JVM has finished it, and a JVM that cannot use an archive, because Java or Spark was changed in place or
the class path has more in front, starts as without one and says nothing. The files (some 160 MB) lie in
``$ROCKETMQ_TESTKIT_CACHE/spark``, by default in ``~/.cache/rocketmq-testkit/spark``.
"""

import contextlib
import hashlib
import os
import shutil
import time
from pathlib import Path

import pyspark

MAGIC = bytes.fromhex("a8ab0bf0")
"""How a finished archive begins (upstream: CDS_DYNAMIC_ARCHIVE_MAGIC of the JDK); it is written last."""
MINUTES_MAX = 30
"""A draft that is not finished after so long has lost its JVM."""

_SILENT = ("-XX:+IgnoreUnrecognizedVMOptions", "-Xlog:cds*=off", "-Xlog:class+path=off")


def folder() -> Path:
    """Where archives are kept."""
    chosen = os.environ.get("ROCKETMQ_TESTKIT_CACHE")
    return (Path(chosen) if chosen else Path.home() / ".cache" / "rocketmq-testkit") / "spark"


def switches(kept: Path | None = None) -> list[str]:
    """Those of a JVM that uses the archive, or writes one where there is none; none where neither can be done."""
    try:
        return _switches(folder() if kept is None else kept)
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        return []


def _switches(kept: Path) -> list[str]:
    found = _java()
    if found is None:
        return []
    archive = kept / f"{_key(found)}.jsa"
    draft = archive.with_suffix(".draft")
    if not archive.is_file() and _is_finished(draft):
        with contextlib.suppress(FileNotFoundError):  # another session was quicker
            draft.replace(archive)
    if archive.is_file():
        return [f'"-XX:SharedArchiveFile={archive}"', *_SILENT]
    kept.mkdir(parents=True, exist_ok=True)
    if _is_left(draft):
        draft.unlink(missing_ok=True)
    try:
        draft.open("x").close()
    except FileExistsError:  # the JVM of another session writes it
        return []
    return [f'"-XX:ArchiveClassesAtExit={draft}"', *_SILENT]


def _java() -> Path | None:
    """The program that Spark starts: of ``$JAVA_HOME``, else the first of the path."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    return Path(found).resolve(strict=True) if found else None


def _key(java: Path) -> str:
    """Another one for each Java and Spark."""
    spark = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    told = f"{java} {java.stat().st_mtime_ns} {spark} {pyspark.__version__}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _is_finished(draft: Path) -> bool:
    with contextlib.suppress(FileNotFoundError), draft.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
    return False


def _is_left(draft: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return time.time() - draft.stat().st_mtime > MINUTES_MAX * 60
    return False
