"""Tests of workers, which import the installed PySpark unless configured otherwise."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pyspark
import pytest
from pyspark_rocketmq.session import worker_python

pytestmark = pytest.mark.sampled("tests")

SESSION = """
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark_rocketmq.testing import start_session


class WhoReads(DataSourceReader):
    def __init__(self, planner):
        self.planner = planner

    def read(self, partition):
        import pyspark
        yield self.planner, pyspark.__file__


class Who(DataSource):
    @classmethod
    def name(cls):
        return "who"

    def schema(self):
        return "planner string, task string"

    def reader(self, schema):
        import pyspark
        return WhoReads(pyspark.__file__)


spark = start_session()
spark.dataSource.register(Who)
print(*spark.read.format("who").load().first(), sep="\\n")
spark.stop()
"""


def session(**environment: str) -> list[str]:
    """Return where PySpark was found by the worker that created a reader, and by the worker that read."""
    inherited = {name: value for name, value in os.environ.items() if name not in worker_python.VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", SESSION], capture_output=True, text=True, env={**inherited, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.usefixtures("_own_folder")
def test_workers_of_a_session_for_tests_import_the_installed_pyspark() -> None:
    assert session() == [pyspark.__file__] * 2


@pytest.mark.usefixtures("_own_folder")
def test_workers_use_the_interpreter_of_pyspark_python() -> None:
    found = session(PYSPARK_PYTHON=sys.executable)

    assert [Path(each).parents[1].name for each in found] == ["pyspark.zip"] * 2


WITHOUT_THE_PACKAGE = """
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
import pyspark_rocketmq
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
pyspark_rocketmq.register(spark)
try:
    spark.read.format("rocketmq").load()
except PySparkException as error:
    print(error.getCondition())
    print(error)
"""


@pytest.mark.parametrize("named", [True, False], ids=["PYSPARK_PYTHON names it", "python3 of the PATH"])
def test_a_worker_without_the_package_names_both_interpreters(named: bool, tmp_path: Path) -> None:
    """The error of a worker without the package names both interpreters, and how to select the worker's.

    Spark starts such a worker if `PYSPARK_PYTHON` names its interpreter, or if the variable is not set and the
    environment of the program is not activated.
    """
    bare = getattr(sys, "_base_executable", "")
    assert bare
    assert bare != sys.executable, "these tests run in a virtual environment"
    environment = {name: value for name, value in os.environ.items() if name not in worker_python.VARIABLES}
    environment["PYTHONPATH"] = ""
    if named:
        environment |= dict.fromkeys(worker_python.VARIABLES, bare)
    else:
        (tmp_path / "python3").write_text(f'#!/bin/sh\nexec {bare} "$@"\n')
        (tmp_path / "python3").chmod(0o755)
        own = Path(sys.executable).parent
        others = [folder for folder in environment["PATH"].split(os.pathsep) if Path(folder) != own]
        environment["PATH"] = os.pathsep.join([str(tmp_path), *others])
        environment.pop("VIRTUAL_ENV", None)

    done = subprocess.run([sys.executable, "-c", WITHOUT_THE_PACKAGE], capture_output=True, text=True, env=environment)

    assert done.stdout.splitlines()[0] == "PYTHON_DATA_SOURCE_ERROR", done.stderr
    assert (
        f"Spark started this Python worker with {bare}, where pyspark_rocketmq is not installed, but the program runs "
        f"with {sys.executable}; set PYSPARK_PYTHON={sys.executable} in the environment before the session starts, or "
        "--conf spark.pyspark.python for spark-submit"
    ) in done.stdout


@pytest.fixture
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETMQ_TESTKIT_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("", ""),
        ("/spark/python/lib/pyspark.zip:/spark/python/lib/py4j-0.10.9.9-src.zip", ""),
        (
            "/spark/python/lib/pyspark.zip:/a folder/*:/b.zip:/spark/jars/core.jar",
            "/a folder/*:/b.zip:/spark/jars/core.jar",
        ),
    ],
)
def test_only_archives_of_pyspark_are_removed_from_the_python_path(given: str, kept: str, tmp_path: Path) -> None:
    command = [
        worker_python.program(tmp_path),
        "-c",
        "import os, sys; print(os.environ['PYTHONPATH'], sys.argv, sys.prefix)",
    ]
    more = ["a b", "*", ""]

    done = subprocess.run([*command, *more], capture_output=True, text=True, env={"PYTHONPATH": given}, check=True)

    assert done.stdout == f"{kept} {['-c', *more]} {sys.prefix}\n"


def test_the_worker_script_is_written_once(tmp_path: Path) -> None:
    first = worker_python.program(tmp_path / "new folder")
    written = Path(first).stat().st_mtime_ns

    assert worker_python.program(tmp_path / "new folder") == first
    assert [file.stat().st_mtime_ns for file in (tmp_path / "new folder").iterdir()] == [written]


def test_without_a_usable_worker_script_this_interpreter_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    Path(worker_python.program(tmp_path)).chmod(0o644)

    assert worker_python.program(file) == sys.executable
    assert worker_python.program(tmp_path) == sys.executable
    with monkeypatch.context() as patched:
        patched.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
        assert worker_python.program(tmp_path / "found otherwise") == sys.executable
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        assert worker_python.program() == sys.executable
    with monkeypatch.context() as patched:
        patched.setenv("SPARK_HOME", "/opt/spark")
        assert worker_python.program(tmp_path / "another Spark") == sys.executable


@pytest.mark.parametrize(
    ("master", "script"), [("local[2]", True), ("local-cluster[2,1,1024]", True), ("spark://host:7077", False)]
)
def test_only_workers_of_this_machine_use_the_script(
    master: str, script: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCKETMQ_TESTKIT_CACHE", str(tmp_path))
    for each in worker_python.VARIABLES:
        monkeypatch.setenv(each, "none yet")  # so that it is restored in any case
        monkeypatch.delenv(each)

    worker_python.choose(master)

    chosen = {os.environ[each] for each in worker_python.VARIABLES}
    assert chosen == {worker_python.program() if script else sys.executable}
