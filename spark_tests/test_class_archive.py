"""Tests of the class data archive: made from a first JVM's list, and used by later ones without side effects."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark_rocketmq.session import class_archive

pytestmark = pytest.mark.sampled("tests")

SECONDS = 240.0
"""Timeout for the creation of an archive on a busy machine."""
CLASSES = 2000
VERIFICATION_OFF = "-XX:-BytecodeVerificationRemote"


@pytest.fixture(autouse=True)
def _normal_priority(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the creation of an archive with normal priority, because other tests may run for minutes."""
    folder = tmp_path_factory.mktemp("bin")
    nice = folder / "nice"
    nice.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    nice.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def java(options: list[str], *more: str) -> "subprocess.CompletedProcess[str]":
    # Spark splits its option's text like a shell.
    words = ["java", *shlex.split(" ".join(options)), *more, "-version"]
    return subprocess.run(words, capture_output=True, text=True, check=True)


def names_a_file(options: list[str]) -> bool:
    """True if the JVM would write a class list or use an archive."""
    return "DumpLoadedClassList" in "".join(options) or "SharedArchiveFile" in "".join(options)


def until_made(kept: Path) -> list[str]:
    """Return the options with the archive, once the process that creates it has ended."""
    give_up = time.monotonic() + SECONDS
    while "SharedArchiveFile" not in (options := class_archive.switches(kept))[0]:
        assert time.monotonic() < give_up, sorted(kept.iterdir())
        time.sleep(0.1)
    return options


def test_later_jvms_use_the_archive_of_the_classes_of_the_first(tmp_path: Path) -> None:
    kept = tmp_path / "a folder"

    first = class_archive.switches(kept)
    said = java(first)
    second = class_archive.switches(kept)
    plain = java(second)
    later = until_made(kept)

    assert "DumpLoadedClassList" in first[0]
    assert "DumpLoadedClassList" not in said.stdout + said.stderr
    assert second == first[1:]
    assert plain.stderr == java([]).stderr
    assert VERIFICATION_OFF in second
    assert VERIFICATION_OFF not in later
    assert "SharedArchiveFile" in later[0]
    assert "sharing" in java(later, "-Xshare:on").stderr
    assert class_archive.switches(kept) == later
    assert [file.suffix for file in kept.iterdir()] == [".jsa"]


def test_no_archive_is_made_of_a_class_list_that_is_still_written(tmp_path: Path) -> None:
    class_archive.switches(tmp_path)
    key = class_archive.switches(tmp_path)[0].partition(f"{tmp_path}/")[2].partition(".")[0]
    listed = tmp_path / f"{key}.pid{os.getpid()}.classes"
    listed.write_text("java/lang/Object id: 0\n")

    assert not names_a_file(class_archive.switches(tmp_path))
    assert list(tmp_path.iterdir()) == [listed]


def test_an_incomplete_line_of_a_killed_jvm_is_left_out(tmp_path: Path) -> None:
    java(class_archive.switches(tmp_path))
    (listed,) = tmp_path.iterdir()
    with listed.open("a") as file:
        file.write("@lambda-proxy java/lang/inv")

    class_archive.switches(tmp_path)

    assert listed.read_text().endswith("\n")
    assert "SharedArchiveFile" in until_made(tmp_path)[0]


def test_an_unfinished_draft_is_deleted_after_a_time_limit(tmp_path: Path) -> None:
    java(class_archive.switches(tmp_path))
    (listed,) = tmp_path.iterdir()
    draft = tmp_path / f"{listed.name.partition('.')[0]}.draft"
    draft.write_bytes(bytes(1000))

    young = class_archive.switches(tmp_path)
    long_ago = draft.stat().st_mtime - 60 * class_archive.MINUTES_MAX - 1
    os.utime(draft, (long_ago, long_ago))
    old = class_archive.switches(tmp_path)

    assert not names_a_file(young)
    assert "DumpLoadedClassList" in old[0]
    assert list(tmp_path.iterdir()) == []


def test_a_jvm_with_a_broken_archive_starts_without_it_and_without_warning(tmp_path: Path) -> None:
    java(class_archive.switches(tmp_path))
    options = until_made(tmp_path)
    (archive,) = tmp_path.iterdir()
    archive.chmod(0o600)
    archive.write_bytes(class_archive.MAGIC + bytes(5000))

    broken = java(options)
    plain = java([])

    assert broken.stdout == plain.stdout
    assert broken.stderr.replace(", sharing", "") == plain.stderr.replace(", sharing", "")


def test_without_a_usable_folder_or_java_there_are_no_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()

    assert class_archive.switches(file) == []
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert class_archive.switches(tmp_path) == []


def test_another_java_has_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java(class_archive.switches(tmp_path))
    other = tmp_path / "other" / "bin" / "java"
    other.parent.mkdir(parents=True)
    other.touch()
    monkeypatch.setenv("JAVA_HOME", str(other.parent.parent))

    assert "DumpLoadedClassList" in class_archive.switches(tmp_path)[0]


def test_archives_are_kept_in_the_folder_of_the_cache_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETMQ_TESTKIT_CACHE", str(tmp_path))

    assert class_archive.folder() == tmp_path / "spark"


SESSION = """
from pathlib import Path
from pyspark_rocketmq.testing import start_session
spark = start_session()
java = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
print([line.split()[-1] for line in Path(f"/proc/{java}/maps").read_text().splitlines() if line.endswith(".jsa")])
spark.stop()
"""


def test_sessions_for_tests_use_the_archive(tmp_path: Path) -> None:
    def run() -> str:
        environment = {**os.environ, "ROCKETMQ_TESTKIT_CACHE": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = run()
    (listed,) = (tmp_path / "spark").glob("*.classes")
    # An archive of all classes takes half a minute; one of a part of them is valid, too.
    listed.write_text("".join(listed.read_text().splitlines(keepends=True)[:CLASSES]))
    options = until_made(tmp_path / "spark")

    assert str(tmp_path) not in before
    assert f"{tmp_path}/spark/" in options[0]
    assert f"{tmp_path}/spark/" in run()
