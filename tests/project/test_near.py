"""`make test-near`: the files of a change, the tests that are near these files, and the limit of their time."""

import os
import subprocess
from pathlib import Path

import floors
import near
import pytest
from near_tests import CASES, Near, Tree

UNTESTED = {
    "conformance/conftest.py",  # these five are loaded by pytest
    "conformance/pytest_plugin.py",
    "conformance/pytest_verdict.py",
    "conformance/test_conformance.py",
    "conformance/test_scenarios_of_sdks.py",
    "emulator/deviation.py",  # a declaration without a rule
    "spark/pytest_plugin.py",
}
"""Rooms without tests near them; the tests of their users cover them."""
FILES = {
    "emulator/pop/ack.py": "",
    "emulator/pop/receipt.py": "",
    "emulator/group/offsets.py": "",
    "emulator/operations/consume.py": "",
    "emulator/pull/pull.py": "from ..group import offsets",
    "remoting/wire/frame.py": "",
    "remoting/wire/header.py": "",
    "remoting/wire/command.py": "",
    "tests/emulator/operations/test_base.py": "",
    "tests/emulator/pop/test_ack.py": "",
    "tests/emulator/pop/test_order.py": "from rocketmq_testkit.emulator.operations.consume import PopMessage",
    "tests/emulator/pull/test_pull.py": "",
    "tests/remoting/test_layout.py": "from rocketmq_testkit.remoting.wire.frame import Frame",
    "tests/remoting/test_header_codecs.py": "import rocketmq_testkit.remoting.wire.header",
    "tests/remoting/test_server.py": "from rocketmq_testkit.remoting.server import Server",
    "tests/behaviour/test_ack.py": "",
    "tests/behaviour/test_pop.py": "",
    "tests/behaviour/test_pull.py": "",
    "tests/project/test_stages.py": "import stages",
    "scripts/stages.py": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A small tree of sources and tests."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(tmp_path)


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        (
            "emulator/pop/ack.py",
            [
                "tests/emulator/pop/test_ack.py",
                "tests/emulator/pop/test_order.py",
                "tests/behaviour/test_ack.py",
                "tests/behaviour/test_pop.py",
            ],
        ),
        (
            "emulator/pop/receipt.py",
            ["tests/emulator/pop/test_ack.py", "tests/emulator/pop/test_order.py", "tests/behaviour/test_pop.py"],
        ),
        ("emulator/group/offsets.py", ["tests/emulator/pull/test_pull.py"]),
        (
            "emulator/operations/consume.py",
            ["tests/emulator/operations/test_base.py", "tests/emulator/pop/test_order.py"],
        ),
        ("remoting/wire/frame.py", ["tests/remoting/test_layout.py"]),
        ("remoting/wire/header.py", ["tests/remoting/test_header_codecs.py"]),
        ("remoting/wire/command.py", ["tests/remoting/test_header_codecs.py", "tests/remoting/test_layout.py"]),
        ("scripts/stages.py", ["tests/project/test_stages.py"]),
        ("tests/emulator/pop/test_order.py", ["tests/emulator/pop/test_order.py"]),
    ],
)
def test_near_tests_are_found_by_name_room_and_import(tree: Tree, file: str, tests: list[str]) -> None:
    """Near a file are the tests of its name, then of its room, then rules; else the tests of files that import it."""
    assert tree.near([file]) == Near(tests)


def test_changed_tests_come_first(tree: Tree) -> None:
    """For a change of a source and a test, the changed test runs first, and each test runs once."""
    found = tree.near(["emulator/pop/ack.py", "tests/emulator/pop/test_order.py"])
    assert found.tests[:2] == ["tests/emulator/pop/test_order.py", "tests/emulator/pop/test_ack.py"]
    assert len(found.tests) == len(set(found.tests)) == 4


def test_sources_without_tests_are_named(tree: Tree) -> None:
    """A source without tests near it is named; documents and other files are not sources."""
    found = tree.near(["emulator/engine.py", "docs/access.md", "Makefile"])
    assert found == Near(without=["emulator/engine.py"])


def test_changed_cases_are_run_by_their_noun(tree: Tree) -> None:
    """For a changed file of cases, the cases of its noun run on the emulator."""
    found = tree.near([f"{CASES}pop/pop_order.py", f"{CASES}send/send.py"])
    assert found == Near(cases=["pop_order", "send"])
    [words] = near.commands([], found.cases)
    assert words[1:] == ["run", "-k", "pop_order. or send."]


def test_each_room_has_tests_near_it() -> None:
    """Every room has tests near one of its files, except for those listed with a reason."""
    tree = Tree()
    missing = set()
    for package, rooms in floors.ROOMS.items():
        files = [file for file in floors.sources(package) if not file.endswith("__init__.py")]
        for room in rooms:
            of_room = [file for file in files if floors.room_of(file) == room and not file.startswith(CASES)]
            if of_room and not any(any(tree.near_source(file)) for file in of_room):
                missing.add(f"{package}/{room}")
    assert missing == UNTESTED


def test_tests_fit_into_the_time_nearest_first(tmp_path: Path) -> None:
    """Tests are selected in order while their times in earlier runs fit; tests that start Spark are left out."""
    spark = "spark_tests/test_read.py"
    (tmp_path / "spark_tests").mkdir()
    (tmp_path / spark).write_text("def test_read(spark_rocketmq: SparkRocketMQ) -> None: ...")
    seconds = {"a": 20.0, "b": near.SECONDS * near.WORKERS - 15, "c": 5.0}
    assert near.fitting(["a", spark, "b", "c"], seconds, tmp_path) == (["a", "c"], [spark, "b"])


def test_durations_come_from_the_reports_of_earlier_runs(tmp_path: Path) -> None:
    """The time of a file is the sum of its tests, including those in classes, in the latest report."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("")
    case = '<testcase classname="{}" name="test" time="{}"/>'
    for report, cases in (
        ("fast", [("tests.test_a", 9)]),
        ("tests", [("tests.test_a", 1), ("tests.test_a.TestMore", 2.5)]),
    ):
        lines = "".join(case.format(*each) for each in cases)
        path = tmp_path / f"{report}.xml"
        path.write_text(f"<testsuites><testsuite>{lines}</testsuite></testsuites>")
        os.utime(path, (len(cases), len(cases)))
    assert near.seconds_of_earlier_runs(tmp_path, tmp_path) == {"tests/test_a.py": 3.5}


def test_few_files_run_in_one_process() -> None:
    """A few test files run without xdist workers, which take a second to start; more files run in two workers."""
    [few], [many] = near.commands(["a"] * near.FEW_FILES, []), near.commands(["a"] * (near.FEW_FILES + 1), [])
    assert "no:xdist" in few
    assert many[many.index("-n") + 1] == "2"


def test_change_is_the_work_tree_or_else_the_last_commit(tmp_path: Path) -> None:
    """A change has the changed and new files, without deleted ones; of a clean work tree it is the last commit."""

    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text("")
        git("add", "-A")
        git("commit", "-m", name)
    assert near.changed(root=tmp_path) == ["three"]
    assert near.changed("HEAD~2", tmp_path) == ["three", "two"]
    (tmp_path / "one").write_text("changed")
    (tmp_path / "two").unlink()
    (tmp_path / "four").write_text("")
    assert near.changed(root=tmp_path) == ["four", "one"]
    assert near.changed("HEAD~1", tmp_path) == ["four", "one", "three"]


def test_wrong_command_line_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """For more than one commit, or an option, the script prints its description and exits with code 2."""
    assert near.main(["a", "b"]) == near.main(["--all"]) == 2
    assert "python scripts/near.py [COMMIT]" in capsys.readouterr().err
