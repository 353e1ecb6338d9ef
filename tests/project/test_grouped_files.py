"""One worker of pytest-xdist runs all tests of a group, which share fixtures that take long to create."""

import re
import subprocess
import sys
from pathlib import Path

from group_scheduler import scope_of

ROOT = Path(__file__).resolve().parents[2]
GROUPED = """
import pytest

pytestmark = pytest.mark.xdist_group("shop")


@pytest.mark.parametrize("number", range(12))
def test_order(number: int) -> None:
    pass
"""


def test_one_worker_runs_all_tests_of_a_group(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from grouped_files import pytest_xdist_make_scheduler\n")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'tests' / 'support'}\n")
    for name in ("test_tea.py", "test_water.py"):
        (tmp_path / name).write_text(GROUPED)
    (tmp_path / "test_alone.py").write_text(GROUPED.replace("pytestmark", "other"))
    words = ("-p", "no:cacheprovider", "-v", "-n", "3", "--dist", "loadgroup", ".")
    command = [str(Path(sys.executable).with_name("pytest")), *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = re.findall(r"^\[(gw\d)\].* PASSED test_(\w+)\.py", done.stdout, re.MULTILINE)
    assert len(ran) == 36
    assert len({worker for worker, name in ran if name in ("tea", "water")}) == 1


WATCHED = """
from grouped_files import pytest_xdist_make_scheduler as made

SCHEDULERS, MOST = [], [0]


def pytest_xdist_make_scheduler(config, log):
    SCHEDULERS.append(made(config, log))
    return SCHEDULERS[0]


def pytest_runtest_logreport(report):
    for scheduler in SCHEDULERS:
        MOST.append(max(len(scopes) for scopes in scheduler.assigned_work.values()))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.line(f"most scopes of a worker: {max(MOST)}")
"""


def test_scopes_of_finished_tests_are_forgotten(tmp_path: Path) -> None:
    """Each test would otherwise cause work for all tests before it. A worker has the next two tests in advance."""
    (tmp_path / "conftest.py").write_text(WATCHED)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'tests' / 'support'}\n")
    (tmp_path / "test_tea.py").write_text(GROUPED.replace("pytestmark", "other").replace("range(12)", "range(60)"))
    command = [
        str(Path(sys.executable).with_name("pytest")),
        "-p",
        "no:cacheprovider",
        "-n",
        "2",
        "--dist",
        "loadgroup",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "60 passed" in done.stdout
    most = re.search(r"most scopes of a worker: (\d+)", done.stdout)
    assert most is not None
    assert 1 <= int(most[1]) <= 4


def test_a_file_without_a_group_is_distributed_test_by_test(tmp_path: Path) -> None:
    (tmp_path / "test_tea.py").write_text("def test_a() -> None: ...\n")
    assert scope_of("test_tea.py::test_a", tmp_path) == "test_tea.py::test_a"


def test_each_xdist_group_is_a_mark_of_a_whole_file() -> None:
    """The scheduler reads only the mark of a file, so no single test has a mark of its own."""
    files = [each for each in (ROOT / "tests").rglob("test_*.py") if "mark.xdist_group(" in each.read_text("utf-8")]
    assert len(files) > 5
    names = [str(each.relative_to(ROOT)) for each in files if each.name != Path(__file__).name]
    assert [name for name in names if scope_of(f"{name}::test_any", ROOT) == f"{name}::test_any"] == []
