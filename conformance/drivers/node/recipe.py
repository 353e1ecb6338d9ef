"""Recipe of the Node.js gRPC SDK."""

import shutil
from pathlib import Path

from ..toolchains.recipe import BuildFolders, Launch, Recipe, Tool

_GET = "install Node.js, version 20 or newer (https://nodejs.org)"


def _build(folders: BuildFolders) -> None:
    """Copy the sources and install what package-lock.json pins beside them."""
    for path in (*folders.source.glob("*.js"), *folders.source.glob("package*.json")):
        shutil.copy(path, folders.target)
    # No package here needs a script of its own to be installed.
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
