"""Packages of all languages, and all that names them, have the version of pyproject.toml."""

import json
import re
import subprocess
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import go_module
import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
MAVEN = "{http://maven.apache.org/POM/4.0.0}"
GROUP = "io.github.rocketmq-testkit"
GO_MODULE, GO_VERSION = go_module.module()
NAMED = (
    re.compile(rf"{re.escape(GO_MODULE)}[@ ]v([\w.+-]+)"),
    re.compile(rf"{re.escape(GROUP)}:[\w-]+:([\w.+-]+)"),
    re.compile(
        rf"<groupId>{re.escape(GROUP)}</groupId>\s+<artifactId>[\w-]+</artifactId>\s+<version>([\w.+-]+)</version>"
    ),
    re.compile(r"rocketmq-testkit-compiled==([\w.+-]+)"),
)
"""Names of packages with their versions in commands, dependencies and pages; the version is the group."""
NAMING = {
    "docs/go.md",
    "docs/java.md",
    "docs/zh/go.md",
    "docs/zh/java.md",
    "examples/orders-go/go.mod",
    "examples/orders-java/pom.xml",
    "examples/orders-spring/pom.xml",
    "examples/orders-testcontainers-go/go.mod",
    "examples/orders-testcontainers/pom.xml",
    "pyproject.toml",
}
"""Files that must name a package with its version; others may."""


def test_node_package_has_the_version_of_the_project() -> None:
    package = json.loads((ROOT / "clients" / "node" / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == VERSION


@pytest.mark.parametrize("helper", sorted(each.parent.name for each in (ROOT / "clients").glob("*/pom.xml")))
def test_java_package_has_the_version_of_the_project(helper: str) -> None:
    root = ET.parse(ROOT / "clients" / helper / "pom.xml").getroot()
    assert (root.findtext(f"{MAVEN}groupId"), root.findtext(f"{MAVEN}version")) == (GROUP, VERSION)


def test_go_module_has_the_version_of_the_project() -> None:
    """The version of a module is its tag; a module of version 2 or later has its major version in its path."""
    assert f"v{VERSION}" == GO_VERSION
    major = VERSION.partition(".")[0]
    suffix = re.search(r"/v(\d+)$", GO_MODULE)
    assert (suffix[1] if suffix else "") == ("" if major in ("0", "1") else major)


def test_each_file_that_names_a_package_has_the_version_of_the_project() -> None:
    """Pages, examples and benchmarks name the packages with the version of the project."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    places = ("*.md", "*.mod", "*.xml", "*.toml", "*.json", "*.yml", "*.kts")
    listed = subprocess.run([*words, *places], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[str, set[str]] = {}
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8")
            versions = {each for pattern in NAMED for each in pattern.findall(text)}
            if versions:
                found[name] = versions
    assert NAMING - found.keys() == set()
    assert {name: versions for name, versions in found.items() if versions != {VERSION}} == {}
