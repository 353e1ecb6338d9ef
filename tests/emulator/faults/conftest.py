"""Fixture `e`: a client of the protocol that `@through(...)` names, of an emulator in virtual time."""

import pytest
from protocol_client import ProtocolClient
from protocol_clients import protocol_client


@pytest.fixture
def e(request: pytest.FixtureRequest) -> ProtocolClient:
    name, keys = request.param
    return protocol_client(name, **keys)
