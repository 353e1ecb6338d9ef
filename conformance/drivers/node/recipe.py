"""Recipe by which the driver of the Node.js gRPC SDK is built and started."""

import shutil
from pathlib import Path

from ..toolchains.recipe import BuildFolders, Launch, Recipe, Tool

_GET = "install Node.js, version 20 or newer (https://nodejs.org)"


def _build(folders: BuildFolders) -> None:
    """Copy the driver's sources, and install the packages of package-lock.json next to them."""
    for path in (*folders.source.glob("*.js"), *folders.source.glob("package*.json")):
        shutil.copy(path, folders.target)
    # No package of package-lock.json needs an install script.
    folders.run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def _words(launch: Launch) -> list[str]:
    return ["node", str(launch.built / "driver.js")]


RECIPE = Recipe(
    name="node",
    language="javascript",
    protocol="grpc",
    package="rocketmq-client-nodejs",
    version="1.0.8",
    folder=Path(__file__).parent,
    build=_build,
    command=_words,
    tools=(Tool("node", _GET), Tool("npm", _GET)),
)
