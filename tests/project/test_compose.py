"""compose.yaml matches the Dockerfile and the options of rocketmq-emulator, and its health check works."""

import json
import re
import subprocess
import sys
from pathlib import Path

from image_file import DOCKERFILE, PORTS, exposed_ports
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.options.command_options import CONTROL_PORT, emulator_options, parse

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = (ROOT / "compose.yaml").read_text()
HEALTH = "/opt/rocketmq-emulator/share/health"


def service(name: str) -> str:
    """Return the lines of one service of compose.yaml."""
    found = re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", COMPOSE, re.MULTILINE)
    assert found is not None, f"there is no service {name}"
    return found[1]


def json_list(text: str, key: str) -> list[str]:
    """Return the JSON list after a key of compose.yaml, or after an instruction of the Dockerfile."""
    [found] = re.findall(rf"^\s*{key}:? (\[.*\])$", text, re.MULTILINE)
    values: list[str] = json.loads(found)
    return values


def test_the_health_check_of_compose_is_that_of_the_image() -> None:
    """compose.yaml and the image have the same health check, whose program the Dockerfile copies into the image."""
    kind, *command = json_list(service("rocketmq"), "test")

    assert kind == "CMD"
    assert command == json_list(DOCKERFILE, "CMD") == [HEALTH]
    assert f"/source/docker/health {HEALTH}" in DOCKERFILE


def test_the_options_of_image_and_service_are_valid_options_of_the_command() -> None:
    program, *before = json_list(DOCKERFILE, "ENTRYPOINT")
    options = emulator_options(parse([*before, *json_list(service("rocketmq"), "command")]))

    assert program == "rocketmq-emulator"
    assert options["host"] == "0.0.0.0"
    assert options["topics"] == ["orders:NORMAL:4"]


def test_each_port_is_published_under_its_own_number() -> None:
    """Each port of the container is published under its own number, because routes have the container's ports.

    The control port is published for this machine only.
    """
    published = re.findall(r'- "(?:127\.0\.0\.1:)?(\d+):(\d+)"', service("rocketmq"))

    assert {(int(outside), int(inside)) for outside, inside in published} == {(port, port) for port in PORTS}
    assert f'- "127.0.0.1:{CONTROL_PORT}:{CONTROL_PORT}"' in service("rocketmq")
    assert exposed_ports() == PORTS


def test_the_client_of_compose_starts_when_the_emulator_is_healthy() -> None:
    """The service `client` starts when `rocketmq` is healthy, and reaches it by its name in the network."""
    client = service("client")

    assert re.search(r"depends_on:\n\s+rocketmq:\n\s+condition: service_healthy\n", client)
    assert json_list(client, "command")[-1] == f"http://rocketmq:{CONTROL_PORT}"


def test_the_client_of_compose_sends_a_message() -> None:
    program, *words = json_list(service("client"), "entrypoint")
    with Emulator(topics=["orders"]) as emulator:
        command = [*words, *json_list(service("client"), "command")[:-1], emulator.control]
        subprocess.run([Path(sys.executable).with_name(program), *command], timeout=60, check=True, capture_output=True)
        assert [message.body for message in emulator.messages("orders")] == [b"two teas"]


def test_health_check_succeeds_only_while_the_emulator_runs() -> None:
    health = str(ROOT / "docker" / "health")
    with Emulator() as emulator:
        port = emulator.control.rpartition(":")[2]
        assert subprocess.run([health, port], timeout=10, check=False).returncode == 0
    assert subprocess.run([health, port], timeout=10, check=False, stderr=subprocess.DEVNULL).returncode == 1
