"""Recipe by which the driver of the Go gRPC SDK is built and started."""

from pathlib import Path

from ..toolchains.go_build import COMMON, GO_TOOLS, build_driver, words
from ..toolchains.recipe import Launch, Recipe


def _environment(_launch: Launch) -> dict[str, str]:
    # Read when the SDK's package is initialised; its log file is in HOME.
    return {"rocketmq.client.logLevel": "warn"}


RECIPE = Recipe(
    name="go-grpc",
    language="go",
    protocol="grpc",
    package="github.com/apache/rocketmq-clients/golang/v5",
    version="v5.1.4",
    folder=Path(__file__).parent,
    build=build_driver,
    command=words,
    tools=GO_TOOLS,
    environment=_environment,
    shared=(COMMON,),
)
"""Driver of the Go SDK of the gRPC protocol."""
