"""The cache of driver builds, tested with recipes that need no SDK."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.drivers import build as building
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.drivers.toolchains.java_build import copy_jars, lock_of
from rocketmq_testkit.conformance.drivers.toolchains.recipe import BuildError, BuildFolders, Recipe, Tool

TOY = Path(__file__).parent / "toy_build.py"


def _fail(folders: BuildFolders) -> None:
    folders.run("sh", "-c", "echo half > result; echo the compiler is unhappy >&2; exit 4")


def _fail_in_place(built: Path) -> None:
    BuildFolders(built, built).run("sh", "-c", "echo half > archive; echo there is no archive >&2; exit 5")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROCKETMQ_TESTKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "main.txt").write_text("one")
    return _toy(folder)


def _toy(folder: Path) -> Recipe:
    found = importlib.util.spec_from_file_location("toy_build", TOY)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    made: Recipe = module.toy(folder)
    return made


def test_a_build_is_made_once(recipe: Recipe, tmp_path: Path, cache: Path) -> None:
    """A second build reuses the first one, and no temporary file remains."""
    built = building.build(recipe)
    assert building.build(recipe) == built
    assert (built / "result").read_text() == "whole\n"
    assert (tmp_path / "log").read_text() == "built\n"
    assert sorted(path.name for path in cache.iterdir()) == [built.name, built.name + ".lock"]


def test_a_build_reports_its_start_progress_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    """A build reports its start, its progress and its end on standard error."""
    with building.announced("toy", every_seconds=0.001):
        printed = ""
        while "still building" not in printed:
            printed += capsys.readouterr().err

    assert printed.startswith("toy: building; the build is kept until its sources change\ntoy: still building, 0 s\n")
    assert re.fullmatch(r"(toy: still building, \d+ s\n)*toy: built in \d+ s\n", capsys.readouterr().err)


def test_a_cached_build_prints_nothing(recipe: Recipe, capsys: pytest.CaptureFixture[str]) -> None:
    """A build that is already in the cache prints nothing."""
    building.build(recipe)
    assert capsys.readouterr().err.startswith(f"{recipe.name}: building;")
    building.build(recipe)
    assert capsys.readouterr().err == ""


def test_two_processes_share_one_build(recipe: Recipe, tmp_path: Path) -> None:
    """Concurrent builds of one recipe produce one folder, made by one of the processes."""
    words = [sys.executable, str(TOY), str(recipe.folder)]
    builds = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    folders = {build.communicate(timeout=60)[0].strip() for build in builds}
    assert folders == {str(building.build_folder(recipe))}
    assert (tmp_path / "log").read_text() == "built\n"


def test_a_change_of_any_input_changes_the_build_folder(recipe: Recipe, tmp_path: Path) -> None:
    """A change of name, version, other inputs, a source file, a further file or a shared folder changes the folder."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "common.txt").write_text("common")
    folders = [
        building.build_folder(changed)
        for changed in (
            recipe,
            replace(recipe, name="toy2"),
            replace(recipe, version="1.1"),
            replace(recipe, other_inputs=("3.11",)),
            replace(recipe, shared=(shared,)),
        )
    ]
    (recipe.folder / "main.txt").write_text("two")
    folders.append(building.build_folder(recipe))
    (recipe.folder / "more.txt").write_text("")
    folders.append(building.build_folder(recipe))
    (shared / "common.txt").write_text("changed")
    folders.append(building.build_folder(replace(recipe, shared=(shared,))))
    assert len(set(folders)) == len(folders)


def test_caches_and_build_output_in_the_source_keep_the_fingerprint(recipe: Recipe) -> None:
    """Compiled caches and build output in the source folder do not change the fingerprint."""
    before = building.fingerprint(recipe)
    for name in ("__pycache__", "target", "node_modules"):
        (recipe.folder / name).mkdir()
        (recipe.folder / name / "made").write_text("x")
    assert building.fingerprint(recipe) == before


def test_a_failed_build_leaves_nothing_and_shows_the_output(recipe: Recipe, cache: Path) -> None:
    """A failed build raises an error with driver, command, exit code and output.

    The next attempt starts from scratch.
    """
    failing = replace(recipe, build=_fail)
    with pytest.raises(
        BuildError, match=r"the toy driver cannot be built\. sh -c .*exit code 4(.|\n)*compiler is unhappy"
    ):
        building.build(failing)
    assert [path.name for path in cache.iterdir()] == [building.build_folder(recipe).name + ".lock"]
    assert building.build(recipe).is_dir()


def test_a_build_whose_last_step_fails_is_removed_from_the_cache(recipe: Recipe, cache: Path) -> None:
    """A build whose last step, in its final folder, fails raises an error and is removed; the next attempt succeeds."""
    failing = replace(recipe, finish_in_place=_fail_in_place)
    with pytest.raises(
        BuildError, match=r"the toy driver cannot be built\. sh -c .*exit code 5(.|\n)*there is no archive"
    ):
        building.build(failing)
    assert [path.name for path in cache.iterdir()] == [building.build_folder(recipe).name + ".lock"]
    assert sorted(path.name for path in building.build(recipe).iterdir()) == ["result"]


def test_a_missing_tool_is_reported_with_the_way_to_install_it(recipe: Recipe, cache: Path) -> None:
    """A missing tool is reported with the way to install it before any command runs."""
    lacking = replace(recipe, tools=(*recipe.tools, Tool("no-such-compiler", "install it from the moon")))
    with pytest.raises(BuildError, match=r"toy driver .*no-such-compiler is not installed: install it from the moon"):
        building.build(lacking)
    assert not cache.exists()


def test_a_finished_build_needs_no_tools(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished build needs no tools."""
    built = building.build(recipe)
    monkeypatch.setenv("PATH", "")
    assert building.build(recipe) == built


def test_without_the_variable_the_cache_is_below_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the environment variable the cache is in the user's cache folder."""
    monkeypatch.delenv("ROCKETMQ_TESTKIT_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert building.cache_folder() == tmp_path / ".cache" / "rocketmq-testkit" / "drivers"


def test_the_command_reports_each_driver(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that cannot be built gives exit code 1 and a line on stderr; an unknown name gives exit code 2."""
    monkeypatch.setenv("PATH", os.devnull)
    assert building.main(["java-remoting"]) == 1
    assert "java-remoting driver cannot be built or started. java is not installed" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        building.main(["cobol"])
    assert "--sdk=cobol: there is no such SDK; there are java-grpc, " in capsys.readouterr().err


def test_every_recipe_has_its_name_its_source_and_a_pinned_version() -> None:
    """Every recipe has the name under which the registry finds it, a source folder and a pinned version."""
    for name in registry.names():
        recipe = registry.recipe(name)
        assert recipe.name == name
        assert (recipe.folder / "recipe.py").is_file()
        assert recipe.version.removeprefix("v")[0].isdigit()


def test_jars_that_differ_from_the_lock_file_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed, missing and additional jars are rejected by name; jars as in the lock file pass."""
    source, target, tools = (tmp_path / name for name in ("source", "target", "tools"))
    for folder in (source, target / "lib", tools):
        folder.mkdir(parents=True)
    (source / "pom.xml").write_text("<project/>")
    for name in ("same.jar", "changed.jar", "more.jar"):
        (target / "lib" / name).write_bytes(name.encode())
    (tools / "mvn").write_text("#!/bin/sh\n")
    (tools / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    folders = BuildFolders(source=source, target=target)
    lock = lock_of(target / "lib")
    (source / "jars-1.0.json").write_text(json.dumps(lock))
    copy_jars(folders, "1.0")
    del lock["more.jar"]
    (source / "jars-1.0.json").write_text(json.dumps({**lock, "changed.jar": "0" * 64, "gone.jar": "0" * 64}))
    with pytest.raises(BuildError, match=r"changed\.jar, gone\.jar, more\.jar"):
        copy_jars(folders, "1.0")
