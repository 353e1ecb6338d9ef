"""The helper library for Go tests: its own tests, and those of an application that uses it as a packed module."""

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import page_snippets
import pytest
from command_line import COMMAND, running
from counted_command import counted_command
from project_script import build_artifacts

ROOT = Path(__file__).resolve().parents[2]
HELPER = ROOT / "clients" / "go"
EXAMPLE = ROOT / "examples" / "orders-go"
MODULE = "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
TESTS_OF_EXAMPLE = 5

# One worker runs these tests: they share the packed module.
pytestmark = pytest.mark.xdist_group("go-helper")


@pytest.fixture(scope="module", autouse=True)
def without_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove Python from PATH. The helper finds the emulator's command by an environment variable."""
    with page_snippets.no_python_in_path(tmp_path_factory.mktemp("path") / "bin"):
        yield


def go(folder: Path, *words: str, **variables: str) -> str:
    """Run a Go command and return its output. It must succeed."""
    return page_snippets.run(folder, "go", *words, **variables).stdout


def passed(output: str) -> set[str]:
    """Return the names of the tests that have passed."""
    return set(re.findall(r"^--- PASS: (\w+)", output, re.MULTILINE))


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a module proxy with the packed module, as `make dist` builds them."""
    return build_artifacts(tmp_path_factory.mktemp("dist"), "go") / "go"


@pytest.fixture(scope="module")
def application(proxy: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, str]]:
    """The folder of the example application outside of this tree, and the variables with which it gets the module."""
    folder = tmp_path_factory.mktemp("go")
    shutil.copytree(EXAMPLE, folder / "orders")
    go(folder / "orders", "mod", "edit", f"-dropreplace={MODULE}")
    others, cache = go(folder, "env", "GOPROXY", "GOMODCACHE").splitlines()
    return folder / "orders", {
        "GOPROXY": f"file://{proxy},file://{cache}/cache/download,{others}",
        "GONOSUMDB": MODULE,
        "GOFLAGS": "-mod=mod -modcacherw",
        # A new folder: Go would use the module of an earlier run, whose version is the same.
        "GOMODCACHE": str(folder / "modules"),
    }


def test_code_is_formatted_and_sound() -> None:
    for folder in (HELPER, EXAMPLE):
        done = subprocess.run(["gofmt", "-l", "."], cwd=folder, capture_output=True, text=True, check=True)
        assert done.stdout == ""
    go(HELPER, "vet", "./...")


@pytest.mark.executable
def test_tests_of_the_helper_pass() -> None:
    output = go(HELPER, "test", "-count=1", "-v", "./...")
    declared = [re.findall(r"^func (Test\w+)\(t ", file.read_text(), re.M) for file in HELPER.glob("*_test.go")]
    assert passed(output) == {name for names in declared for name in names}


def test_module_has_the_sources_the_page_and_the_license(proxy: Path) -> None:
    [module] = proxy.rglob("@v/*.zip")
    with zipfile.ZipFile(module) as archive:
        files = {name.rpartition("/")[2] for name in archive.namelist()}
    sources = {each.name for each in HELPER.glob("*.go") if not each.name.endswith("_test.go")}
    assert files == {*sources, "go.mod", "README.md", "LICENSE"}


@pytest.mark.executable
def test_application_passes_with_forks_of_one_process(
    application: tuple[Path, Mapping[str, str]], tmp_path: Path
) -> None:
    folder, variables = application
    with counted_command(tmp_path / "counted") as command:
        variables = {**variables, "ROCKETMQ_EMULATOR": str(command.path)}
        assert len(passed(go(folder, "test", "-count=1", "-v", "./...", **variables))) == TESTS_OF_EXAMPLE
        assert command.starts() == 1


@pytest.mark.executable
def test_application_passes_with_a_running_emulator(application: tuple[Path, Mapping[str, str]]) -> None:
    folder, variables = application
    with running("--profile", "fast") as command:
        control = {"ROCKETMQ_CONTROL_URL": command.ready["control"], "ROCKETMQ_EMULATOR": "/nowhere"}
        output = go(folder, "test", "-count=1", "-v", "./...", **variables, **control)
    assert len(passed(output)) == TESTS_OF_EXAMPLE


def test_parallel_tests_with_a_running_emulator_are_refused(tmp_path: Path) -> None:
    """The helper resets the emulator for each test, so a parallel test would delete the messages of the first."""
    shutil.copytree(HELPER, tmp_path / "helper")
    (tmp_path / "helper" / "held_test.go").write_text(
        """package rocketmqtest

import "testing"

func TestHeld(t *testing.T) {
	Run(t, "orders")
	if _, err := forTest(t, ownFork); err.Error() != errHeldSidecar("TestHeld").Error() {
		t.Fatal(err)
	}
}
"""
    )
    with running() as command:
        control = {"ROCKETMQ_CONTROL_URL": command.ready["control"]}
        assert passed(go(tmp_path / "helper", "test", "-run=TestHeld", "-v", ".", **control)) == {"TestHeld"}


README_HEAD = """package readme

import (
	"errors"
	"testing"

	"orders"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

type shop struct{ *orders.Shop }

func NewShop(nameServer string) shop {
	found, err := orders.NewShop(nameServer, "readme")
	if err != nil {
		panic(err)
	}
	return shop{found}
}

func (s shop) Order(text string) {
	if err := s.Shop.Order("1001", text); err != nil {
		panic(err)
	}
}

"""
README_WAREHOUSE = """refuse := func(string) error { return errors.New("no tea") }
	warehouse, err := orders.NewWarehouse(mq.NameServer, "readme-warehouse", refuse)
	if err != nil {
		t.Fatal(err)
	}
	defer warehouse.Close()
"""


def test_code_of_the_readme_passes(application: tuple[Path, Mapping[str, str]], tmp_path: Path) -> None:
    """The test defines a shop that panics on errors, and replaces the comment about a warehouse by the example's."""
    folder, variables = application
    shutil.copytree(folder, tmp_path / "orders")
    blocks = re.findall(r"^```go\n(.*?)^```$", (HELPER / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    code = README_HEAD + "\n".join(blocks)
    assert code.count("// ... a warehouse that fails") == 1
    (tmp_path / "orders" / "readme").mkdir()
    file = tmp_path / "orders" / "readme" / "readme_test.go"
    file.write_text(code.replace("// ... a warehouse that fails", README_WAREHOUSE))
    output = go(tmp_path / "orders", "test", "-count=1", "-v", "./readme", **variables)
    assert passed(output) == {"TestOrder", "TestOrderThatCannotBeShippedIsADeadLetter"}


def test_log_of_a_failed_test_has_the_histories_of_its_messages(tmp_path: Path) -> None:
    shutil.copytree(HELPER, tmp_path / "helper", ignore=shutil.ignore_patterns("*_test.go"))
    (tmp_path / "helper" / "failed_test.go").write_text(
        """package rocketmqtest

import "testing"

func TestFailed(t *testing.T) {
	mq := Run(t, "orders")
	for _, text := range []string{"two tea", "coffee"} {
		if _, err := mq.Send("orders", text); err != nil {
			t.Fatal(err)
		}
	}
	mq.AssertBodies(t, "orders", "two teas", "milk")
}
"""
    )
    done = subprocess.run(
        ["go", "test", "-count=1", "-v", "."],
        cwd=tmp_path / "helper",
        env={**os.environ, "ROCKETMQ_EMULATOR": COMMAND},
        capture_output=True,
        text=True,
        timeout=page_snippets.SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert 'most similar to "two teas" is "two tea"' in done.stdout
    log = done.stdout.partition("rocketmqtest: messages that are not acknowledged:")[2]
    assert re.search(r"message \w+ of orders\n +[\d:.]+  sent  direct", log), done.stdout


def test_snippet_of_the_page_about_containers_is_that_of_the_example() -> None:
    page = (ROOT / "docs" / "go.md").read_text(encoding="utf-8")
    [text] = [found for found in re.findall(r"^```go\n(.*?)^```$", page, re.M | re.S) if "mq.Mapped(" in found]
    code = (ROOT / "examples" / "orders-testcontainers-go" / "container.go").read_text(encoding="utf-8")
    assert " ".join(text.split()) in " ".join(code.split())


@pytest.mark.executable
def test_page_leads_from_an_empty_folder_to_a_passing_test(tmp_path: Path) -> None:
    """The commands and the file of docs/go.md, with the paths of this tree and an installed command."""
    page_snippets.write_files(page_snippets.snippets("docs/go.md"), tmp_path)
    commands = page_snippets.only("docs/go.md", "sh", "go test")
    output = page_snippets.run_script(tmp_path, commands.replace("go test", "go test -count=1 -v"))
    assert passed(output) == {"TestOrderThatCannotBeShippedIsADeadLetter"}
