"""The fixture `e`, the protocol client of a test, and the option that selects protocol clients."""

import pytest
from protocol_client import ProtocolClient
from protocol_clients import protocol_client


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--protocol-clients`."""
    parser.addoption(
        "--protocol-clients", default="", help="run only the tests of these protocol clients, such as remoting,grpc"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests of protocol clients that `--protocol-clients` does not name."""
    chosen = config.getoption("--protocol-clients").split(",")
    if chosen == [""]:
        return
    wanted: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        wanted[_client_of(item) in (None, *chosen)].append(item)
    config.hook.pytest_deselected(items=wanted[False])
    items[:] = wanted[True]


def _client_of(item: pytest.Item) -> str | None:
    """Return the name of the protocol client that a test uses, None if it uses none."""
    call = getattr(item, "callspec", None)
    given = call.params.get("e") if call is not None else None
    return given[0] if isinstance(given, tuple) else None


@pytest.fixture
def e(request: pytest.FixtureRequest) -> ProtocolClient:
    name, keys = request.param
    return protocol_client(name, **keys)
