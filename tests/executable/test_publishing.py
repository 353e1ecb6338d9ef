"""Artifacts of a release, installed from local indexes; the release workflow, and the snippets of docs/ci.md."""

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from page_snippets import snippets, write_files
from throwaway_venv import install, make_venv

ROOT = Path(__file__).resolve().parents[2]
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
SCHEMAS = "check-jsonschema==0.39.0"
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
CI = "docs/ci.md"

# One worker runs these tests: they share the artifacts.
pytestmark = [pytest.mark.executable, pytest.mark.xdist_group("publishing")]


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    """Run a program, which must succeed, and return its output."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make dist` fills, without the artifacts that have tests of their own."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "scripts/dist.py", folder, "python", "node", "go", "sbom")
    return folder


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of check-jsonschema, which compares files with the schemas of their formats."""
    programs = make_venv(tmp_path_factory.mktemp("schemas") / "venv")
    install(programs, SCHEMAS)
    return programs / "check-jsonschema"


@pytest.fixture(scope="module")
def configurations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of docs/ci.md that have a name, in a folder."""
    folder = tmp_path_factory.mktemp("configurations")
    write_files(snippets(CI, "yaml"), folder)
    [compose] = [each.text for each in snippets(CI, "yaml") if each.text.startswith("services:")]
    (folder / "compose.yaml").write_text(compose)
    return folder


def test_python_package_installs_from_an_index_and_starts(artifacts: Path, tmp_path: Path) -> None:
    """The package installs from a folder in the form of a package index; its dependencies from the usual index."""
    [wheel] = artifacts.glob("*.whl")
    page = tmp_path / "index" / "rocketmq-testkit"
    page.mkdir(parents=True)
    (page / "index.html").write_text(f'<a href="{wheel.as_uri()}">{wheel.name}</a>')
    programs = make_venv(tmp_path / "venv")
    install(programs, "--no-deps", "--index-url", page.parent.as_uri(), "rocketmq-testkit")
    install(programs, "--require-hashes", "--requirement", ROOT / "scripts" / "executable" / "requirements.txt")
    printed = run(programs / "rocketmq-emulator", "--version", cwd=tmp_path)
    assert printed.startswith("rocketmq-emulator ")


def test_sdist_has_each_module_of_the_wheel(artifacts: Path) -> None:
    [wheel], [sdist] = artifacts.glob("*.whl"), artifacts.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames() if name.endswith(".py")}
    with zipfile.ZipFile(wheel) as archive:
        modules = {name for name in archive.namelist() if name.endswith(".py")}
    folders = {"rocketmq_testkit": "testkit", "pyspark_rocketmq": "spark"}
    expected = set()
    for module in modules:
        first, _, rest = module.partition("/")
        inner = rest.partition("/")[0]
        is_folder = first == "rocketmq_testkit" and (ROOT / inner).is_dir()
        expected.add(rest if is_folder else f"{folders[first]}/{rest}")
    assert expected - sources == set()


def test_node_tarball_and_go_module_have_the_license(artifacts: Path) -> None:
    [tarball], [module] = artifacts.glob("*.tgz"), artifacts.rglob("@v/*.zip")
    with tarfile.open(tarball) as archive:
        assert "package/LICENSE" in archive.getnames()
    with zipfile.ZipFile(module) as archive:
        assert any(name.endswith("/LICENSE") for name in archive.namelist())


def test_bill_of_materials_names_each_locked_library_with_its_version(artifacts: Path) -> None:
    bill = json.loads((artifacts / "rocketmq-emulator.cdx.json").read_text())
    listed = {(re.sub(r"[-_.]+", "-", each["name"]).lower(), each["version"]) for each in bill["components"]}
    locked = (ROOT / "scripts" / "executable" / "requirements.txt").read_text()
    wanted = set(re.findall(r"^([\w.-]+)==(\S+) (?!; sys_platform)", locked, re.MULTILINE))
    assert bill["bomFormat"] == "CycloneDX"
    assert wanted - listed == set()


def test_workflows_are_valid(schemas: Path, configurations: Path) -> None:
    """actionlint and the schema of workflows accept the release workflow and the snippet for GitHub Actions."""
    files = (WORKFLOW, configurations / ".github" / "workflows" / "tests.yml")
    run("go", "run", ACTIONLINT, *files)
    run(schemas, "--builtin-schema", "vendor.github-workflows", *files)


def test_each_action_of_the_release_is_pinned_by_a_commit_and_names_its_version() -> None:
    used = re.findall(r"uses: (.+)", WORKFLOW.read_text(encoding="utf-8"))
    pinned = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [each for each in used if pinned.fullmatch(each) is None] == []
    by_action = {each.partition("@")[0]: set[str]() for each in used}
    for each in used:
        by_action[each.partition("@")[0]].add(each)
    assert len(by_action) > 10
    assert [versions for versions in by_action.values() if len(versions) > 1] == []


def test_snippets_for_gitlab_and_compose_are_valid(schemas: Path, configurations: Path) -> None:
    run(schemas, "--builtin-schema", "vendor.gitlab-ci", configurations / ".gitlab-ci.yml")
    run(schemas, "--builtin-schema", "vendor.compose-spec", configurations / "compose.yaml", ROOT / "compose.yaml")
