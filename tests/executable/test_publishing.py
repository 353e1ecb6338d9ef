"""Artifacts of a release, installed from local indexes; the release workflow, and the snippets of docs/ci.md."""

import json
import re
import signal
import subprocess
import tarfile
import urllib.request
import zipfile
from pathlib import Path

import pytest
from command_line import running
from namespace_links import packages
from page_snippets import snippets, write_files
from project_script import build_artifacts
from throwaway_venv import install, make_venv

ROOT = Path(__file__).resolve().parents[2]
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
SCHEMAS = "check-jsonschema==0.39.0"
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
CI = "docs/ci.md"
NOT_PACKED = {"conformance/drivers/rust/rustfmt.toml"}
"""Files of the packages' folders that the artifacts do not have: only a formatter reads them."""

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
    """The folder that `make dist` fills, without those parts that the tests of the helpers build and use."""
    return build_artifacts(tmp_path_factory.mktemp("dist"), "python", "sbom")


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


def test_python_package_installs_from_an_index_and_serves(artifacts: Path, tmp_path: Path) -> None:
    """The package installs from a folder in the form of a package index; its dependencies from the usual index.

    Its command starts, serves the control port and the web console, and stops.
    """
    [wheel] = artifacts.glob("*.whl")
    page = tmp_path / "index" / "rocketmq-testkit"
    page.mkdir(parents=True)
    (page / "index.html").write_text(f'<a href="{wheel.as_uri()}">{wheel.name}</a>')
    programs = make_venv(tmp_path / "venv")
    install(programs, "--no-deps", "--index-url", page.parent.as_uri(), "rocketmq-testkit")
    install(programs, "--require-hashes", "--requirement", ROOT / "scripts" / "executable" / "requirements.txt")
    program = programs / "rocketmq-emulator"
    assert run(program, "--version", cwd=tmp_path).startswith("rocketmq-emulator ")
    with running("--topic", "orders", program=str(program)) as started:
        assert started.get("/v1/topics/orders")["name"] == "orders"
        request = urllib.request.Request(f"{started.ready['control']}/", headers={"accept": "text/html"})
        assert b"/console/web/main.js" in urllib.request.urlopen(request, timeout=20).read()
        assert urllib.request.urlopen(f"{started.ready['control']}/console/web/main.js", timeout=20).read()
        code, *_ = started.stop(signal.SIGTERM)
    assert code == 0


def package_files() -> dict[str, str]:
    """Return each file of the packages' folders in this tree by its name in the wheel."""
    words = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    found = {}
    for package, folder in packages(ROOT).items():
        place = folder.relative_to(ROOT)
        for name in run(*words, place).split("\0"):
            if name and name not in NOT_PACKED and (ROOT / name).is_file():
                found[f"{package.replace('.', '/')}/{Path(name).relative_to(place)}"] = name
    return found


def test_wheel_and_sdist_have_each_file_of_the_packages(artifacts: Path) -> None:
    [wheel], [sdist] = artifacts.glob("*.whl"), artifacts.glob("*.tar.gz")
    expected = package_files()
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == expected.keys()
        for name, source in expected.items():
            assert archive.read(name) == (ROOT / source).read_bytes(), name
    folders = {folder.name for folder in packages(ROOT).values()}
    with tarfile.open(sdist) as archive:
        names = {each.name.partition("/")[2] for each in archive.getmembers() if each.isfile()}
    assert {name for name in names if name.partition("/")[0] in folders} == set(expected.values())
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names


def test_bill_of_materials_names_each_locked_library_with_its_version(artifacts: Path) -> None:
    bill = json.loads((artifacts / "rocketmq-emulator.cdx.json").read_text())
    listed = {(re.sub(r"[-_.]+", "-", each["name"]).lower(), each["version"]) for each in bill["components"]}
    locked = (ROOT / "scripts" / "executable" / "requirements.txt").read_text()
    wanted = set(re.findall(r"^([\w.-]+)==(\S+) (?!; sys_platform)", locked, re.MULTILINE))
    assert bill["bomFormat"] == "CycloneDX"
    assert {"twisted", "protobuf", "pyinstaller"} <= {name for name, _ in wanted}
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
