"""The Java drivers and mqadmin start with an archive for class data sharing (CDS), and also without a valid one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.drivers.build import build
from rocketmq_testkit.conformance.drivers.mqadmin import MQADMIN
from rocketmq_testkit.conformance.drivers.registry import RECIPES, recipe
from rocketmq_testkit.conformance.drivers.toolchains import class_archive
from rocketmq_testkit.conformance.drivers.toolchains.recipe import BuildError, Launch, Recipe

JAVA = [each for each in (*RECIPES, MQADMIN) if each.language == "java"]
HELLO = b'{"i": 0, "do": "hello"}\n{"i": 1, "do": "exit"}\n'


def printed(built: Path, of: Recipe, home: Path, *jvm: str) -> str:
    """Return the output of a built program that receives the commands `hello` and `exit`. `jvm`: options of the JVM."""
    java, *words = of.command(Launch(built=built, home=home))
    ended = subprocess.run(
        [java, *jvm, *words, "--namesrv", "127.0.0.1:1"],
        input=HELLO,
        capture_output=True,
        env={**os.environ, "HOME": str(home)},
        check=False,
    )
    return (ended.stdout + ended.stderr).decode()


@pytest.mark.parametrize("of", JAVA, ids=lambda each: each.name)
def test_most_classes_of_the_driver_and_sdk_come_from_the_archive(of: Recipe, tmp_path: Path) -> None:
    said = printed(build(of), of, tmp_path, "-Xlog:class+load")
    loaded = [line for line in said.splitlines() if " testkit.driver." in line or " org.apache.rocketmq." in line]
    shared = [line for line in loaded if "shared objects file" in line]
    assert len(shared) > len(loaded) / 2 > 2, said[-2000:]


def test_a_moved_build_starts_without_its_archive_and_without_warning(tmp_path: Path) -> None:
    """A moved build starts without its archive and prints no warning, because its output belongs to the protocol."""
    of = recipe("java-remoting")
    moved = tmp_path / "moved"
    shutil.copytree(build(of), moved)
    assert class_archive.switches(moved)
    said = printed(moved, of, tmp_path).splitlines()
    assert [line.partition(",")[0] for line in said] == ['{"i": 0', '{"i": 1']


def test_a_build_without_an_archive_needs_no_jvm_options(tmp_path: Path) -> None:
    """A build without archive, for instance because its process was killed before, needs no options of the JVM."""
    assert class_archive.switches(tmp_path) == []


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("exit", "ended, or was ended after 120 s, in its first run"),
        ("""read line; echo '{"i": 0, "ok": false, "err": "no topic"}'""", "first run failed: .*no topic"),
    ],
)
def test_a_failed_first_run_raises_build_error_with_its_reason(program: str, why: str) -> None:
    """A failed first run raises an error with its reason, because an incomplete archive would go unnoticed."""
    with pytest.raises(BuildError, match=why):
        class_archive.converse(["sh", "-c", program], [{"do": "send"}], os.environ)
