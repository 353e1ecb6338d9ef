"""Recipe by which the driver of the Go remoting SDK is built and started."""

from pathlib import Path

from ..toolchains.go_build import COMMON, GO_TOOLS, build_driver, words
from ..toolchains.recipe import Launch, Recipe


def _environment(_launch: Launch) -> dict[str, str]:
    # The SDK logs to standard error, and much of it.
    return {"ROCKETMQ_GO_LOG_LEVEL": "error"}


RECIPE = Recipe(
    name="go-remoting",
    language="go",
    protocol="remoting",
    package="github.com/apache/rocketmq-client-go/v2",
    version="v2.1.2",
    folder=Path(__file__).parent,
    build=build_driver,
    command=words,
    tools=GO_TOOLS,
    environment=_environment,
    shared=(COMMON,),
)
