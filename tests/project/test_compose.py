"""compose.yaml matches the image, the command and the client, and the client works."""

import json
import re
import subprocess
import sys
from pathlib import Path

from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.options.command_options import (
    BROKER_PORT,
    CONTROL_PORT,
    GRPC_PORT,
    NAMESRV_PORT,
    emulator_options,
    parse,
)

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = (ROOT / "compose.yaml").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SHARE = "/opt/rocketmq-testkit/share/"
PORTS = {NAMESRV_PORT, BROKER_PORT, GRPC_PORT, CONTROL_PORT}


def service(name: str) -> str:
    """Return the lines of one service."""
    found = re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", COMPOSE, re.MULTILINE)
    assert found is not None, f"there is no service {name}"
    return found[1]


def words(text: str, key: str) -> list[str]:
    """Return the list after a key or an instruction."""
    [found] = re.findall(rf"^\s*{key}:? (\[.*\])$", text, re.MULTILINE)
    read: list[str] = json.loads(found)
    return read


def test_the_health_check_is_that_of_the_image() -> None:
    """The health check of compose.yaml is that of the image, whose program is among the image's files."""
    kind, *command = words(service("rocketmq"), "test")

    assert kind == "CMD"
    assert command == words(DOCKERFILE, "CMD")
    assert command[-1] == f"{SHARE}health.py"
    assert f"docker/health.py docker/client.py {SHARE}" in DOCKERFILE
    assert (ROOT / "docker" / "health.py").is_file()


def test_the_options_are_options_of_the_command() -> None:
    """The options of image and service together are valid options of the command."""
    program, *before = words(DOCKERFILE, "ENTRYPOINT")
    options = emulator_options(parse([*before, *words(service("rocketmq"), "command")]))

    assert program == "rocketmq-emulator"
    assert options["host"] == "0.0.0.0"
    assert options["topics"] == ["orders:NORMAL:4"]


def test_the_ports_are_those_of_the_command() -> None:
    """The ports are published under their own numbers, because clients get the address that they connected to."""
    published = re.findall(r'- "(?:127\.0\.0\.1:)?(\d+):(\d+)"', service("rocketmq"))
    [exposed] = re.findall(r"^EXPOSE (.*)$", DOCKERFILE, re.MULTILINE)

    assert {(int(outside), int(inside)) for outside, inside in published} == {(port, port) for port in PORTS}
    assert f'- "127.0.0.1:{CONTROL_PORT}:{CONTROL_PORT}"' in service("rocketmq")
    assert {int(port) for port in exposed.split()} == PORTS


def test_the_client_waits_and_dials_the_service() -> None:
    """The client starts when the emulator is healthy, and uses its name in the network."""
    client = service("client")

    assert re.search(r"depends_on:\n\s+rocketmq:\n\s+condition: service_healthy\n", client)
    assert words(client, "entrypoint") == ["python3", f"{SHARE}client.py"]
    assert words(client, "command") == [f"rocketmq:{NAMESRV_PORT}", f"http://rocketmq:{CONTROL_PORT}"]


def test_the_client_sends_and_finds_its_message() -> None:
    """The client exits with 0 if it finds its message, and with 1 if there is no emulator."""
    client = [sys.executable, str(ROOT / "docker" / "client.py")]
    with Emulator(profile="faithful") as emulator:
        arguments = [emulator.namesrv, emulator.control]
        done = subprocess.run([*client, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["broker"] == emulator.broker
        assert len(emulator.messages("sidecar-check")) == 1
    again = subprocess.run([*client, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 1
