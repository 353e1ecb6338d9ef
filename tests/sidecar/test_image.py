"""The container image for a sidecar, built from the Dockerfile: start, memory, size, user, stop."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sidecar_client import SDKS

PROJECT = Path(__file__).resolve().parents[2]

CLIENT = PROJECT / "tests" / "support" / "sidecar_client.py"
"""A client that sends and receives with real SDKs."""


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """The figures that the check of the image prints."""
    # The drivers are built before, because the client's network namespace has no access to package sources.
    subprocess.run([sys.executable, "-m", "rocketmq_testkit.conformance.drivers.build", *SDKS], timeout=900, check=True)
    done = subprocess.run(
        [sys.executable, str(PROJECT / "docker" / "check.py"), "--client", sys.executable, str(CLIENT)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0
    print(done.stdout)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_container_is_ready_within_a_second(figures: dict[str, Any]) -> None:
    """The emulator is ready within a second after the start of its process in the container."""
    assert figures["ready_seconds"] <= 1.0


def test_idle_memory_is_at_most_80_mib(figures: dict[str, Any]) -> None:
    assert figures["idle_memory_mib"] <= 80


def test_image_is_at_most_150_mb_and_80_mb_as_pulled(figures: dict[str, Any]) -> None:
    """The limit for the unpacked image is 150 MB, that for its compressed layers, as registries send them, 80 MB."""
    size, unit = figures["image"].split()
    assert unit == "MB"
    assert float(size) <= 150
    assert figures["compressed_mb"] <= 80


def test_the_container_runs_as_its_own_user_and_stops_at_sigterm(figures: dict[str, Any]) -> None:
    """The emulator runs as a user of its own, and SIGTERM stops it with exit code 0 within a second."""
    assert figures["user"] == 10001
    assert figures["stop_seconds"] <= 1.0
