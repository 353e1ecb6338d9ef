"""The Dockerfile of the image, and the ports of the command that the image starts."""

import re
from pathlib import Path

from rocketmq_testkit.fixtures.options.command_options import BROKER_PORT, CONTROL_PORT, GRPC_PORT, NAMESRV_PORT

DOCKERFILE = (Path(__file__).resolve().parents[2] / "Dockerfile").read_text(encoding="utf-8")
PORTS = {NAMESRV_PORT, BROKER_PORT, GRPC_PORT, CONTROL_PORT}
"""The default ports of the command."""


def exposed_ports() -> set[int]:
    """Return the ports that the image exposes."""
    [exposed] = re.findall(r"^EXPOSE (.*)$", DOCKERFILE, re.MULTILINE)
    return {int(port) for port in exposed.split()}
