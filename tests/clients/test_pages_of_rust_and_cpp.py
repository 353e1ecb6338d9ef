"""The pages about Rust and C++ tests: their files are compiled and run with their commands and an installed command.

The SDKs are those that the drivers have built, so that nothing is downloaded or compiled twice.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import rust_crates
from command_line import COMMAND, path_without_python
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.drivers.build import build

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^(?://|#) (\S+)\n")
SECONDS = 300


@pytest.fixture(scope="module", autouse=True)
def without_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test of this file finds a Python in PATH. The command is found by the variable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path_without_python(tmp_path_factory.mktemp("path") / "bin"))
        yield


def written(page: str, folder: Path) -> str:
    """Write the files of a page of docs/ into a folder, and return its last commands."""
    commands = ""
    for language, text in BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8")):
        if language == "sh":
            commands = text
        elif found := FILE.match(text):
            (folder / found[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / found[1]).write_text(text)
    return commands


def printed(folder: Path, script: str, **variables: str) -> str:
    """Run shell commands and return their output. They must succeed."""
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=folder,
        env={**os.environ, "ROCKETMQ_EMULATOR": COMMAND, **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rust_page_leads_from_an_empty_folder_to_passing_tests(tmp_path: Path) -> None:
    commands = written("rust.md", tmp_path)
    (tmp_path / "src").mkdir()
    shutil.copy(rust_crates.LOCK, tmp_path)
    rust_crates.ensure()
    output = printed(tmp_path, commands, **rust_crates.variables_of_cargo())
    assert set(re.findall(r"^test (\w+) \.\.\. ok$", output, re.MULTILINE)) == {
        "an_order_that_is_never_acknowledged_is_a_dead_letter",
        "an_order_whose_response_is_lost_is_stored",
    }


def test_rust_code_of_the_page_is_formatted(tmp_path: Path) -> None:
    written("rust.md", tmp_path)
    shutil.copy(rust_crates.SOURCE / "rustfmt.toml", tmp_path)
    printed(tmp_path, "rustfmt --check --edition 2024 tests/orders.rs")


def test_cpp_page_leads_from_an_empty_folder_to_passing_tests(tmp_path: Path) -> None:
    """The package that the first commands download is the one of the driver."""
    recipe = registry.recipe("cpp")
    [library] = build(recipe).rglob("librocketmq.so")
    (tmp_path / "sdk").symlink_to(library.parents[1])
    download, unpack, *commands = written("cpp.md", tmp_path).splitlines()
    assert download == f"pip download --no-deps rocketmq=={recipe.version}"
    assert unpack == f"unzip -q rocketmq-{recipe.version}-*.whl -d sdk"
    assert printed(tmp_path, "\n".join(commands), HOME=str(tmp_path)) == "2 tests passed\n"


@pytest.mark.parametrize("page", ["rust.md", "cpp.md"])
def test_each_request_in_the_table_of_a_page_is_a_verb(page: str) -> None:
    described = set(re.findall(r"^### `(\w+ \S+)`$", (ROOT / "docs" / "control-api.md").read_text(), re.MULTILINE))
    known = {re.sub(r"\{\w+\}", "NAME", each) for each in described}
    table = (ROOT / "docs" / page).read_text(encoding="utf-8").partition("## Requests of tests")[2]
    found = re.findall(r"`((?:GET|POST) /v1/\S+)`", table)
    assert len(found) > 8
    assert {re.sub(r"/[A-Z]+(?=/|$)", "/NAME", each) for each in found} <= known
