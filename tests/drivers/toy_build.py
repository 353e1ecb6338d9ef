"""Builds a toy driver from a source folder, in a process of its own: `toy_build.py SOURCE`."""

import sys
from pathlib import Path

from rocketmq_testkit.conformance.drivers.build import build
from rocketmq_testkit.conformance.drivers.toolchains.recipe import BuildFolders, Launch, Recipe, Tool


def make(folders: BuildFolders) -> None:
    """Log the build, so that tests can count builds, and take long enough for another process to start meanwhile."""
    folders.run("sh", "-c", f"echo built >> {folders.source.parent / 'log'}; sleep 0.3; echo whole > result")


def words(launch: Launch) -> list[str]:
    return ["cat", str(launch.built / "result")]


def toy(source: Path) -> Recipe:
    return Recipe(
        name="toy",
        language="sh",
        protocol="remoting",
        package="toy",
        version="1.0",
        folder=source,
        build=make,
        command=words,
        tools=(Tool("sh", "it is part of every system"),),
    )


if __name__ == "__main__":
    print(build(toy(Path(sys.argv[1]))))
