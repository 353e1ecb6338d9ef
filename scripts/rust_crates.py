"""Compiled crates of the Rust SDK, which the Rust driver and the test of docs/rust.md share.

Compiling them takes a minute on two cores. They are kept beside the drivers, in a folder for each Cargo.lock.
"""

import hashlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from rocketmq_testkit.conformance.drivers.build import cache_folder

SOURCE = Path(__file__).resolve().parent.parent / "conformance" / "drivers" / "rust"
LOCK = SOURCE / "Cargo.lock"


def folder() -> Path:
    """Return the folder of the crates."""
    return cache_folder() / f"rust-crates-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]}"


def variables_of_cargo() -> Mapping[str, str]:
    """Return the variables with which cargo uses the crates for other programs: the folder, the driver's profile."""
    profile = tomllib.loads((SOURCE / "Cargo.toml").read_text(encoding="utf-8"))["profile"]["dev"]
    found = {
        f"CARGO_PROFILE_DEV_{name.upper().replace('-', '_')}": str(value).lower() for name, value in profile.items()
    }
    return {**found, "CARGO_TARGET_DIR": str(folder())}


def ensure() -> None:
    """Compile the crates if there are none. The driver may come from a build that has removed them.

    Raises subprocess.CalledProcessError.
    """
    if not (folder() / "debug" / "deps").is_dir():
        environment = {**os.environ, **variables_of_cargo()}
        subprocess.run(["cargo", "build", "--locked"], cwd=SOURCE, env=environment, check=True)


if __name__ == "__main__":
    ensure()
    sys.exit()
