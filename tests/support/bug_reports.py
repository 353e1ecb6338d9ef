"""Fail each test during which the emulator reported a bug of its own, in this process or in a child process.

A test that provokes such a report on purpose has the marker `provokes_bugs` and fails without a report. Reports between
tests fail the whole run. The hooks are imported by the `conftest.py` of a suite.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from rocketmq_testkit.emulator.kernel.bug_reports import END, REPORTS_FILE

MARKER = "provokes_bugs"
_FOLDER = "ROCKETMQ_TESTKIT_BUG_FOLDER"
"""Folder for the reports of all processes of a run that belong to no test; set by the first process."""
_KEY = pytest.StashKey[Path]()


def take(path: Path) -> list[str]:
    """Return the reports in a file and delete the file."""
    if not path.is_file():
        return []
    found = path.read_text(encoding="utf-8").split(END)[:-1]
    path.unlink()
    return found


def _worker(config: pytest.Config) -> str | None:
    """Return the name of the xdist worker, None in the main process."""
    given = getattr(config, "workerinput", None)  # attribute added by xdist
    return None if given is None else str(given["workerid"])


def pytest_configure(config: pytest.Config) -> None:
    """Let each worker, and the processes that it starts, write into its own file."""
    if _KEY in config.stash:
        return
    worker = _worker(config)
    if worker is None:
        os.environ[_FOLDER] = tempfile.mkdtemp(prefix="bug-reports-")
    config.stash[_KEY] = Path(os.environ[_FOLDER]) / (worker or "main")
    os.environ[REPORTS_FILE] = str(config.stash[_KEY])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Any:
    """Check for reports after the fixtures of a test have ended."""
    result = yield
    reports = take(item.config.stash[_KEY])
    expected = item.get_closest_marker(MARKER) is not None
    if reports and not expected:
        pytest.fail("the emulator reported a bug of its own:\n" + "\n".join(reports), pytrace=False)
    if expected and not reports:
        pytest.fail(f"the test is marked {MARKER}, and no bug was reported", pytrace=False)
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run for reports that arrived between tests. Only the main process does this."""
    if _worker(session.config) is not None:
        return
    folder = session.config.stash[_KEY].parent
    reports = [report for path in sorted(folder.iterdir()) for report in take(path)] if folder.is_dir() else []
    if reports:
        print("\nbetween tests the emulator reported a bug of its own:\n" + "\n".join(reports))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
