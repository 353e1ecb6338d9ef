"""Snippets and commands of the README and the pages of docs/ work."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import page_snippets
import pytest
from page_snippets import Snippet
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.options.command_options import emulator_options, parse
from rocketmq_testkit.remoting.client import Credentials, RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    "docs/fixtures.md",
    "docs/waiting.md",
    "docs/exploration.md",
    "docs/debugging.md",
    "docs/real-time-consumption.md",
    "docs/snapshots.md",
    "docs/seeds.md",
    "docs/forks.md",
    "docs/inspection.md",
    "docs/access.md",
    "docs/command.md",
    "docs/metrics.md",
    "docs/java-and-go.md",
    "docs/ci.md",
    "docs/conformance.md",
    "docs/faults.md",
    "docs/fault-recipes.md",
)
PRINTED = ("docs/debugging.md",)
"""Pages whose blocks of text are the output of their snippets."""
OF_SPARK = ("docs/spark.md", "docs/audit.md", "docs/replay.md")
"""Pages whose programs need Spark; spark_tests/test_pages.py runs these."""
PROGRAMS = Path(sys.executable).parent


def snippets(language: str) -> list[Snippet]:
    """Return all blocks of a language, in the order of pages."""
    return [each for page in PAGES for each in page_snippets.snippets(page, language)]


def only(language: str, part: str) -> str:
    """Return the one block of a language that contains a text."""
    [found] = [snippet.text for snippet in snippets(language) if part in snippet.text]
    return found


def run(*words: str | Path, cwd: Path, seconds: float = 300, home: Path | None = None) -> str:
    """Run a command with the project's programs first in PATH; return its output. Fails with the output on an error."""
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, "PATH": path, **({"HOME": str(home)} if home else {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def outcomes_of_page(page: str, folder: Path, conftest: str = "") -> str:
    """Run the Python snippets of a page, each as a file, with the installed plugin; return pytest's output.

    Raises AssertionError unless the tests of every snippet have passed.
    """
    (folder / "conftest.py").write_text(conftest)
    files = [each for each in snippets("python") if each.page == page and each.file]
    for each in files:
        assert each.file.startswith("test_"), each
        (folder / each.file).write_text(each.text)
    # The SDK writes its log below the home folder.
    printed = run("pytest", "-rA", cwd=folder, home=folder)
    passed = set(re.findall(r"^PASSED (\S+?)::", printed, re.MULTILINE))
    assert passed == {each.file for each in files}, printed
    return printed


DIFFERS = {
    re.compile(r"\b[0-9A-F]{32,34}\b"): "ID",
    re.compile(r"[\w.-]+@\d+@\d+@\w+"): "CLIENT",
    re.compile(r"\b\d\d:\d\d:\d\d(\.\d{3})?"): "TIME",
    re.compile(r"\b\d+(\.\d+)? s\b"): "SPAN",
    re.compile(r"\s+"): " ",
}
"""Ids, times and line breaks of a printed text, which differ in each run."""


def _general(text: str) -> str:
    """Replace the parts of a text that differ in each run."""
    for pattern, word in DIFFERS.items():
        text = pattern.sub(word, text)
    return text.strip()


def _lines(block: str) -> list[str]:
    """Return the lines of a block, each with the lines that are indented below it."""
    return re.split(r"\n(?=\S)", block.strip())


@pytest.mark.parametrize("page", dict.fromkeys(each.page for each in snippets("python")))
def test_the_python_snippets_of_a_page_are_passing_tests(page: str, tmp_path: Path) -> None:
    """The Python snippets of a page are passing tests, each with its own file name; they print its blocks of text."""
    printed = outcomes_of_page(page, tmp_path)
    if page in PRINTED:
        blocks = [each.text for each in snippets("text") if each.page == page]
        assert blocks
        assert [each for each in blocks if not all(_general(line) in _general(printed) for line in _lines(each))] == []


def test_each_page_with_python_is_run() -> None:
    """The Python of each page in docs/ runs here or, if it needs Spark, in spark_tests/test_pages.py."""
    pages = (path for path in (ROOT / "docs").glob("*.md") if "```python\n" in path.read_text())
    assert {f"docs/{path.name}" for path in pages} <= {*PAGES, *OF_SPARK}


def test_a_snippet_without_a_file_name_is_part_of_a_whole_snippet() -> None:
    """A snippet without a file name is part of a snippet with one, which another test runs."""
    whole = [each.text for each in snippets("python") if each.file]
    parts = [each for each in snippets("python") if not each.file]
    assert [str(each) for each in parts if not any(each.text in text for text in whole)] == []
    assert len(parts) == 2


def test_the_failing_test_of_the_readme_prints_the_error_on_the_page(tmp_path: Path) -> None:
    """The failing test of the README prints the error on the page, apart from line breaks."""
    [block] = re.findall(r"^```text\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    program = "".join(f"{line[4:]}\n" for line in block.replace("\n>", "\n ").splitlines() if line[0] != "E")
    shown = " ".join(line[1:].strip() for line in block.splitlines() if line[0] == "E")
    (tmp_path / "test_billing.py").write_text(program)
    done = subprocess.run([PROGRAMS / "pytest"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 1
    assert shown in done.stdout


FAITHFUL = """
import pytest


@pytest.fixture(scope="session")
def rocketmq_config():
    return {"profile": "faithful"}
"""


def test_the_snippets_about_waiting_pass_with_the_profile_faithful(tmp_path: Path) -> None:
    """The snippets about waiting also pass with the profile `faithful`, that is with upstream's numbers."""
    assert "passed" in outcomes_of_page("docs/waiting.md", tmp_path, FAITHFUL)


def test_the_lines_for_other_languages_are_parts_of_tested_programs() -> None:
    """Each line is part of a program or command that tests run, apart from the address."""
    lines = dict(re.findall(r"^\| (Java|Go|Node|Docker) \| `([^`]+)`", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert list(lines) == ["Java", "Go", "Node", "Docker"]
    assert lines["Java"].replace('"127.0.0.1:8081"', "arguments[0]") in only("java", "class Orders")
    assert lines["Go"].replace('"127.0.0.1:9876"', "os.Args[1]") in only("go", "package main")
    producers = (ROOT / "conformance" / "drivers" / "node" / "producers.js").read_text()
    [options] = re.findall(r"^new Producer\(\{ (\w+): '127.0.0.1:8081', (\w+): \['orders'\] \}\)$", lines["Node"])
    assert "new Producer({" in producers
    assert f"{options[1]}: " in producers
    assert f"{options[0]}: values.endpoint" in (ROOT / "conformance" / "drivers" / "node" / "driver.js").read_text()
    command = only("sh", "docker build -t rocketmq-emulator .").splitlines()[1]
    assert command.replace(" -p 127.0.0.1:8090:8090", "") == lines["Docker"]


@pytest.fixture
def served() -> Iterator[Emulator]:
    """An emulator like `rocketmq-emulator --topic orders`, on free ports."""
    with Emulator(profile="faithful", topics=["orders"]) as emulator:
        yield emulator


def test_the_java_program_sends_and_receives(served: Emulator, tmp_path: Path) -> None:
    """The Java program and the commands below it work, with only the port changed."""
    (tmp_path / "Orders.java").write_text(only("java", "class Orders"))
    commands = only("sh", "Orders.java").replace("127.0.0.1:8081", served.endpoint)

    assert "received two teas" in run("bash", "-euc", commands, cwd=tmp_path)


def test_the_go_program_sends(served: Emulator, tmp_path: Path) -> None:
    """The Go program and the commands below it work, with only the port changed."""
    (tmp_path / "main.go").write_text(only("go", "package main"))
    commands = only("sh", "go run").replace("127.0.0.1:9876", served.namesrv)

    assert "sent to broker-a" in run("bash", "-euc", commands, cwd=tmp_path)
    assert [message.body for message in served.messages("orders")] == [b"two teas"]


def test_the_control_port_shows_messages(served: Emulator, tmp_path: Path) -> None:
    """The command that reads a topic through the control port works."""
    served.topic("orders").send(b"two teas")
    command = only("sh", "/messages/orders").replace("http://127.0.0.1:8090", served.control)

    assert "two teas" in run("bash", "-euc", command, cwd=tmp_path)


def test_the_commands_of_the_control_port_work(served: Emulator, tmp_path: Path) -> None:
    """The commands of the page create a topic, send a message, move the clock and read the journal."""
    commands = only("sh", "/v1/topics").replace("http://127.0.0.1:8090", served.control)

    assert "SendMessage" in run("bash", "-euc", commands, cwd=tmp_path)
    assert [message.body for message in served.messages("teas")] == [b"two teas"]


def test_the_commands_about_a_message_explain_the_sent_one(served: Emulator, tmp_path: Path) -> None:
    """The commands after the start of the emulator send a message, explain it, and print its history."""
    served.topic("orders")
    start, *commands = only("sh", "rocketmq-emulator explain").splitlines()
    assert start == "rocketmq-emulator --topic orders &"
    lines = "\n".join(f"{line} --control {served.control}" for line in commands)

    printed = run("bash", "-euc", lines, cwd=tmp_path)

    assert "but there is no group shipping" in printed
    assert '"kind": "sent"' in printed
    assert '"subject": "group shipping"' in printed


def test_the_control_port_jumps_to_a_dead_letter(served: Emulator, tmp_path: Path) -> None:
    """The command for a jump ends at a dead letter, and fails with the reason if there is none."""
    command = only("sh", "/clock/advance_until").strip().replace("localhost:8090", served.control)
    before = served.clock.now
    served.topic("%DLQ%booking", queues=1).send("dead", properties={"DELAY": "18"})
    run("bash", "-euc", command, cwd=tmp_path)
    assert timedelta(hours=2) <= served.clock.now - before < timedelta(hours=3)
    assert [message.body for message in served.dlq("booking")] == [b"dead"]

    without_dead_letter = command.replace("booking", "nobody").replace('"limit"', '"wait": "20ms", "limit"')
    printed = run("bash", "-uc", f"{without_dead_letter} || echo and curl ended with $?", cwd=tmp_path)
    assert "the condition did not become true; the clock jumped" in printed
    assert "and curl ended with 22" in printed


def test_the_commands_for_a_snapshot_save_and_restore_it(served: Emulator, tmp_path: Path) -> None:
    """The commands for a snapshot work, the second one with free ports."""
    served.topic("orders").send(b"two teas")
    save, begin = only("sh", "-sSo").splitlines()
    run("bash", "-euc", save.replace("http://127.0.0.1:8090", served.control), cwd=tmp_path)

    options = emulator_options(parse(begin.split()[1:]))
    ports = {name: 0 for name in options if name.endswith("_port")}
    with Emulator(**{**options, **ports, "snapshot": tmp_path / options["snapshot"]}) as other:
        assert [message.body for message in other.messages("orders")] == [b"two teas"]


def test_the_user_of_the_page_can_sign_requests_and_others_are_rejected() -> None:
    """The user of the page's command can sign requests, and others are rejected."""
    words = shlex.split(only("sh", "initAuthenticationUser").replace("\\\n", ""))
    options = emulator_options(parse(words[1:]))
    admin = Credentials("admin", "its secret")
    ports = {name: 0 for name in options if name.endswith("_port")}
    with Emulator(**{**options, **ports}) as emulator:
        for credentials, code in ((admin, 0), (None, 16)):
            with RemotingClient(emulator.broker, credentials=credentials) as client:
                assert client.request(RequestCode.GET_BROKER_CONFIG).code == code


def test_the_ready_line_of_the_ci_commands_is_that_of_the_page(tmp_path: Path) -> None:
    """The lines for CI start the command in the background and wait; its ready line is that of the page."""
    lines = only("sh", "--profile fast --topic orders > emulator.json")
    stop = "\nkill -TERM $!\nwait $!\necho ended with $?\n"

    # In a network namespace RocketMQ's default ports are free, even if other programs of this machine use them.
    script = "ip link set lo up\n" + lines + "cat emulator.json" + stop
    printed = run("unshare", "--net", "bash", "-uc", script, cwd=tmp_path, seconds=60)

    ready = next(line for line in printed.splitlines() if line.startswith("{"))
    assert json.loads(ready) == json.loads(only("json", '"ready"'))
    assert "ended with 0" in printed


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_the_ci_commands_stop_waiting_once_the_emulator_has_ended(shell: str, tmp_path: Path) -> None:
    """The lines for CI sleep at most once more when the command has ended, before they exit with 1."""
    lines = only("sh", "--profile fast --topic orders > emulator.json")
    scripts = {
        "rocketmq-emulator": f'echo $$ > pid\nexec {PROGRAMS}/rocketmq-emulator --topic x:FIFOO "$@"\n',
        # A wait lasts until the command has ended, so that a further one is too many. The fourth ends the run.
        "sleep": (
            "echo waits >> waits\n[ $(wc -l < waits) -lt 4 ] || kill -KILL $PPID\n"
            "until [ -s pid ]; do :; done\ntail --pid=$(cat pid) -s 0.01 -f /dev/null\n"
        ),
    }
    for name, text in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}")
        (tmp_path / name).chmod(0o755)

    done = subprocess.run(
        [shell, "-euc", lines],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    waits = tmp_path / "waits"
    assert done.returncode == 1, done.stderr
    assert "FIFOO" in done.stderr
    assert len(waits.read_text().splitlines() if waits.exists() else ()) <= 1


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_the_ci_commands_exit_with_1_if_the_emulator_fails_at_its_start(shell: str, tmp_path: Path) -> None:
    """The lines for CI exit with 1 and the command's own sentence if the command fails at its start."""
    lines = only("sh", "--profile fast --topic orders > emulator.json").replace(
        "--topic orders", "--topic orders:FIFOO"
    )

    done = subprocess.run(
        [shell, "-euc", lines],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert "FIFOO" in done.stderr


def test_the_token_of_the_environment_guards_the_control_port(tmp_path: Path) -> None:
    """The lines of the page list the brokers; without the token curl fails."""
    lines = only("sh", "ROCKETMQ_CONTROL_TOKEN")
    again = "\ncurl --fail-with-body -sS http://127.0.0.1:8090/v1/brokers || echo curl ended with $?\n"
    again += "kill -TERM $!\nwait $!\n"
    script = "ip link set lo up\n" + lines + again
    printed = run("unshare", "--net", "bash", "-uc", script, cwd=tmp_path, seconds=60)

    assert '"name": "broker-a"' in printed
    assert "curl ended with 22" in printed


def test_the_options_of_the_ci_service_are_valid_options_of_the_command() -> None:
    """The options in the compose snippet are options of the command."""
    snippets_of_services = [snippet.text for snippet in snippets("yaml") if "rocketmq-emulator" in snippet.text]
    commands = re.findall(r"command: (\[.*\])", "\n".join(snippets_of_services))

    assert commands
    for command in commands:
        options = emulator_options(parse(json.loads(command)))
        assert options["profile"] == "fast"
        assert options["topics"] == ["orders"]


def test_the_conformance_command_for_a_broker_at_an_address_works(served: Emulator, tmp_path: Path) -> None:
    """The command for a broker at an address works, with only ports and the selection of cases changed."""
    command = only("sh", "--report report").strip()
    command = command.replace("127.0.0.1:9876", served.namesrv).replace("127.0.0.1:8081", served.endpoint)
    printed = run("bash", "-euc", f"{command} -k messages_stored", cwd=tmp_path)

    assert "as expected" in printed
    assert (tmp_path / "report" / "index.html").is_file()


def test_the_commands_that_record_and_accept_deviations_work(tmp_path: Path) -> None:
    """The commands that record and accept deviations work, with only ports and the selection of cases changed."""
    commands = only("sh", "--record-expected").strip()
    with Emulator(profile="faithful", config={"autoCreateTopicEnable": "false"}) as emulator:
        commands = commands.replace("127.0.0.1:9876", emulator.namesrv).replace("127.0.0.1:8081", emulator.endpoint)
        commands = commands.replace(
            "run ", "run -k auto_create.a_send_requesting_no_queues_is_refused_but_creates_the_topic "
        )
        printed = run("bash", "-euc", commands, cwd=tmp_path)

    assert "expected.json: 1 deviations" in printed
    assert "1 deliberate" in printed
    assert printed.endswith("as expected\n")


def test_the_command_with_pytest_and_xdist_works(tmp_path: Path) -> None:
    """The command with pytest and xdist works, with only the selection of cases changed."""
    command = only("sh", "--pyargs").strip().replace("-k send", "-k limits")

    assert "passed" in run("bash", "-euc", command, cwd=tmp_path)


def test_the_list_expression_selects_pops_without_ordered_pops(tmp_path: Path) -> None:
    """The expression of the page selects cases of pops, but none of ordered pops."""
    command = next(line for line in only("sh", "conformance list").splitlines() if "list" in line)
    ids = [line.split()[0] for line in run("bash", "-euc", command, cwd=tmp_path).splitlines()]

    assert ids
    assert not [id_ for id_ in ids if "order" in id_ or "pop" not in id_]


def test_every_relative_link_of_a_page_points_to_a_file() -> None:
    pages = [
        *PAGES,
        *OF_SPARK,
        "docs/control-api.md",
        "docs/glossary.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ]
    broken = [
        f"{page}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (ROOT / page).read_text())
        if "://" not in target and not (ROOT / page).parent.joinpath(target).exists()
    ]

    assert broken == []


def test_files_that_pages_name_exist() -> None:
    """A path in backquotes that begins with a folder of the project exists, unless it is a pattern or placeholder."""
    folders = (
        "emulator|remoting|grpc_v2|fixtures|conformance|spark|tests|spark_tests|scripts|examples|bench|docs|docker"
    )
    pages = [*PAGES, *OF_SPARK, "ARCHITECTURE.md", "CONTRIBUTING.md"]
    missing = [
        f"{page}: {path}"
        for page in pages
        for path in re.findall(rf"`((?:{folders})/[^`\s]*)`", (ROOT / page).read_text())
        if not re.search(r"[<*]", path) and not (ROOT / path).exists()
    ]

    assert missing == []
