"""The image of the sidecar: built from the Dockerfile, started, used, measured, stopped."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sidecar_client import SDKS

PROJECT = Path(__file__).resolve().parents[2]

CLIENT = PROJECT / "tests" / "support" / "sidecar_client.py"
"""Sends and receives with real SDKs."""


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """What the check of the image prints."""
    # Before: the client runs in a network of its own, where nothing can be fetched.
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
    """From the start of the emulator's process in the container to its ready line."""
    assert figures["ready_seconds"] <= 1.0


def test_it_is_small(figures: dict[str, Any]) -> None:
    """Idle memory <= 80 MiB, image <= 250 MB."""
    assert figures["idle_memory_mib"] <= 80
    size, unit = figures["image"].split()
    assert unit == "MB"
    assert float(size) <= 250


def test_it_does_not_run_as_root_and_stops_at_sigterm(figures: dict[str, Any]) -> None:
    """A user of its own, and exit code 0 within a second."""
    assert figures["user"] == 10001
    assert figures["stop_seconds"] <= 1.0
