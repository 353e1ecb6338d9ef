"""The fixture `e` (the entrance through which a rule runs) and the option that selects entrances."""

import pytest
from entrance import Entrance
from entrances import entrance


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--entrances`."""
    parser.addoption("--entrances", default="", help="rules only go through these, such as remoting,grpc")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests of entrances that `--entrances` does not name."""
    chosen = config.getoption("--entrances").split(",")
    if chosen == [""]:
        return
    wanted: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        wanted[_entrance_of(item) in (None, *chosen)].append(item)
    config.hook.pytest_deselected(items=wanted[False])
    items[:] = wanted[True]


def _entrance_of(item: pytest.Item) -> str | None:
    """Return the name of the entrance that a test uses, None if it uses none."""
    call = getattr(item, "callspec", None)
    given = call.params.get("e") if call is not None else None
    return given[0] if isinstance(given, tuple) else None


@pytest.fixture
def e(request: pytest.FixtureRequest) -> Entrance:
    name, keys = request.param
    return entrance(name, **keys)
