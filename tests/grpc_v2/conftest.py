"""Fixture `harness`: the gRPC services in front of a broker with upstream's defaults, in virtual time."""

import pytest
from grpc_harness import GrpcHarness


@pytest.fixture
def harness() -> GrpcHarness:
    return GrpcHarness()
