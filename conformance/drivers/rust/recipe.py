"""Recipe of the Rust gRPC SDK.

The compiled crates are half a gigabyte, so that a build removes them. If the variable ROCKETMQ_TESTKIT_CRATES names a
folder, they are kept there, for tests that compile other programs with them.
"""

import os
import shutil
from pathlib import Path

from ..toolchains.recipe import BuildFolders, Launch, Recipe, Tool

CRATES = "ROCKETMQ_TESTKIT_CRATES"
"""Variable of the environment: the folder that keeps compiled crates."""
_PROGRAM = "rocketmq-testkit-rust-driver"


def _build(folders: BuildFolders) -> None:
    """Compile what Cargo.lock pins and keep the program only."""
    kept = os.environ.get(CRATES)
    output = Path(kept) if kept else folders.target / "output"
    folders.run(
        "cargo",
        "build",
        "--locked",
        # Cargo.lock is read beside the sources; nothing is written there.
        cwd=folders.source,
        env={"CARGO_TARGET_DIR": str(output)},
    )
    shutil.copy(output / "debug" / _PROGRAM, folders.target / "driver")
    if not kept:
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
