"""The pages about Rust and C++ tests: their files are compiled and run with their commands and an installed command.

The SDKs are those that the drivers have built, so that nothing is downloaded or compiled twice.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import page_snippets
import pytest
import rust_crates
from killed_parent import check_emulator_ends_with, stop_emulator_of
from page_snippets import run_script, running, snippets, write_files
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.drivers.build import build

ROOT = Path(__file__).resolve().parents[2]
RUST = """\
#[path = "../tests/emulator/mod.rs"]
mod emulator;

fn main() {
    let mq = emulator::Emulator::start(&["orders"]);
    mq.post("/v1/reset", serde_json::json!({}));
    assert_eq!(mq.get("/v1/messages/orders")["messages"], serde_json::json!([]));
    assert!(!mq.endpoint().is_empty());
    println!("no messages");
    loop {
        mq.get("/healthz");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
"""
"""A program that starts an emulator with the page's code, and sends requests until one fails."""
CPP = """\
#include <iostream>

#include "emulator.hpp"

int main() {
    try {
        Emulator mq({"orders"});
        if (mq.get("/v1/messages/orders").find(R"("messages": [])") == std::string::npos) return 1;
        std::cout << "no messages" << std::endl;
        for (;; usleep(10'000)) mq.get("/healthz");
    } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
"""
"""The same program in C++."""


@pytest.fixture(scope="module", autouse=True)
def without_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove Python from PATH. The tests of the pages find the emulator's command by an environment variable."""
    with page_snippets.no_python_in_path(tmp_path_factory.mktemp("path") / "bin"):
        yield


def written(page: str, folder: Path) -> str:
    """Write the files of a page into a folder, and return its last commands."""
    write_files(snippets(page), folder)
    return snippets(page, "sh")[-1].text


@pytest.mark.executable
def test_rust_page_leads_from_an_empty_folder_to_passing_tests(tmp_path: Path) -> None:
    commands = written("docs/rust.md", tmp_path)
    (tmp_path / "src").mkdir()
    shutil.copy(rust_crates.LOCK, tmp_path)
    rust_crates.ensure()
    output = run_script(tmp_path, commands, **rust_crates.variables_of_cargo())
    assert set(re.findall(r"^test (\w+) \.\.\. ok$", output, re.MULTILINE)) == {
        "an_order_that_is_never_acknowledged_is_a_dead_letter",
        "an_order_whose_response_is_lost_is_stored",
    }


def test_rust_code_of_the_page_is_formatted(tmp_path: Path) -> None:
    written("docs/rust.md", tmp_path)
    shutil.copy(rust_crates.SOURCE / "rustfmt.toml", tmp_path)
    run_script(tmp_path, "rustfmt --check --edition 2024 tests/orders.rs")


@pytest.mark.executable
def test_cpp_page_leads_from_an_empty_folder_to_passing_tests(tmp_path: Path) -> None:
    """The commands of the page work; the package that the first ones download is that of the driver."""
    recipe = registry.recipe("cpp")
    [library] = build(recipe).rglob("librocketmq.so")
    (tmp_path / "sdk").symlink_to(library.parents[1])
    download, unpack, *commands = written("docs/cpp.md", tmp_path).splitlines()
    assert download == f"pip download --no-deps rocketmq=={recipe.version}"
    assert unpack == f"unzip -q rocketmq-{recipe.version}-*.whl -d sdk"
    assert run_script(tmp_path, "\n".join(commands), HOME=str(tmp_path)) == "2 tests passed\n"


@pytest.mark.executable
def test_killed_rust_program_ends_its_emulator(tmp_path: Path) -> None:
    """The program uses the module of the page, as the tests of the page do."""
    check_killed(tmp_path, *rust_program(tmp_path), **rust_crates.variables_of_cargo())


@pytest.mark.executable
def test_killed_cpp_program_ends_its_emulator(tmp_path: Path) -> None:
    """The program uses the class of the page, as the tests of the page do."""
    check_killed(tmp_path, *cpp_program(tmp_path))


@pytest.mark.executable
def test_request_of_a_rust_program_to_an_emulator_that_hangs_fails(tmp_path: Path) -> None:
    """The limit of a request is two minutes on the page, and one second here."""
    words = rust_program(tmp_path, ("set_read_timeout(Some(LIMIT))", "set_read_timeout(Some(Duration::from_secs(1)))"))
    check_limit(tmp_path, *words, **rust_crates.variables_of_cargo())


@pytest.mark.executable
def test_request_of_a_cpp_program_to_an_emulator_that_hangs_fails(tmp_path: Path) -> None:
    """The limit of a request is two minutes on the page, and one second here."""
    check_limit(tmp_path, *cpp_program(tmp_path, ("timeval limit{LIMIT, 0}", "timeval limit{1, 0}")))


def test_start_of_a_command_that_prints_no_ready_line_fails_a_rust_program(tmp_path: Path) -> None:
    """The limit of the page is two minutes, and one second here."""
    words = rust_program(tmp_path, ("from_secs(120)", "from_secs(1)"))
    variables = rust_crates.variables_of_cargo()
    run_script(tmp_path, "cargo build --quiet --example sending", **variables)
    check_start(tmp_path, "exec sleep 600", "no ready line within 1s", *words, **variables)
    check_start(tmp_path, "exit 2", "ended without a ready line", *words, **variables)


def test_start_of_a_command_that_prints_no_ready_line_fails_a_cpp_program(tmp_path: Path) -> None:
    """The limit of the page is two minutes, and one second here."""
    words = cpp_program(tmp_path, ("LIMIT = 120", "LIMIT = 1"))
    check_start(tmp_path, "exec sleep 600", "no ready line within 1 s", *words)
    check_start(tmp_path, "exit 2", "ended without a ready line", *words)


def rust_program(folder: Path, change: tuple[str, str] = ("", "")) -> tuple[str, ...]:
    """Write the files of the page and RUST, and return the command of the program, which replaces cargo."""
    written("docs/rust.md", folder)
    changed(folder / "tests" / "emulator" / "mod.rs", *change)
    for name in ("src", "examples"):
        (folder / name).mkdir()
    (folder / "src" / "lib.rs").touch()
    (folder / "examples" / "sending.rs").write_text(RUST)
    shutil.copy(rust_crates.LOCK, folder)
    rust_crates.ensure()
    return "cargo", "run", "--quiet", "--example", "sending"


def cpp_program(folder: Path, change: tuple[str, str] = ("", "")) -> tuple[str, ...]:
    """Write the files of the page, compile CPP, and return the command of the program."""
    written("docs/cpp.md", folder)
    changed(folder / "emulator.hpp", *change)
    (folder / "sending.cpp").write_text(CPP)
    run_script(folder, "g++ -std=c++17 sending.cpp -o sending")
    return (str(folder / "sending"),)


def changed(file: Path, old: str, new: str) -> None:
    """Replace a text that a file contains once; do nothing if it is empty."""
    if old:
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file.name} has {text.count(old)} times {old!r}"
        file.write_text(text.replace(old, new), encoding="utf-8")


def check_limit(folder: Path, *words: str, **variables: str) -> None:
    """Stop the emulator of a program as a debugger does. The program's request must end with an error in time."""
    with running(folder, "sh", "-c", 'exec "$@" 2>&1', "sh", *words, **variables) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "no messages\n"
        stop_emulator_of(program)
        output, _ = program.communicate(timeout=30)
    assert re.search(r"GET /healthz: no response from 127\.0\.0\.1:\d+ within 120 ?s", output), output
    assert program.returncode > 0


def check_start(folder: Path, script: str, error: str, *words: str, **variables: str) -> None:
    """Run a program whose emulator is a shell script. The program must fail in time, and end the script.

    The script has the standard error of the program, so that the output ends only when both have ended.
    """
    command = folder / "command"
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(0o755)
    variables |= {"ROCKETMQ_EMULATOR": str(command)}
    with running(folder, "sh", "-c", 'exec "$@" 2>&1', "sh", *words, **variables) as program:
        output, _ = program.communicate(timeout=30)
    assert error in output, output
    assert program.returncode > 0


def check_killed(folder: Path, *words: str, **variables: str) -> None:
    """Kill a program while its emulator runs. The emulator must end in time."""
    with running(folder, *words, **variables) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "no messages\n"
        check_emulator_ends_with(parent)


@pytest.mark.parametrize("page", ["rust.md", "cpp.md"])
def test_each_request_in_the_table_of_a_page_is_a_verb(page: str) -> None:
    described = set(re.findall(r"^### `(\w+ \S+)`$", (ROOT / "docs" / "control-api.md").read_text(), re.MULTILINE))
    known = {re.sub(r"\{\w+\}", "NAME", each) for each in described}
    table = (ROOT / "docs" / page).read_text(encoding="utf-8").partition("## Requests of tests")[2]
    found = re.findall(r"`((?:GET|POST) /v1/\S+)`", table)
    assert len(found) > 8
    assert {re.sub(r"/[A-Z]+(?=/|$)", "/NAME", each) for each in found} <= known
