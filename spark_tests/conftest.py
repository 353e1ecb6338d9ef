"""Options of this suite: its target, and the number of runs of each test."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from bug_reports import pytest_configure, pytest_runtest_teardown, pytest_sessionfinish  # noqa: F401 - hooks
from rocketmq_testkit.emulator.client.client_versions import version_number
from sampling import deselect_outside_sample

if TYPE_CHECKING:
    from real_broker import RealBroker
    from rocketmq_testkit.fixtures import Emulator

collect_ignore = [] if find_spec("pandas") else ["connect"]
"""Spark Connect needs pandas; its tests have an environment of their own."""

EMULATOR = "emulator"
LONG = frozenset({"test_audit_command", "test_examples", "test_recovery", "test_replay_command"})
"""Test modules that start processes with Spark sessions of their own."""
OF_REAL_BROKERS = frozenset({"config"})
"""Options of the marker `rocketmq` that a real broker supports as well."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options `--target` and `--times`."""
    parser.addoption(
        "--target",
        default=EMULATOR,
        help="emulator (default); apache:VERSION from the published jars; HOST:PORT of a name server",
    )
    parser.addoption("--times", type=int, default=1, help="how often each test runs, each time from its beginning")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the tests of `LONG` first: at the end of the run, one worker would run them while the others are idle."""
    deselect_outside_sample(config, items)
    items.sort(key=lambda item: item.path.stem not in LONG)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat each test as often as requested."""
    times = metafunc.config.getoption("--times")
    if times > 1:
        metafunc.fixturenames.append("time_of_several")
        metafunc.parametrize("time_of_several", range(times))


class Apache:
    """Real brokers: one that tests share, and others for tests that need their own configuration keys."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._shared: ExitStack | None = None
        self._apache: Any = None

    @contextmanager
    def serve(self, config: Mapping[str, object]) -> "Iterator[RealBroker]":
        """Return a view of a broker for one test."""
        from real_broker import RealBroker, real_broker

        if config:
            with real_broker(self._target, config) as own:
                yield RealBroker(own)
            return
        if self._shared is None:
            self._shared = ExitStack()
            self._apache = self._shared.enter_context(real_broker(self._target, {}))
        view = RealBroker(self._apache)
        yield view
        if view.needs_restart or not self._apache.alive:
            self.close()
        else:
            view.forget()

    def close(self) -> None:
        """Stop the shared broker."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None


@pytest.fixture(scope="session")
def apache(request: pytest.FixtureRequest) -> Iterator[Apache | None]:
    """Real brokers, if the suite runs against them."""
    target = request.config.getoption("--target")
    if target == EMULATOR:
        yield None
        return
    brokers = Apache(target)
    yield brokers
    brokers.close()


@pytest.fixture
def rocketmq(request: pytest.FixtureRequest, apache: Apache | None) -> "Iterator[Emulator | RealBroker]":
    """A new emulator, or a real broker without topics; tests that need more than a real broker offers are skipped."""
    if apache is None:
        yield request.getfixturevalue("rocketmq_factory")()
        return
    marked: dict[str, Any] = {}
    for mark in request.node.iter_markers("rocketmq"):
        marked = mark.kwargs | marked
    for option in marked.keys() - OF_REAL_BROKERS:
        pytest.skip(f"not applicable to a real broker: its emulator has the option {option}")
    with apache.serve(marked.get("config", {})) as broker:
        for mark in request.node.iter_markers("since"):
            version, why = mark.args
            number = version_number("V" + version.replace(".", "_"))
            assert number is not None, version
            if broker.version < number:
                pytest.skip(f"not applicable to a real broker older than {version}: {why}")
        yield broker
