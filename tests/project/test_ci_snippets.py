"""The snippets of docs/ci.md match the command, the image and the helpers: options, ports and variables."""

import re
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from image_file import DOCKERFILE, PORTS, exposed_ports
from page_snippets import only, snippets
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.options.command_options import (
    CONTROL_PORT,
    GRPC_PORT,
    NAMESRV_PORT,
    emulator_options,
    parse,
)

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/ci.md"
PORT_OF_VARIABLE = {
    "ROCKETMQ_ENDPOINT": GRPC_PORT,
    "ROCKETMQ_NAMESRV": NAMESRV_PORT,
    "ROCKETMQ_CONTROL_URL": CONTROL_PORT,
}
HELPERS = ("clients/go/rocketmq.go", "clients/java/src/main/java", "clients/node/src")


def parsed(part: str) -> Any:
    """Return the content of the one YAML block with a text. YAML 1.1 reads the key `on` as True."""
    return yaml.safe_load(only(PAGE, "yaml", part))


COMPOSE = parsed("services:\n  rocketmq:\n    image: rocketmq-emulator\n    command")
GITHUB = parsed("# .github/workflows/tests.yml")
GITLAB = parsed("# .gitlab-ci.yml")
JOB = GITHUB["jobs"]["tests"]
GITHUB_SERVICE = JOB["services"]["rocketmq"]
[GITLAB_SERVICE] = GITLAB["tests"]["services"]
COMMANDS = {"compose": COMPOSE["services"]["rocketmq"]["command"], "gitlab": GITLAB_SERVICE["command"]}
VARIABLES = {
    "compose": COMPOSE["services"]["tests"]["environment"],
    "github": JOB["env"],
    "gitlab": GITLAB["tests"]["variables"],
}
HOST = {"compose": "rocketmq", "github": "127.0.0.1", "gitlab": GITLAB_SERVICE["alias"]}
"""The name or address at which the tests reach the emulator."""


def address(value: str) -> tuple[str | None, int | None]:
    """Return host and port of a URL, or of `host:port`."""
    parts = urlsplit(value if "://" in value else f"//{value}")
    return parts.hostname, parts.port


def steps_of_github() -> list[str]:
    return [each["run"] for each in JOB["steps"] if "run" in each]


def test_the_page_has_these_three_configurations() -> None:
    """A further block of YAML needs tests here."""
    assert len(snippets(PAGE, "yaml")) == 3


@pytest.mark.parametrize("snippet", COMMANDS)
def test_options_of_a_service_are_valid_options_of_the_command(snippet: str) -> None:
    [entry] = re.findall(r"^ENTRYPOINT (\[.*\])$", DOCKERFILE, re.MULTILINE)
    program, *before = yaml.safe_load(entry)
    options = emulator_options(parse([*before, *COMMANDS[snippet]]))

    assert program == "rocketmq-emulator"
    assert (options["host"], options["profile"], options["topics"]) == ("0.0.0.0", "fast", ["orders"])


def test_options_of_the_command_without_a_container_are_valid() -> None:
    [words] = re.findall(r"^rocketmq-emulator (.*?) >", only(PAGE, "sh"), re.MULTILINE)

    assert emulator_options(parse(words.split()))["topics"] == ["orders"]


@pytest.mark.parametrize("snippet", VARIABLES)
def test_each_variable_is_the_address_of_its_server(snippet: str) -> None:
    """The host is that of the service, and the port that of the server on which the image listens."""
    found = VARIABLES[snippet]

    assert found
    assert {name: address(value) for name, value in found.items()} == {
        name: (HOST[snippet], PORT_OF_VARIABLE[name]) for name in found
    }


def test_the_image_exposes_the_ports_of_the_variables() -> None:
    assert set(PORT_OF_VARIABLE.values()) < exposed_ports()


def test_the_names_of_services_are_those_that_the_tests_use() -> None:
    assert set(COMPOSE["services"]) == {"rocketmq", "tests"}
    assert set(JOB["services"]) == {"rocketmq"}
    assert GITLAB_SERVICE["alias"] == "rocketmq"


def test_the_job_of_github_runs_on_the_runner_and_publishes_each_port() -> None:
    """Each port is published under its own number, because routes have the container's ports.

    The control port is published for the runner only. GitHub Actions passes no arguments to services.
    """
    published = [each.rsplit(":", 2) for each in GITHUB_SERVICE["ports"]]

    assert "container" not in JOB
    assert {tuple(map(int, each[-2:])) for each in published} == {(port, port) for port in PORTS}
    assert [each for each in published if len(each) == 3] == [["127.0.0.1", str(CONTROL_PORT), str(CONTROL_PORT)]]
    assert set(GITHUB_SERVICE) == {"image", "ports"}


def test_each_snippet_names_the_image_of_the_page() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    [tag] = re.findall(r"`docker build -t (\S+) \.`", text)
    [registry] = re.findall(r"in place of `(\S+)` below", text)

    assert COMPOSE["services"]["rocketmq"]["image"] == tag
    assert GITHUB_SERVICE["image"] == GITLAB_SERVICE["name"] == f"{registry}/{tag}"


def test_the_tests_of_compose_start_when_the_emulator_is_healthy() -> None:
    """The image has a health check, which the condition needs."""
    assert COMPOSE["services"]["tests"]["depends_on"] == {"rocketmq": {"condition": "service_healthy"}}
    assert re.search(r"^HEALTHCHECK .*\\\n\s+CMD \[", DOCKERFILE, re.MULTILINE)


@pytest.mark.parametrize("helper", HELPERS)
def test_the_helpers_read_the_variable_of_the_control_port(helper: str) -> None:
    path = ROOT / helper
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]

    assert any(
        '"ROCKETMQ_CONTROL_URL"' in each.read_text() or "env.ROCKETMQ_CONTROL_URL" in each.read_text() for each in files
    )
    assert [name for name, found in VARIABLES.items() if "ROCKETMQ_CONTROL_URL" in found] == ["github", "gitlab"]


def test_tests_that_share_the_emulator_run_one_after_another() -> None:
    """The jobs have the option that the page of each helper requires for a sidecar."""
    [node] = [each for each in steps_of_github() if each.startswith("node ")]
    [go] = GITLAB["tests"]["script"]

    assert "--test-concurrency=1" in node.split()
    assert "`node --test --test-concurrency=1`" in (ROOT / "docs" / "node.md").read_text()
    assert f"`{go}`" in (ROOT / "docs" / "go.md").read_text()


@pytest.mark.parametrize("snippet", ["github", "gitlab"])
def test_the_control_port_accepts_the_host_of_the_url(snippet: str) -> None:
    """Other names of hosts return 421."""
    url = VARIABLES[snippet]["ROCKETMQ_CONTROL_URL"]
    with Emulator() as emulator:
        connection = HTTPConnection(emulator.control.removeprefix("http://"), timeout=10)
        for host, status in ((url.removeprefix("http://"), 200), ("a.example.com", 421)):
            connection.request("GET", "/v1/topics", headers={"host": host})
            response = connection.getresponse()
            response.read()
            assert response.status == status
        connection.close()
