"""The archive of classes: written by a first JVM, used by those that start later, in nobody's way otherwise."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark_rocketmq import class_archive


def java(options: list[str], *more: str) -> "subprocess.CompletedProcess[str]":
    # Spark splits the text of its option as a shell would.
    words = ["java", *shlex.split(" ".join(options)), *more, "-version"]
    return subprocess.run(words, capture_output=True, text=True, check=True)


def test_what_a_first_jvm_has_loaded_is_there_for_the_next(tmp_path: Path) -> None:
    kept = tmp_path / "a folder"

    first = class_archive.switches(kept)
    beside = class_archive.switches(kept)
    said = java(first)
    second = class_archive.switches(kept)

    assert "ArchiveClassesAtExit" in first[0]
    assert beside == []
    assert "ArchiveClassesAtExit" not in said.stdout + said.stderr
    assert "SharedArchiveFile" in second[0]
    assert "sharing" in java(second, "-Xshare:on").stderr
    assert class_archive.switches(kept) == second
    assert [file.suffix for file in kept.iterdir()] == [".jsa"]


def test_a_draft_that_its_jvm_has_not_finished_is_left_alone_and_made_anew_later(tmp_path: Path) -> None:
    class_archive.switches(tmp_path)
    (draft,) = tmp_path.iterdir()
    draft.write_bytes(bytes(1000))

    young = class_archive.switches(tmp_path)
    long_ago = draft.stat().st_mtime - 60 * class_archive.MINUTES_MAX - 1
    os.utime(draft, (long_ago, long_ago))
    old = class_archive.switches(tmp_path)

    assert young == []
    assert "ArchiveClassesAtExit" in old[0]
    assert "SharedArchiveFile" in (java(old), class_archive.switches(tmp_path))[1][0]


def test_a_jvm_that_cannot_use_an_archive_starts_without_and_says_nothing(tmp_path: Path) -> None:
    java(class_archive.switches(tmp_path))
    options = class_archive.switches(tmp_path)
    (archive,) = tmp_path.iterdir()
    archive.chmod(0o600)
    archive.write_bytes(class_archive.MAGIC + bytes(5000))

    broken = java(options)
    plain = java([])

    assert broken.stdout == plain.stdout
    assert broken.stderr.replace(", sharing", "") == plain.stderr.replace(", sharing", "")


def test_where_nothing_can_be_kept_a_session_starts_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()

    assert class_archive.switches(file) == []
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert class_archive.switches(tmp_path) == []


def test_another_java_has_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class_archive.switches(tmp_path)
    other = tmp_path / "other" / "bin" / "java"
    other.parent.mkdir(parents=True)
    other.touch()
    monkeypatch.setenv("JAVA_HOME", str(other.parent.parent))

    assert "ArchiveClassesAtExit" in class_archive.switches(tmp_path)[0]


def test_archives_are_kept_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_sessions_for_tests_use_it(tmp_path: Path) -> None:
    def run() -> str:
        environment = {**os.environ, "ROCKETMQ_TESTKIT_CACHE": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = run()
    give_up = time.monotonic() + 60
    while not (options := class_archive.switches(tmp_path / "spark")):
        assert time.monotonic() < give_up  # the JVM outlives the program that has started it
        time.sleep(0.1)

    assert str(tmp_path) not in before
    assert f"{tmp_path}/spark/" in options[0]
    assert f"{tmp_path}/spark/" in run()
