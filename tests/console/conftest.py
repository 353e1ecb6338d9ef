"""A browser for all tests of the console, and axe-core from npm."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from console_browser import Browser
from console_shop import Shop, open_quiet_shop, open_shop
from rocketmq_testkit.fixtures import Emulator

ROOT = Path(__file__).resolve().parents[2]
NPM = ROOT / ".cache" / "console-npm"
LAST = "test_clicked_buttons.py"
LOCKED = ("package.json", "package-lock.json")


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which npm installs once for each lock file."""
    NPM.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).parent
    found = NPM / "node_modules" / "axe-core" / "axe.min.js"
    if not found.is_file() or any((here / name).read_bytes() != _read(NPM / name) for name in LOCKED):
        for name in LOCKED:
            shutil.copy(here / name, NPM / name)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=NPM, check=True)
    return found.read_text()


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    running = Browser()
    yield running
    running.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser. A test fails if the page logs an error, such as a violation of its security policy."""
    yield chromium
    logged = chromium.logged()
    chromium.driver.get("about:blank")
    assert logged == []


@pytest.fixture
def shop() -> Iterator[Shop]:
    with open_shop() as opened:
        yield opened


@pytest.fixture(scope="module")
def shown() -> Iterator[Shop]:
    """A shop for the tests of a file that do not change it. Its silent clients expire after two minutes."""
    with open_shop() as opened:
        yield opened


@pytest.fixture
def quiet() -> Iterator[Emulator]:
    with open_quiet_shop() as opened:
        yield opened


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Move the tests of `test_clicked_buttons.py` to the end, or deselect them if not all other files run."""
    here = Path(__file__).parent
    last = [each for each in items if each.path == here / LAST]
    others = [each for each in items if each not in last]
    collected = {each.path.name for each in others if each.path.parent == here}
    is_whole = collected == {each.name for each in here.glob("test_*.py")} - {LAST}
    if not is_whole or config.getoption("keyword"):
        config.hook.pytest_deselected(items=last)
        last = []
    items[:] = [*others, *last]
