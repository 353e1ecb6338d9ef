"""The helper libraries for Java and Spring tests: the packed artifacts, and applications that use the artifacts.

The tests of the library for Spring need the other artifact. Those of the library for Java, and that of the page's
commands, are in `test_java_suite.py`, because they can run while this file packs.
"""

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import page_snippets
import pytest
from command_line import Running, running
from counted_command import counted_command
from maven import OWN_GROUP, Maven, passed
from project_script import build_artifacts, run_script

ROOT = Path(__file__).resolve().parents[2]
HELPER = ROOT / "clients" / "java"
NAME = "rocketmq-testkit-junit5"
FOR_SPRING = ROOT / "clients" / "java-spring"
EXAMPLE = ROOT / "examples" / "orders-java"
EXAMPLE_OF_SPRING = ROOT / "examples" / "orders-spring"
ARTIFACTS = (
    (NAME, HELPER, "io/github/rocketmqtestkit"),
    ("rocketmq-testkit-spring", FOR_SPRING, "io/github/rocketmqtestkit/spring"),
)
EXAMPLE_OF_CONTAINERS = ROOT / "examples" / "orders-testcontainers"
STARTERS = ("remoting", "grpc")
TESTS_OF_EXAMPLE = 5
PAGE = "docs/java.md"

# One worker runs these tests: each Maven uses a core, and they share a repository.
pytestmark = pytest.mark.xdist_group("java-helper")


@pytest.fixture(scope="module", autouse=True)
def without_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove Python from PATH. The helper finds the emulator's command by an environment variable."""
    with page_snippets.no_python_in_path(tmp_path_factory.mktemp("path") / "bin"):
        yield


@pytest.fixture(scope="module")
def maven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Maven]:
    """Maven with a local repository that does not contain the helper libraries."""
    created = Maven.create(tmp_path_factory.mktemp("maven") / "local")
    yield created
    created.keep_downloads()


@pytest.fixture(scope="module")
def repository(maven: Maven, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the packed artifacts, as `make dist` builds it."""
    return build_artifacts(tmp_path_factory.mktemp("dist"), "java", **maven.variables) / "maven"


@pytest.fixture(scope="module")
def packed(maven: Maven, repository: Path) -> tuple[str, ...]:
    """The options with which Maven finds the helper libraries as published artifacts in the repository."""
    return maven.find_packed(repository)


def version() -> str:
    """Return the version of the project."""
    found = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(("name", "helper", "package"), ARTIFACTS)
def test_artifact_has_classes_license_sources_and_documentation(
    repository: Path, name: str, helper: Path, package: str
) -> None:
    folder = repository / OWN_GROUP / name / version()
    sources = {each.stem for each in (helper / "src" / "main").rglob("*.java")}
    public = "RocketMQTest" if helper == HELPER else "RocketMQConnection"
    base = f"{name}-{version()}"
    with zipfile.ZipFile(folder / f"{base}.jar") as jar:
        names = set(jar.namelist())
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
        major = jar.read(f"{package}/{public}.class")[7]
    assert {f"{package}/{name}.class" for name in sources} <= names
    assert "META-INF/LICENSE" in names
    assert f"Automatic-Module-Name: {package.replace('/', '.')}" in manifest
    java_11 = 55
    assert major == java_11
    with zipfile.ZipFile(folder / f"{base}-sources.jar") as jar:
        assert {f"{package}/{name}.java" for name in sources} <= set(jar.namelist())
    with zipfile.ZipFile(folder / f"{base}-javadoc.jar") as jar:
        assert [name for name in jar.namelist() if name.endswith(f"{package}/{public}.html")]
    description = (folder / f"{base}.pom").read_text(encoding="utf-8")
    for wanted in ("Apache-2.0", "<scm>", "<developers>", "<description>", f"<version>{version()}</version>"):
        assert wanted in description


def test_gradle_file_of_the_page_has_the_versions_of_the_maven_files() -> None:
    """The versions are compared because no test runs Gradle, whose program repositories for Maven do not have."""
    text = page_snippets.only(PAGE, "kotlin")
    found = dict(re.findall(r'mplementation\("([\w.-]+:[\w.-]+):([\d.]+)"\)', text))
    pom = page_snippets.only(PAGE, "xml")
    declared = re.findall(r"<groupId>(.+)</groupId>\s+<artifactId>(.+)</artifactId>\s+<version>(.+)</version>", pom)
    assert found == {f"{group}:{name}": version for group, name, version in declared if group != "com.example"}
    own = (HELPER / "pom.xml").read_text(encoding="utf-8")
    [(_, junit)] = re.findall(r"(junit-jupiter-engine):([\d.]+)", text)
    assert f"<junit.version>{junit}</junit.version>" in own
    assert f"<version>1.{junit.partition('.')[2]}</version>" in own
    assert f"junit-platform-launcher:1.{junit.partition('.')[2]}" in text


@pytest.fixture
def key() -> Iterator[Mapping[str, str]]:
    """The variables of GnuPG with a new key that signs, and its passphrase for Maven."""
    # The path of its socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="gpg-") as home:
        variables = {"GNUPGHOME": home, "MAVEN_GPG_PASSPHRASE": "two teas"}
        words = ("--passphrase", "two teas", "--quick-generate-key", "Testkit <testkit@example.com>", "ed25519", "sign")
        gpg(variables, "--batch", "--pinentry-mode", "loopback", *words)
        yield variables
        subprocess.run(["gpgconf", "--kill", "all"], env={**os.environ, **variables}, timeout=60, check=True)


def gpg(variables: Mapping[str, str], *words: str | Path) -> None:
    """Run GnuPG, which must succeed."""
    environment = {**os.environ, **variables}
    done = subprocess.run(["gpg", *words], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_release_deploys_the_packed_artifacts_with_signatures(
    maven: Maven, repository: Path, key: Mapping[str, str], tmp_path: Path
) -> None:
    """The script of the release workflow deploys the files of `make dist`, byte for byte, and a signature of each."""
    run_script("deploy_java.py", repository, f"file://{tmp_path}", **maven.variables, **key)
    for name, *_ in ARTIFACTS:
        folder = Path(OWN_GROUP, name, version())
        files = [each.name for each in (repository / folder).iterdir() if each.suffix in (".jar", ".pom")]
        assert len(files) == len(("jar", "sources", "documentation", "description"))
        for file in files:
            deployed = tmp_path / folder / file
            assert deployed.read_bytes() == (repository / folder / file).read_bytes()
            gpg(key, "--verify", f"{deployed}.asc", deployed)


def test_users_get_no_dependency_but_junit(repository: Path, maven: Maven) -> None:
    folder = repository / OWN_GROUP / NAME / version()
    listed = folder / "dependencies"
    shutil.copy(folder / f"{NAME}-{version()}.pom", folder / "pom.xml")
    maven.run(folder, "-q", "dependency:list", "-DincludeScope=runtime", f"-DoutputFile={listed}")
    groups = {line.split(":")[0].strip() for line in listed.read_text().splitlines() if line.count(":") > 2}
    assert groups == {"org.junit.jupiter", "org.junit.platform", "org.opentest4j", "org.apiguardian"}


@pytest.mark.executable
def test_application_passes_with_forks_of_one_process(maven: Maven, packed: tuple[str, ...], tmp_path: Path) -> None:
    folder = application(EXAMPLE, tmp_path)
    with counted_command(tmp_path / "counted") as command:
        maven.run(folder, *packed, "test", ROCKETMQ_EMULATOR=str(command.path))
        assert command.starts() == 1
    assert len(passed(folder)) == TESTS_OF_EXAMPLE


@pytest.mark.executable
def test_application_passes_with_a_running_emulator(maven: Maven, packed: tuple[str, ...], tmp_path: Path) -> None:
    folder = application(EXAMPLE, tmp_path)
    with running("--profile", "fast") as command:
        maven.run(folder, *packed, "test", **only_running(command))
    assert len(passed(folder)) == TESTS_OF_EXAMPLE


@pytest.mark.executable
def test_tests_of_the_helper_for_spring_pass(maven: Maven, packed: tuple[str, ...], tmp_path: Path) -> None:
    folder = application(FOR_SPRING, tmp_path)
    maven.run(folder, *packed, "test")
    declared = (FOR_SPRING / "src/test/java/io/github/rocketmqtestkit/spring/ConnectionTest.java").read_text()
    # Two of the declared tests fail on purpose, inside of other ones.
    assert len(passed(folder)) == len(re.findall(r"^ +@Test$", declared, re.MULTILINE)) - 2


@pytest.mark.executable
def test_spring_applications_and_the_test_of_the_page_pass(
    maven: Maven, packed: tuple[str, ...], tmp_path: Path
) -> None:
    """Applications with the Spring starter of either protocol pass. The test of docs/java.md passes with the first."""
    folder = application(EXAMPLE_OF_SPRING, tmp_path)
    tests = [each for each in page_snippets.snippets(PAGE) if each.file and "SpringBootTest" in each.text]
    assert len(page_snippets.write_files(tests, folder / "remoting")) == 1
    maven.run(folder, *packed, "test")
    assert [len(passed(folder / starter)) for starter in STARTERS] == [TESTS_OF_EXAMPLE + 1, TESTS_OF_EXAMPLE]


@pytest.mark.executable
def test_spring_applications_pass_with_a_running_emulator(
    maven: Maven, packed: tuple[str, ...], tmp_path: Path
) -> None:
    folder = application(EXAMPLE_OF_SPRING, tmp_path)
    with running("--profile", "fast") as command:
        maven.run(folder, *packed, "test", **only_running(command))
    assert [len(passed(folder / starter)) for starter in STARTERS] == [TESTS_OF_EXAMPLE, TESTS_OF_EXAMPLE]


def test_clients_of_both_protocols_use_mapped_ports(maven: Maven, packed: tuple[str, ...], tmp_path: Path) -> None:
    """The tests of the example with Testcontainers pass with a forwarder, which maps the ports, for the container."""
    folder = application(EXAMPLE_OF_CONTAINERS, tmp_path)
    maven.run(folder, *packed, "test", "-Dtest=ForwarderTest")
    protocols = 2
    assert len(passed(folder)) == protocols
    assert (folder / "target" / "test-classes" / "orders" / "ContainerTest.class").is_file()


def test_snippet_of_the_page_about_containers_is_that_of_the_example() -> None:
    [text] = [each.text for each in page_snippets.snippets(PAGE) if each.text.startswith("emulator = ")]
    code = (EXAMPLE_OF_CONTAINERS / "src/test/java/orders/RocketMQEmulatorContainer.java").read_text(encoding="utf-8")
    assert " ".join(text.split()) in " ".join(code.split())


WAREHOUSE_OF_README = """package shipping;

/** A warehouse that refuses orders, without exceptions that a test must declare. */
class Warehouse implements AutoCloseable {
    private final orders.Warehouse refusing;

    Warehouse(String endpoint) {
        try {
            refusing = new orders.Warehouse(endpoint, "orders", order -> false);
        } catch (org.apache.rocketmq.client.apis.ClientException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        try {
            refusing.close();
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
"""
IMPORTS_OF_README = """package shipping;

import static java.time.Duration.ofHours;

import io.github.rocketmqtestkit.RocketMQ;
import io.github.rocketmqtestkit.RocketMQTest;
import org.junit.jupiter.api.Test;

"""


def test_code_of_the_readme_passes(maven: Maven, packed: tuple[str, ...], tmp_path: Path) -> None:
    folder = application(EXAMPLE, tmp_path)
    shutil.rmtree(folder / "src" / "test")
    tests = folder / "src" / "test" / "java" / "shipping"
    tests.mkdir(parents=True)
    [block] = [each.text for each in page_snippets.snippets("clients/java/README.md")]
    (tests / "ShippingTest.java").write_text(IMPORTS_OF_README + block)
    (tests / "Warehouse.java").write_text(WAREHOUSE_OF_README)
    maven.run(folder, *packed, "test")
    assert passed(folder) == ["shipping.ShippingTest.orderThatCannotBeShippedIsADeadLetter(RocketMQ)"]


def only_running(command: Running) -> Mapping[str, str]:
    """Return the variables with which a helper uses a running emulator and cannot start another one."""
    return {"ROCKETMQ_CONTROL_URL": command.ready["control"], "ROCKETMQ_EMULATOR": "/nowhere"}


def application(example: Path, folder: Path) -> Path:
    """Copy an application out of this tree, and return its folder."""
    shutil.copytree(example, folder / example.name, ignore=shutil.ignore_patterns("target"))
    return folder / example.name
