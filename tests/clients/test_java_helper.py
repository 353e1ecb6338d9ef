"""The helper for Java tests: its own tests, and the artifact that is published."""

import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from maven import Maven, passed

ROOT = Path(__file__).resolve().parents[2]
HELPER = ROOT / "clients" / "java"
PACKAGE = "io/github/rocketmqtestkit"
NAME = "rocketmq-testkit-junit5"

# One worker runs these tests: each Maven uses a core, and they share a repository.
pytestmark = pytest.mark.xdist_group("java-helper")


@pytest.fixture(scope="module")
def maven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Maven]:
    """Maven with a local repository without helpers."""
    created = Maven.create(tmp_path_factory.mktemp("maven") / "local")
    yield created
    created.keep_downloads()


@pytest.fixture(scope="module")
def repository(maven: Maven, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the packed artifacts."""
    folder = tmp_path_factory.mktemp("repository")
    script = ROOT / "scripts" / "java_artifact.py"
    maven.call(folder, sys.executable, str(script), str(folder), "--local", str(maven.local))
    return folder


def version() -> str:
    """Return the version of the project."""
    found = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


def test_tests_of_the_helper_pass(maven: Maven, tmp_path: Path) -> None:
    shutil.copytree(HELPER, tmp_path / "helper", ignore=shutil.ignore_patterns("target"))
    maven.run(tmp_path / "helper", "test")
    declared = [
        name
        for file in (HELPER / "src" / "test").rglob("*Test.java")
        for name in re.findall(r"^    @Test\n    void (\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    ran = {re.sub(r"\(.*", "", name.rpartition(".")[2]) for name in passed(tmp_path / "helper")}
    assert set(declared) <= ran


def test_artifact_has_classes_license_sources_and_documentation(repository: Path) -> None:
    folder = repository / "io" / "github" / "rocketmq-testkit" / NAME / version()
    sources = {each.stem for each in (HELPER / "src" / "main").rglob("*.java")}
    base = f"{NAME}-{version()}"
    with zipfile.ZipFile(folder / f"{base}.jar") as jar:
        names = set(jar.namelist())
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
        major = jar.read(f"{PACKAGE}/RocketMQ.class")[7]
    assert {f"{PACKAGE}/{name}.class" for name in sources} <= names
    assert "META-INF/LICENSE" in names
    assert "Automatic-Module-Name: io.github.rocketmqtestkit" in manifest
    java_11 = 55
    assert major == java_11
    with zipfile.ZipFile(folder / f"{base}-sources.jar") as jar:
        assert {f"{PACKAGE}/{name}.java" for name in sources} <= set(jar.namelist())
    with zipfile.ZipFile(folder / f"{base}-javadoc.jar") as jar:
        assert [name for name in jar.namelist() if name.endswith(f"{PACKAGE}/RocketMQTest.html")]
    description = (folder / f"{base}.pom").read_text(encoding="utf-8")
    for wanted in ("Apache-2.0", "<scm>", "<developers>", "<description>", f"<version>{version()}</version>"):
        assert wanted in description


def test_users_get_no_dependency_but_junit(repository: Path, maven: Maven) -> None:
    folder = repository / "io" / "github" / "rocketmq-testkit" / NAME / version()
    listed = folder / "dependencies"
    shutil.copy(folder / f"{NAME}-{version()}.pom", folder / "pom.xml")
    maven.run(folder, "-q", "dependency:list", "-DincludeScope=runtime", f"-DoutputFile={listed}")
    groups = {line.split(":")[0].strip() for line in listed.read_text().splitlines() if line.count(":") > 2}
    assert groups == {"org.junit.jupiter", "org.junit.platform", "org.opentest4j", "org.apiguardian"}


def test_each_assertion_of_the_control_port_has_a_method() -> None:
    described = (ROOT / "docs" / "control-api.md").read_text(encoding="utf-8")
    section = described.partition("### `POST /v1/assertions/{name}`")[2].partition("### ")[0]
    listed = section.partition("Assertions about messages:")[2].partition("They are those of")[0]
    names = set(re.findall(r"`([a-z_]+)`", listed)) - {"texts", "bodies", "instant", "tolerance"} | {"bodies"}
    code = "".join(each.read_text(encoding="utf-8") for each in (HELPER / "src" / "main").rglob("*.java"))
    wanted = {f"assert{''.join(part.capitalize() for part in name.split('_'))}" for name in names}
    assert wanted - set(re.findall(r"\b(assert\w+)\(", code)) == set()
    assert "assertSent" in wanted
    assert "assertInDlq" in wanted
