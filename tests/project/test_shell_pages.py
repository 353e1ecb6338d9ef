"""The commands for a running emulator on pages succeed in the order of each page."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocketmq_testkit.fixtures import Emulator
from shell_run import Shell

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/command.md", "docs/faults.md", "docs/control-api.md")
URL = "http://127.0.0.1:8090"
SHELL_BLOCK = re.compile(r"^```sh\n((?:rocketmq-emulator [a-z].*\n)+)```$", re.MULTILINE)
FILE_BLOCK = re.compile(r"^```yaml\n(- name: .*?)^```$", re.MULTILINE | re.DOTALL)
CURL_BLOCK = re.compile(r"^```sh\n(curl .*/v1/faults .*\n.*)\n```$", re.MULTILINE)


def commands(page: str) -> list[str]:
    """Return the commands of a page; of the generated page docs/control-api.md, those before the first verb."""
    text = (ROOT / page).read_text().partition("\n### `")[0]
    return [line for block in SHELL_BLOCK.findall(text) for line in block.splitlines()]


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with Emulator(topics=["orders"]) as running:
        yield running


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_succeed(
    page: str,
    emulator: Emulator,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    *,
    tmp_path: Path,
) -> None:
    """All commands of the page exit with 0, with only the address changed, and the files that the page shows."""
    monkeypatch.chdir(tmp_path)
    Path("group.yaml").write_text("name: warehouse\norderly: true\n")
    [rules] = re.findall(
        r"^```yaml\n(- name: lost.*?)^```$", (ROOT / "docs/faults.md").read_text(), re.MULTILINE | re.S
    )
    Path("faults.yaml").write_text(rules)
    shell = Shell(capsysbinary, monkeypatch)
    found = commands(page)
    assert len(found) >= 3
    for command in found:
        words = [word for word in shlex.split(command)[1:] if word not in ("--control", URL)]
        if "--follow" in words:  # it would follow until it is interrupted
            words += ["--limit", "1"]
        code, _, errors = shell(*words, "--control", emulator.control)
        assert (code, errors) == (0, ""), command


def test_the_http_request_of_the_page_about_faults_adds_a_rule(emulator: Emulator) -> None:
    emulator.faults.clear()
    [command] = CURL_BLOCK.findall((ROOT / "docs/faults.md").read_text())
    subprocess.run(["bash", "-euc", command.replace(URL, emulator.control)], check=True, capture_output=True)
    assert [rule.definition["then"] for rule in emulator.faults] == ["drop_response"]
