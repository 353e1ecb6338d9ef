"""Recipe by which the driver of the Rust gRPC SDK is built and started."""

import shutil
from pathlib import Path

from ..toolchains.recipe import BuildFolders, Launch, Recipe, Tool

_PROGRAM = "rocketmq-testkit-rust-driver"


def _build(folders: BuildFolders) -> None:
    """Compile the driver with the crates of Cargo.lock. Keep only the program: the rest is half a gigabyte."""
    output = folders.target / "output"
    folders.run(
        "cargo",
        "build",
        "--locked",
        # Cargo.lock is read beside the sources; nothing is written there.
        cwd=folders.source,
        env={"CARGO_TARGET_DIR": str(output)},
    )
    shutil.copy(output / "debug" / _PROGRAM, folders.target / "driver")
    shutil.rmtree(output)


def _words(launch: Launch) -> list[str]:
    return [str(launch.built / "driver")]


RECIPE = Recipe(
    name="rust",
    language="rust",
    protocol="grpc",
    package="rocketmq (crate)",
    version="5.0.0",
    folder=Path(__file__).parent,
    build=_build,
    command=_words,
    tools=(Tool("cargo", "install Rust, version 1.85 or newer (https://rustup.rs)"),),
)
