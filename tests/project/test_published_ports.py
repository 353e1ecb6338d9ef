"""The control port is published for this machine only, in every command and file that starts a container."""

import re
from pathlib import Path

import pytest
from rocketmq_testkit.fixtures.options.command_options import CONTROL_PORT

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    {
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "Dockerfile", "compose.yaml")),
        *(each for each in (ROOT / "docker").iterdir() if each.is_file()),
        *(each for top in ("docs", "examples") for each in (ROOT / top).rglob("*.md") if ".venv" not in each.parts),
        *(each for each in (ROOT / "examples").rglob("*.y*ml") if ".venv" not in each.parts),
    }
)
_OPTION = re.compile(r"(?:^|[\s\"'`])(?:-p|--publish)[\s=]+[\"']?([^\s\"'`]+)")
_LIST = re.compile(r"^\s*-\s+[\"']?((?:[\w.\[\]:-]+:)?[\d-]+:[\d-]+(?:/\w+)?)[\"']?\s*(?:#.*)?$", re.MULTILINE)
_LONG = re.compile(r"^\s*(?:-\s+)?target:\s*(\d+)", re.MULTILINE)
_ALL = re.compile(
    r"\bdocker run\b[^\n`]*\s(?:-P|--publish-all|--network[ =]host|--net[ =]host)\b|"
    r"network_mode:\s*\"?host"
)
LOOPBACK = ("127.0.0.1", "[::1]")


def published(text: str) -> list[str]:
    """Return the published ports of a text, as written: `docker run -p`, and `ports` of compose."""
    text = text.replace("\\\n", " ")
    return [*_OPTION.findall(text), *_LIST.findall(text), *(f"target {port}" for port in _LONG.findall(text))]


def opened(text: str) -> list[str]:
    """Return the published ports that open the control port to other machines."""
    found: list[str] = _ALL.findall(text)
    for each in published(text):
        host, _, inside = each.partition("/")[0].rpartition(":")
        first, _, last = inside.removeprefix("target ").partition("-")
        if not (first.isdecimal() and int(first) <= CONTROL_PORT <= int(last or first)):
            continue
        if not any(host == loopback or host.startswith(f"{loopback}:") for loopback in LOOPBACK):
            found.append(each)
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_control_port_is_published_for_this_machine_only(file: Path) -> None:
    assert opened(file.read_text(encoding="utf-8")) == []


def test_the_checked_files_publish_the_control_port_at_least_four_times() -> None:
    """The check finds the ports of README.md, compose.yaml, the Dockerfile and the pages about the container."""
    places = {
        str(file.relative_to(ROOT))
        for file in FILES
        for each in published(file.read_text(encoding="utf-8"))
        if each == f"127.0.0.1:{CONTROL_PORT}:{CONTROL_PORT}"
    }
    assert places >= {"README.md", "compose.yaml", "Dockerfile", "docs/command.md", "docs/snapshots.md"}


@pytest.mark.parametrize(
    "text",
    [
        "docker run -p 8090:8090 image",
        "docker run --rm -p 9876:9876 -p 0.0.0.0:8090:8090 image",
        "docker run -p 9876:9876 \\\n    --publish=18090:8090/tcp image",
        "docker run -p 8000-8100:8000-8100 image",
        "docker run -p 8090 image",
        "docker run --network host image",
        "docker run -P image",
        'ports:\n  - "8090:8090"\n',
        "ports:\n  - 8090:8090 # all\n",
        "ports:\n  - target: 8090\n    published: 8090\n",
        "    network_mode: host\n",
    ],
)
def test_a_control_port_that_other_machines_reach_is_reported(text: str) -> None:
    assert len(opened(text)) == 1


@pytest.mark.parametrize("text", ["docker run -p 127.0.0.1:8090:8090 i", "docker run -p 9876:9876 i", "mkdir -p a"])
def test_other_ports_and_loopback_are_not_reported(text: str) -> None:
    assert opened(text) == []
