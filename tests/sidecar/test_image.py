"""The image of the sidecar: build from the Dockerfile, start, use, measurements, stop."""

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


def test_it_is_ready_within_a_second_and_healthy(figures: dict[str, Any]) -> None:
    """The emulator is ready within a second after the start of its process in the container."""
    assert figures["ready_seconds"] <= 1.0


def test_it_is_small(figures: dict[str, Any]) -> None:
    """Idle memory is at most 80 MiB, the image at most 250 MB."""
    assert figures["idle_memory_mib"] <= 80
    size, unit = figures["image"].split()
    assert unit == "MB"
    assert float(size) <= 250


def test_it_does_not_run_as_root_and_stops_at_sigterm(figures: dict[str, Any]) -> None:
    """The emulator runs as a user of its own, and SIGTERM stops it with exit code 0 within a second."""
    assert figures["user"] == 10001
    assert figures["stop_seconds"] <= 1.0
