"""Class data archive of Spark's JVM, with which the first row arrives some seconds sooner.

The JVM of a first session lists the classes that it loads, at almost no cost. When a later session starts, a
low-priority process creates an archive of them, which takes half a minute of one core. Sessions that start after that
use the archive. The archive is written as a draft, which no session uses before it is complete. A JVM that cannot use
an archive, because Java, Spark or the class path has changed, starts without it and prints nothing. The files (some 180
MB) are stored in ``$ROCKETMQ_TESTKIT_CACHE/spark``, by default in ``~/.cache/rocketmq-testkit/spark``.
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
"""First bytes of a complete archive (upstream: CDS_ARCHIVE_MAGIC of the JDK); they are written last."""
MINUTES_MAX = 30
"""Age in minutes after which an incomplete draft counts as abandoned."""

# Bytecode verification of Spark's own classes takes seconds; classes of an archive are verified at its creation.
_UNVERIFIED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
_SILENT = ("-XX:+IgnoreUnrecognizedVMOptions", "-Xlog:cds*=off", "-Xlog:class+path=off")


def folder() -> Path:
    """Return the folder of the archives."""
    chosen = os.environ.get("ROCKETMQ_TESTKIT_CACHE")
    return (Path(chosen) if chosen else Path.home() / ".cache" / "rocketmq-testkit") / "spark"


def switches(kept: Path | None = None) -> list[str]:
    """Return JVM options that use the archive, or list the loaded classes; empty if the cache is unusable.

    `kept` is the folder of the archives, by default `folder()`. If a JVM that has listed its classes has ended,
    creation of an archive starts. Until it is complete, classes are loaded as usual.
    """
    try:
        return _switches(folder() if kept is None else kept)
    except (OSError, RuntimeError):  # no home, or one that is not writable
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
        with contextlib.suppress(FileNotFoundError):  # another session was faster
            draft.replace(archive)
    if archive.is_file():
        _remove(*lists)
        return [f'"-XX:SharedArchiveFile={archive}"', *_SILENT]
    if _is_abandoned(draft):
        _remove(draft, *lists)
        lists = []
    if not lists:
        kept.mkdir(parents=True, exist_ok=True)
        # The JVM replaces these two characters with "pid" and its process id.
        return [f'"-XX:DumpLoadedClassList={kept / key}.%p.classes"', *_UNVERIFIED, *_SILENT]
    complete = [each for each in lists if _jvm_has_ended(each)]
    if complete:
        with contextlib.suppress(FileExistsError):  # another session has started it
            draft.open("x").close()
            _start_creation(complete[0], draft)
    return [*_UNVERIFIED, *_SILENT]


def _start_creation(listed: Path, draft: Path) -> None:
    """Create the archive with Spark's own command, because the class path must be identical to that of sessions."""
    # The last line of a killed JVM's list may be incomplete.
    listed.write_text("".join(f"{line}\n" for line in listed.read_text().rpartition("\n")[0].splitlines()))
    options = f'-XX:+UseSerialGC -Xshare:dump "-XX:SharedClassListFile={listed}" "-XX:SharedArchiveFile={draft}"'
    command = [str(_spark() / "bin" / "spark-submit"), "--driver-java-options", options, "pyspark-shell"]
    # The command outlives a session that ends earlier, and no session waits for it.
    detached = 'nice -n 19 "$0" "$@" </dev/null >/dev/null 2>&1 &'
    subprocess.run(["sh", "-c", detached, *command], start_new_session=True, check=False)


def _java() -> Path | None:
    """Return the Java program that Spark starts: from ``$JAVA_HOME``, or else the first one in PATH."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    return Path(found).resolve(strict=True) if found else None


def _spark() -> Path:
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _key(java: Path) -> str:
    """Return a key that is unique to this Java and Spark."""
    identity = f"{java} {java.stat().st_mtime_ns} {_spark()} {pyspark.__version__}"
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _jvm_has_ended(listed: Path) -> bool:
    """True if the JVM whose process id is in the name has ended."""
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


def _is_abandoned(draft: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return time.time() - draft.stat().st_mtime > MINUTES_MAX * 60
    return False


def _remove(*files: Path) -> None:
    for each in files:
        each.unlink(missing_ok=True)
