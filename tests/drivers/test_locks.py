"""Every driver is built from exactly the versions that its folder pins."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.targets import apache

BROKERS = ("5.3.3", "5.5.0")
"""Versions of RocketMQ with recorded outcomes."""
RECIPES = {name: registry.recipe(name) for name in registry.names()}


def _by_file(file: str) -> list[str]:
    return [name for name, recipe in RECIPES.items() if (recipe.folder / file).is_file()]


def _read(name: str, file: str) -> str:
    return (RECIPES[name].folder / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", _by_file("go.mod"))
def test_go_modules_are_pinned_with_checksums(name: str) -> None:
    """go.mod requires the recipe's version of the SDK, and go.sum has its checksum."""
    recipe = RECIPES[name]
    assert f"{recipe.package} {recipe.version}" in _read(name, "go.mod")
    assert f"{recipe.package} {recipe.version} h1:" in _read(name, "go.sum")


@pytest.mark.parametrize("name", _by_file("requirements.txt"))
def test_python_requirements_are_exact(name: str) -> None:
    """Each Python requirement pins one version, and that of the SDK is the recipe's."""
    recipe = RECIPES[name]
    lines = [line for line in _read(name, "requirements.txt").splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*", line) for line in lines)
    assert f"{recipe.package.split()[0]}=={recipe.version}" in lines


@pytest.mark.parametrize("name", _by_file("package-lock.json"))
def test_npm_packages_are_pinned_without_a_registry(name: str) -> None:
    """package.json pins one version, every package of the lock has a checksum, and no registry is named."""
    recipe = RECIPES[name]
    assert json.loads(_read(name, "package.json"))["dependencies"] == {recipe.package: recipe.version}
    packages = json.loads(_read(name, "package-lock.json"))["packages"]
    assert packages[f"node_modules/{recipe.package}"]["version"] == recipe.version
    assert all("integrity" in entry and "resolved" not in entry for path, entry in packages.items() if path)


@pytest.mark.parametrize("name", _by_file("Cargo.lock"))
def test_crates_are_pinned(name: str) -> None:
    """Cargo.toml and its lock pin the recipe's version of the SDK."""
    recipe = RECIPES[name]
    crate = recipe.package.split()[0]
    assert tomllib.loads(_read(name, "Cargo.toml"))["dependencies"][crate] == f"={recipe.version}"
    locked = [package for package in tomllib.loads(_read(name, "Cargo.lock"))["package"] if package["name"] == crate]
    assert [package["version"] for package in locked] == [recipe.version]


@pytest.mark.parametrize("name", _by_file("pom.xml"))
def test_jars_are_pinned_with_checksums(name: str) -> None:
    """Every version in the pom is exact, and the lock of the recipe's version has the SHA-256 of each jar."""
    recipe = RECIPES[name]
    versions = re.findall(r"<(?:version|sdk\.version)>(.*?)</", _read(name, "pom.xml"))
    assert all(re.fullmatch(r"[0-9][0-9.]*|\$\{sdk\.version\}", version) for version in versions)
    lock = json.loads(_read(name, f"jars-{recipe.version}.json"))
    assert f"{recipe.package.rpartition(':')[2]}-{recipe.version}.jar" in lock
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in lock.values())


@pytest.mark.parametrize("version", BROKERS)
def test_jars_of_brokers_are_pinned_with_checksums(version: str) -> None:
    """The lock of a broker version has the SHA-256 of every jar, including name server, broker and proxy."""
    lock = json.loads((apache.recipe(version).folder / f"jars-{version}.json").read_text(encoding="utf-8"))
    assert {f"rocketmq-{part}-{version}.jar" for part in ("namesrv", "broker", "proxy")} <= set(lock)
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in lock.values())


def test_every_driver_has_a_lock() -> None:
    """Every driver's folder pins its versions."""
    files = ("go.mod", "requirements.txt", "package-lock.json", "Cargo.lock", "pom.xml")
    assert {name for file in files for name in _by_file(file)} == set(RECIPES)


def test_source_folders_contain_no_build_output() -> None:
    """The drivers' folders have no folder that a build writes."""
    outputs = {"node_modules", "target", "bin"}
    folders = {recipe.folder for recipe in RECIPES.values()}
    assert [path for folder in folders for path in Path(folder).rglob("*") if path.name in outputs] == []
