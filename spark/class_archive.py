"""The archive of the classes that Spark's JVM loads: with one, the first row is there some seconds sooner.

The JVM of a first session lists the classes that it loads, which costs it next to nothing; when a later session begins,
an archive of them is made beside it, by a process of low priority that takes half a minute of one core; sessions that
begin after that share what is in it. A draft is only taken once it is finished, and a JVM that cannot use an archive,
because Java or Spark was changed in place or the class path has more in front, starts as without one and says nothing.
The files (some 180 MB) lie in ``$ROCKETMQ_TESTKIT_CACHE/spark``, by default in ``~/.cache/rocketmq-testkit/spark``.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pyspark

MAGIC = bytes.fromhex("a2ab0bf0")
"""How a finished archive begins (upstream: CDS_ARCHIVE_MAGIC of the JDK); it is written last."""
MINUTES_MAX = 30
"""A draft that is not finished after so long is made by nobody any more."""

# To verify the code of Spark's own classes takes seconds; that of an archive is verified when it is made.
_UNVERIFIED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
_SILENT = ("-XX:+IgnoreUnrecognizedVMOptions", "-Xlog:cds*=off", "-Xlog:class+path=off")


def folder() -> Path:
    """Where archives are kept."""
    chosen = os.environ.get("ROCKETMQ_TESTKIT_CACHE")
    return (Path(chosen) if chosen else Path.home() / ".cache" / "rocketmq-testkit") / "spark"


def switches(kept: Path | None = None) -> list[str]:
    """Those of a JVM that uses the archive, or lists its classes where nobody has; none where nothing can be kept.

    Where a JVM that has listed its classes is over, an archive begins to be made; until there is one, classes are taken
    as they are.
    """
    try:
        return _switches(folder() if kept is None else kept)
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        return []


def _switches(kept: Path) -> list[str]:
    java = _java()
    if java is None:
        return []
    key = _key(java)
    archive = kept / f"{key}.jsa"
    draft = archive.with_suffix(".draft")
    lists = list(kept.glob(f"{key}.pid*.classes"))
    if not archive.is_file() and _is_finished(draft):
        with contextlib.suppress(FileNotFoundError):  # another session was quicker
            draft.replace(archive)
    if archive.is_file():
        _remove(*lists)
        return [f'"-XX:SharedArchiveFile={archive}"', *_SILENT]
    if _is_left(draft):
        _remove(draft, *lists)
        lists = []
    if not lists:
        kept.mkdir(parents=True, exist_ok=True)
        # For the two characters the JVM puts "pid" and its number.
        return [f'"-XX:DumpLoadedClassList={kept / key}.%p.classes"', *_UNVERIFIED, *_SILENT]
    complete = [each for each in lists if _is_over(each)]
    if complete:
        with contextlib.suppress(FileExistsError):  # another session has begun
            draft.open("x").close()
            _begin(complete[0], draft)
    return [*_UNVERIFIED, *_SILENT]


def _begin(listed: Path, draft: Path) -> None:
    """Have the archive made, by Spark's own command, for the class path must be that of sessions to the letter."""
    # Of a JVM that was killed the last line may be half a one.
    listed.write_text("".join(f"{line}\n" for line in listed.read_text().rpartition("\n")[0].splitlines()))
    told = f'-XX:+UseSerialGC -Xshare:dump "-XX:SharedClassListFile={listed}" "-XX:SharedArchiveFile={draft}"'
    command = [str(_spark() / "bin" / "spark-submit"), "--driver-java-options", told, "pyspark-shell"]
    # It outlives a session that is over sooner, and nobody has to wait for its end.
    detached = 'nice -n 19 "$0" "$@" </dev/null >/dev/null 2>&1 &'
    subprocess.run(["sh", "-c", detached, *command], start_new_session=True, check=False)


def _java() -> Path | None:
    """The program that Spark starts: of ``$JAVA_HOME``, else the first of the path."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    return Path(found).resolve(strict=True) if found else None


def _spark() -> Path:
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _key(java: Path) -> str:
    """Another one for each Java and Spark."""
    told = f"{java} {java.stat().st_mtime_ns} {_spark()} {pyspark.__version__}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _is_over(listed: Path) -> bool:
    """Whether the JVM whose number is in the name has ended."""
    try:
        os.kill(int(listed.suffixes[-2].removeprefix(".pid")), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _is_finished(draft: Path) -> bool:
    with contextlib.suppress(FileNotFoundError), draft.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
    return False


def _is_left(draft: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return time.time() - draft.stat().st_mtime > MINUTES_MAX * 60
    return False


def _remove(*files: Path) -> None:
    for each in files:
        each.unlink(missing_ok=True)
