"""`make serve`, which starts an emulator from the source tree."""

import json
import os
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAMP = ".venv/install.stamp"


def test_make_serve_serves_on_upstream_ports_until_ctrl_c() -> None:
    """The emulator serves on upstream's default ports, and Ctrl-C stops it without a traceback."""
    # In a network namespace RocketMQ's default ports are free. The installation is used as it is.
    script = f"ip link set lo up && exec make --old-file={STAMP} serve"
    serving = subprocess.Popen(
        ["unshare", "--net", "bash", "-c", script],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert serving.stdout is not None
        lines = iter(serving.stdout.readline, "")
        ready = next((line for line in lines if line.startswith("{")), None)
        assert ready is not None, serving.communicate(timeout=10)
        line = json.loads(ready)
        addresses = (line["namesrv"], line["broker"], line["endpoint"], line["control"])
        assert addresses == ("127.0.0.1:9876", "127.0.0.1:10911", "127.0.0.1:8081", "http://127.0.0.1:8090")
        os.killpg(serving.pid, signal.SIGINT)
        _, errors = serving.communicate(timeout=10)
        assert "Traceback" not in errors
    finally:
        if serving.poll() is None:
            os.killpg(serving.pid, signal.SIGKILL)
            serving.communicate(timeout=10)
