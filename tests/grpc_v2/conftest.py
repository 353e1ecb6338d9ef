"""Fixture `world`: the gRPC services in front of a broker with upstream's defaults, in virtual time."""

import pytest
from grpc_world import GrpcWorld


@pytest.fixture
def world() -> GrpcWorld:
    return GrpcWorld()
