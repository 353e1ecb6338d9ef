"""The helper library for Node tests: its own tests, and those of an application that uses it as a packed tarball."""

import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import page_snippets
import pytest
from command_line import running
from control_client import ask
from counted_command import counted_command
from page_snippets import run
from project_script import build_artifacts

ROOT = Path(__file__).resolve().parents[2]
HELPER = ROOT / "clients" / "node"
EXAMPLE = ROOT / "examples" / "orders-node"
PAGE = "docs/node.md"
TESTS_OF_EXAMPLE = 5

# One worker runs these tests: they share the packed tarball.
pytestmark = pytest.mark.xdist_group("node-helper")


@pytest.fixture(scope="module", autouse=True)
def without_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove Python from PATH. The helper finds the emulator's command by an environment variable."""
    with page_snippets.no_python_in_path(tmp_path_factory.mktemp("path") / "bin"):
        yield


def npm(folder: Path, *words: str) -> str:
    """Run a command of npm without audits and other optional requests to the registry; return its output."""
    return run(folder, "npm", *words, "--no-audit", "--no-fund", "--no-update-notifier").stdout


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed helper, as `make dist` builds it."""
    [packed] = build_artifacts(tmp_path_factory.mktemp("dist"), "node").glob("*.tgz")
    return packed


@pytest.fixture(scope="module")
def application(tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the example application outside of this tree, with the helper as its tarball."""
    folder = tmp_path_factory.mktemp("node")
    left_out = shutil.ignore_patterns("node_modules", "package-lock.json")
    shutil.copytree(EXAMPLE, folder / "orders", ignore=left_out)
    npm(folder / "orders", "install", "--save-dev", str(tarball))
    return folder / "orders"


@pytest.mark.executable
def test_tests_of_the_helper_pass() -> None:
    output = run(HELPER, "node", "--test", "test/").stdout
    source = "".join(file.read_text(encoding="utf-8") for file in (HELPER / "test").glob("*.test.js"))
    declared = re.findall(r"^(?:test| *await t\.test)\(", source, re.MULTILINE)
    assert f"# pass {len(declared)}\n" in output


def test_package_has_the_sources_the_types_the_page_and_the_license(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        files = {name.removeprefix("package/") for name in archive.getnames()}
    sources = {f"src/{each.name}" for each in (HELPER / "src").glob("*.js")}
    assert files == {*sources, "package.json", "index.d.ts", "types.d.ts", "README.md", "LICENSE"}
    types = (HELPER / "index.d.ts").read_text(encoding="utf-8")
    assertions = re.findall(r"async (assert\w+)\(", (HELPER / "src" / "assertions.js").read_text(encoding="utf-8"))
    assert [name for name in assertions if f"  {name}(" not in types] == []


def test_types_fit_the_methods_and_refuse_mistakes(application: Path) -> None:
    npm(application, "install", "--no-save", "typescript@5.9.3", "@types/node@20")
    shutil.copy(Path(__file__).with_name("node_types.ts"), application)
    compiler = ["npx", "tsc", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]
    run(application, *compiler, "--lib", "es2022,esnext.disposable", "node_types.ts")


def test_types_declare_each_method_and_no_other() -> None:
    """The hand-written type declarations have the same methods as the code."""
    types = (HELPER / "index.d.ts").read_text(encoding="utf-8")
    for name in ("RocketMQ", "Inspection", "Journal", "Snapshots", "Brokers", "Clock", "Faults"):
        [declared] = re.findall(rf"^export (?:class|interface) {name} {{\n(.*?)^}}", types, re.MULTILINE | re.DOTALL)
        code = (HELPER / "src" / f"{name.lower()}.js").read_text(encoding="utf-8")
        [body] = re.findall(rf"^export class {name} .*?{{\n(.*?)^}}", code, re.MULTILINE | re.DOTALL)
        methods = set(re.findall(r"^  (?:async )?(?:static )?(?:async )?\*?(\w+)\(.*{$", body, re.MULTILINE))
        named = set(re.findall(r"^  (?:static )?(\w+)\(", declared, re.MULTILINE))
        named = {each for each in named if not each.startswith("assert")}
        assert named == methods - {"constructor"}, name


def assert_all_passed(output: str) -> None:
    """Check the summary of node:test. A line of the SDK's logger is neither a failure nor a test."""
    assert f"# pass {TESTS_OF_EXAMPLE}\n" in output
    assert "# fail 0\n" in output
    assert "uncaughtException" not in output


@pytest.mark.executable
def test_application_passes_with_forks_of_one_process(application: Path, tmp_path: Path) -> None:
    """node:test runs each test file in a process of its own, and the application has one."""
    with counted_command(tmp_path / "counted") as command:
        assert_all_passed(run(application, "npm", "test", ROCKETMQ_EMULATOR=str(command.path)).stdout)
        assert command.starts() == len(list((application / "test").glob("*.test.js"))) == 1


@pytest.mark.executable
def test_application_passes_with_a_running_emulator(application: Path) -> None:
    with running("--profile", "fast") as command:
        control = {"ROCKETMQ_CONTROL_URL": command.ready["control"], "ROCKETMQ_EMULATOR": "/nowhere"}
        assert_all_passed(run(application, "npm", "test", **control).stdout)


def test_a_second_test_is_refused_while_one_holds_the_running_emulator(application: Path) -> None:
    """The helper resets the emulator for each test, so a second test would delete the messages of the first."""
    (application / "held.mjs").write_text(
        """import assert from "node:assert";
import { RocketMQ } from "rocketmq-testkit";

const first = await RocketMQ.start({ topics: ["orders"] });
await assert.rejects(RocketMQ.start(), /^Error: ROCKETMQ_CONTROL_URL=.*: held.mjs \\(pid \\d+\\) uses this emulator, /);
await first.send("orders", "two teas");
await first.stop();
const second = await RocketMQ.start({ topics: ["orders"] });
assert.deepStrictEqual(await second.texts("orders"), []);
await second.stop();
"""
    )
    with running("--profile", "fast") as command:
        run(application, "node", "held.mjs", ROCKETMQ_CONTROL_URL=command.ready["control"])


def test_jest_ends_waits_and_fails_tests_whose_emulator_ends(tarball: Path, tmp_path: Path) -> None:
    """Suites of Jest use a running emulator, and Jest ends some of their tests while they wait for it."""
    shutil.copytree(Path(__file__).with_name("jest"), tmp_path / "suites")
    (tmp_path / "suites" / "package.json").write_text('{"type": "module"}')
    npm(tmp_path / "suites", "install", "--save-dev", "jest@30", str(tarball))
    options = {"NODE_OPTIONS": "--experimental-vm-modules"}
    with running("--profile", "fast") as command:
        control = command.ready["control"]
        passing = ["npx", "jest", "--runInBand", "held.test.js", "last.test.js", "next.test.js"]
        run(tmp_path / "suites", *passing, **options, ROCKETMQ_CONTROL_URL=control)

        _, fork = ask(control, "POST", "/v1/forks", {})
        options |= {"ROCKETMQ_CONTROL_URL": fork["control"], "FORK": f"{control}/v1/forks/{fork['id']}"}
        failing = "! npx jest --runInBand lost.test.js 2>&1"
        output = run(tmp_path / "suites", "sh", "-c", failing, **options).stdout
    assert re.search(r"HoldLost: http.*: the hold of lost.test.js: the emulator ends \(pid \d+\) was lost", output)


def test_code_of_the_readme_passes(application: Path) -> None:
    """The test defines a shop that numbers its orders itself."""
    page = (HELPER / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```js\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shop = """import { Shop as Numbered } from "./shop.js";
class Shop extends Numbered {
  async order(text) {
    await super.order("1001", text);
    await this.close();
  }
}
"""
    (application / "readme.test.js").write_text(block + shop)
    output = run(application, "node", "--test", "--test-force-exit", "readme.test.js").stdout
    assert "# pass 1\n# fail 0\n" in output


def test_an_sdk_uses_mapped_ports(application: Path) -> None:
    """The block of docs/node.md about mapped ports works with forwarders in place of a container engine."""
    [block] = [each.text for each in page_snippets.snippets(PAGE, "js") if ".mapped(" in each.text]
    template = Path(__file__).with_name("node_mapped_ports.js").read_text(encoding="utf-8")
    assert template.count("  // PAGE\n") == 1
    (application / "mapped.test.js").write_text(template.replace("  // PAGE\n", block))
    output = run(application, "node", "--test", "--test-force-exit", "mapped.test.js").stdout
    assert "# pass 1\n# fail 0\n" in output


@pytest.mark.executable
def test_page_leads_from_an_empty_folder_to_a_passing_test_with_either_runner(tmp_path: Path) -> None:
    """The commands and files of docs/node.md work with an installed command."""
    files = page_snippets.write_files(page_snippets.snippets(PAGE), tmp_path)
    assert files == {"orders.test.js", "stock.test.js", "refunds.test.ts"}
    _, install_and_run, add_jest, add_typescript = [each.text for each in page_snippets.snippets(PAGE, "sh")]
    later = [tmp_path / "stock.test.js", tmp_path / "refunds.test.ts"]
    for file in later:
        file.rename(f"{file}.later")
    assert "# pass 1\n# fail 0\n" in page_snippets.run_script(tmp_path, install_and_run)

    # Each runner would also run the files of the others.
    (tmp_path / "orders.test.js").unlink()
    Path(f"{later[0]}.later").rename(later[0])
    # Jest prints to standard error.
    assert "Tests:       2 passed, 2 total\n" in page_snippets.run_script(tmp_path, f"exec 2>&1\n{add_jest}")

    Path(f"{later[1]}.later").rename(later[1])
    assert re.search("^# pass 1\n# fail 0$", page_snippets.run_script(tmp_path, add_typescript), re.MULTILINE)
