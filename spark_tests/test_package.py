"""Tests of imports in every session and every pytest run, and of the page generated from the code."""

import re
import subprocess
import sys
from pathlib import Path

import pyspark_rocketmq
from pyspark_rocketmq.options_page import page
from pyspark_rocketmq.replay.command import parser

ROOT = Path(__file__).resolve().parents[1]

HEAVY = """
import sys
import {module}
loaded = {{name.partition(".")[0] for name in sys.modules}}
print(*sorted(loaded & {{"pyspark", "pyarrow", "twisted", "google", "construct"}}))
"""

FIND = """
from importlib import import_module
from pkgutil import iter_modules

import pyspark.sql.datasource

[name] = [info.name for info in iter_modules() if info.name == "pyspark_rocketmq"]
source = import_module(name).DefaultSource
assert issubclass(source, pyspark.sql.datasource.DataSource)
print(source.name())
"""

WORKER = """
import sys
import pyspark_rocketmq.reading.batch_reader, pyspark_rocketmq.reading.stream_reader
import pyspark_rocketmq.writing.writer, pyspark_rocketmq.writing.transactional_writer
loaded = {name.partition(".")[0] for name in sys.modules}
print(*sorted(loaded & {"twisted", "google", "construct", "pandas", "pytest"}))
"""


def run(program: str, path: Path | None = None) -> str:
    """Return the output of a new interpreter."""
    environment = {} if path is None else {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_package_and_plugin_import_no_heavy_modules() -> None:
    """The package and its plugin import no heavy modules: every Spark session and every pytest run loads them."""
    assert run(HEAVY.format(module="pyspark_rocketmq")) == ""
    assert run(HEAVY.format(module="pyspark_rocketmq.pytest_plugin")) == ""


def test_workers_load_no_server() -> None:
    """Code that runs in executors loads the client, but no server."""
    assert run(WORKER) == ""


def test_spark_finds_the_source_without_register(tmp_path: Path) -> None:
    """Spark finds a package installed as a folder without `register`."""
    (tmp_path / "pyspark_rocketmq").symlink_to(Path(pyspark_rocketmq.__file__).parent)

    assert run(FIND, tmp_path) == "rocketmq"


def test_the_page_of_options_is_up_to_date() -> None:
    """The options page equals the output of `python -m pyspark_rocketmq.options_page`."""
    assert (ROOT / "docs" / "spark-options.md").read_text() == page()


def test_every_test_that_the_spark_page_names_exists() -> None:
    """Every test that docs/spark.md names exists in this suite."""
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "spark.md").read_text()))
    there = {
        name
        for file in (ROOT / "spark_tests").glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }

    assert len(named) > 10
    assert named - there == set()


def test_the_page_of_replay_names_every_option() -> None:
    page_of_replay = (ROOT / "docs" / "replay.md").read_text()
    words = {word for action in parser()._actions for word in action.option_strings if word.startswith("--")}

    assert {word for word in words - {"--help"} if f"`{word} " not in page_of_replay} == set()
