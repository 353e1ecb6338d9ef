"""Each public method of the helpers for Java, Go and Node is called against a served emulator.

A table in each language has a row for each method, and fails if a method has no row. The rows of assertions have a call
that holds and one that fails. The emulator has messages in every state, and clients: `busy_shop.py` describes it.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from busy_shop import busy_shop
from maven import Maven, passed
from page_snippets import run
from rocketmq_testkit.conformance.clients.remoting_consumption import pull_request
from rocketmq_testkit.conformance.clients.remoting_members import lock_request

ROOT = Path(__file__).resolve().parents[2]
TABLES = Path(__file__).with_name("methods")
JAVA_TESTS = Path("src") / "test" / "java" / "io" / "github" / "rocketmqtestkit"
SUSPENDS = 2
"""The system flag of a pull that waits for messages."""


@pytest.fixture(scope="module")
def variables() -> Iterator[dict[str, str]]:
    """Run the emulator, with further clients for lists that would be empty, and return the variable with its URL."""
    with busy_shop() as shop:
        locker = shop.client("locker").join("sorting", {"steps": "*"})
        assert locker.ask(*lock_request("locker", "sorting", "steps", "broker-a", queues=[0])).code == 0
        waiting = shop.client("waiting").join("alarms", {"reminders": "*"})
        pull = pull_request("reminders", "alarms", 0, 0, sysFlag=SUSPENDS, suspendTimeoutMillis=3_600_000)
        waiting.connection.submit(*pull)
        # Each language expires one of these clients.
        for name in ("leaving", "leaving-go", "leaving-java"):
            shop.client(name).join("leaving", {"reminders": "*"})
        yield {"SHOP_CONTROL_URL": shop.rocketmq.control}


def test_each_method_of_the_node_helper_works(variables: dict[str, str], tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "rocketmq-testkit"
    shutil.copytree(ROOT / "clients" / "node", package, ignore=shutil.ignore_patterns("node_modules", "test"))
    shutil.copy(TABLES / "node" / "methods.test.js", tmp_path / "methods.test.mjs")
    output = run(tmp_path, "node", "--test", "methods.test.mjs", **variables).stdout
    assert "# fail 0\n" in output


def test_each_method_of_the_go_helper_works(variables: dict[str, str], tmp_path: Path) -> None:
    assert run(TABLES / "go", "gofmt", "-l", ".").stdout == ""
    left_out = shutil.ignore_patterns("*_test.go")
    shutil.copytree(ROOT / "clients" / "go", tmp_path / "helper", ignore=left_out)
    shutil.copy(ROOT / "clients" / "go" / "helpers_test.go", tmp_path / "helper")
    shutil.copytree(TABLES / "go", tmp_path / "helper", dirs_exist_ok=True)
    run(tmp_path / "helper", "go", "vet", "./...")
    run(tmp_path / "helper", "go", "test", "-count=1", "./...", **variables)


def test_each_method_of_the_java_helper_works(variables: dict[str, str], tmp_path: Path) -> None:
    helper = tmp_path / "helper"
    shutil.copytree(ROOT / "clients" / "java", helper, ignore=shutil.ignore_patterns("target", "test"))
    shutil.copytree(TABLES / "java", helper / JAVA_TESTS)
    maven = Maven.create(tmp_path / "local")
    maven.run(helper, "test", **variables)
    maven.keep_downloads()
    assert len(passed(helper)) == len(re.findall("@Test\n", (TABLES / "java" / "MethodsTest.java").read_text()))


def test_each_row_of_the_java_table_calls_its_method() -> None:
    """The tables in Go and Node check it themselves."""
    code = "".join(file.read_text(encoding="utf-8") for file in sorted((TABLES / "java").glob("*Rows.java")))
    rows = re.findall(r"row(?:s\.put)?\(\"\w+\.(\w+)\([^\"]*\)\",(.*?)(?=\n    ?    ?row|\n    \})", code, re.DOTALL)
    assert len(rows) > 150
    assert [name for name, call in rows if not re.search(rf"(?:\.|::){name}\b", call)] == []
