"""Examples with Testcontainers in Java, Go and Python pass with Podman, with random mapped ports of both protocols."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from maven import Maven, passed
from podman_service import podman_service
from project_script import build_artifacts
from throwaway_venv import install, make_venv

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PROTOCOLS = 2
"""Number of tests of each example: one for each protocol."""

# One worker runs these tests: they share the service of Podman.
pytestmark = [pytest.mark.executable, pytest.mark.xdist_group("containers")]


def run(folder: Path, *words: str | Path, **variables: str) -> str:
    """Run a program, which must succeed, and return its output."""
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The variables of a container engine that has the image `rocketmq-emulator`."""
    run(ROOT, sys.executable, "scripts/build_executable.py")
    program = ROOT / "build" / "executable" / "program" / "rocketmq-emulator"
    with podman_service(program, tmp_path_factory.mktemp("podman")) as variables:
        yield variables


def copy_of(example: str, folder: Path) -> Path:
    """Copy an example out of this tree, and return its folder."""
    shutil.copytree(EXAMPLES / example, folder / example, ignore=shutil.ignore_patterns("target"))
    return folder / example


def test_java_example_passes_with_a_container(engine: Mapping[str, str], tmp_path: Path) -> None:
    maven = Maven.create(tmp_path / "local")
    packed = maven.find_packed(build_artifacts(tmp_path / "dist", "java", **maven.variables) / "maven")
    folder = copy_of("orders-testcontainers", tmp_path)
    maven.run(folder, *packed, "-q", "-Dtest=ContainerTest", "test", **engine)
    maven.keep_downloads()
    assert len(passed(folder)) == PROTOCOLS


def packed_go_helper(folder: Path) -> Path:
    """Return the folder with the unpacked module that `make dist` packs. Go compiles it with its usual caches."""
    [module] = build_artifacts(folder / "dist", "go").rglob("@v/*.zip")
    shutil.unpack_archive(module, folder / "packed")
    [description] = (folder / "packed").rglob("go.mod")
    return description.parent


def test_go_example_passes_with_a_container(engine: Mapping[str, str], tmp_path: Path) -> None:
    folder = copy_of("orders-testcontainers-go", tmp_path)
    module = "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
    run(folder, "go", "mod", "edit", f"-replace={module}={packed_go_helper(tmp_path)}")
    assert run(folder, "gofmt", "-l", ".") == ""
    assert run(folder, "go", "test", "-count=1", "-v", ".", **engine).count("--- PASS: ") == PROTOCOLS


def test_python_example_passes_with_a_container(engine: Mapping[str, str], tmp_path: Path) -> None:
    folder = copy_of("orders-testcontainers-python", tmp_path)
    run(ROOT, sys.executable, "scripts/dist.py", tmp_path / "dist", "python")
    programs = make_venv(tmp_path / "venv")
    install(programs, *(tmp_path / "dist").glob("*.whl"), "--requirement", folder / "requirements.txt")
    assert f"{PROTOCOLS} passed" in run(folder, programs / "pytest", "-q", **engine)
