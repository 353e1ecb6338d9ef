"""A plugin of pytest that measures set-up and tear-down of each test; the project and the peers use it alike."""

import gc
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from .figures import Times

TEST = """
import pytest

@pytest.mark.parametrize("number", range({tests}))
def test_of_a_fixture(number, {fixture}):
    pass
"""


class FixtureTimes:
    """Times of the fixtures of each test. A fixture of the session is set up in the first, which is left out."""

    def __init__(self, cpu: Callable[[], float]) -> None:
        self.times = Times(cpu)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        gc.collect()
        with self.times:
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
        with self.times:
            yield


def times_of_fixture(
    folder: Path, fixture: str, conftest: str, tests: int, *, cpu: Callable[[], float] = time.process_time
) -> Times:
    """Run tests that only have a fixture, and return the time of set-up plus tear-down of each.

    Without the first and the last one, which set up and tear down fixtures of the session. Raises AssertionError if the
    run fails.
    """
    folder.mkdir()
    (folder / "conftest.py").write_text(conftest)
    (folder / f"test_{fixture}.py").write_text(TEST.format(tests=tests + 2, fixture=fixture))
    found = FixtureTimes(cpu)
    quiet = ["-qq", "--no-header", "--disable-warnings", "-p", "no:cacheprovider", "--import-mode=importlib"]
    command = [*quiet, f"--rootdir={folder}", str(folder)]
    code = pytest.main(command, plugins=[found])
    assert code == 0, f"tests of the fixture {fixture} end with code {code}"
    times = Times()
    for own, collected in ((times.wall_ms, found.times.wall_ms), (times.cpu_ms, found.times.cpu_ms)):
        own += [begin + end for begin, end in zip(collected[::2], collected[1::2], strict=True)][1:-1]
    return times
