"""Compiled modules are loaded instead of pure ones if they are installed, of the same version, and not switched off."""

import ast
import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

import pytest
from rocketmq_testkit.emulator import instant_copy

ROOT = Path(__file__).resolve().parents[2]
LOAD = "from rocketmq_testkit.emulator.kernel import scheduler; print(scheduler.__file__)"
NAME = "rocketmq_testkit_compiled"


def loaded(*folders: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Import the scheduler in a new process in whose path these folders come first; return the ended process."""
    path = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", LOAD],
        env={**os.environ, "PYTHONPATH": path, "ROCKETMQ_TESTKIT_PURE": "", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def installed(folder: Path, number: str, suffix: str = EXTENSION_SUFFIXES[0]) -> Path:
    """Install a compiled distribution whose only module cannot be loaded, so that an attempt to load it fails."""
    kernel = folder / NAME / "emulator" / "kernel"
    kernel.mkdir(parents=True)
    (folder / NAME / "__init__.py").touch()
    (kernel / f"scheduler{suffix}").write_bytes(b"no library")
    described = folder / f"{NAME}-{number}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: rocketmq-testkit-compiled\nVersion: {number}\n")
    return folder


def test_a_module_of_the_same_version_is_loaded_in_place_of_the_pure_one(tmp_path: Path) -> None:
    """The process loads the file of the compiled distribution, which fails here because it is no library."""
    done = loaded(installed(tmp_path, version("rocketmq-testkit")))
    assert done.returncode != 0
    assert f"{NAME}/emulator/kernel/scheduler" in done.stderr


@pytest.mark.parametrize("value", ["1", "yes"])
def test_the_environment_variable_turns_compiled_modules_off(tmp_path: Path, value: str) -> None:
    """With the variable the pure module is loaded, without a warning."""
    done = loaded(installed(tmp_path, version("rocketmq-testkit")), ROCKETMQ_TESTKIT_PURE=value)
    assert done.stdout.endswith("scheduler.py\n")
    assert "compiled" not in done.stderr


def test_modules_of_another_version_are_ignored_with_one_warning(tmp_path: Path) -> None:
    """The pure module is loaded, and the warning names both versions and the remedy."""
    done = loaded(installed(tmp_path, "0.0.1"))
    assert done.stdout.endswith("scheduler.py\n")
    assert done.stderr.count("RuntimeWarning") == 1
    assert f"rocketmq-testkit {version('rocketmq-testkit')} and rocketmq-testkit-compiled 0.0.1" in done.stderr
    assert "install 'rocketmq-testkit[compiled]' again" in done.stderr


def test_modules_for_another_python_are_ignored(tmp_path: Path) -> None:
    """A distribution that was built for another Python has no module for this one."""
    done = loaded(installed(tmp_path, version("rocketmq-testkit"), ".cpython-399-x86_64-linux-gnu.so"))
    assert done.stdout.endswith("scheduler.py\n")
    assert done.stderr == ""


@pytest.mark.parametrize("package", ["remoting.wire.frame", "grpc_v2.transport.http2.frames"])
def test_a_protocol_that_is_loaded_first_uses_compiled_modules(tmp_path: Path, package: str) -> None:
    """Each protocol package installs the import hook of compiled modules before it loads its own modules."""
    folder = installed(tmp_path, version("rocketmq-testkit"))
    check = f"import rocketmq_testkit.{package}; from rocketmq_testkit.emulator import compiled_modules"
    done = subprocess.run(
        [sys.executable, "-c", f"{check}; print(compiled_modules.is_active())"],
        env={**os.environ, "PYTHONPATH": str(folder), "ROCKETMQ_TESTKIT_PURE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "True" in done.stdout or f"{NAME}/emulator/kernel/scheduler" in done.stderr


def test_copied_classes_of_compiled_modules_can_be_made_without_init() -> None:
    """`instant_copy` makes objects without `__init__`, which mypyc allows for classes with this marker alone."""
    modules = (ROOT / "compiled" / "modules.txt").read_text().split()
    copied = {
        (kind.__module__.replace(".", "/").removeprefix("rocketmq_testkit/") + ".py", kind.__name__)
        for kind, rule in instant_copy._RULES.items()
        if rule in (instant_copy._copied_attributes, instant_copy._copied_waiting)
    }
    compiled = {(module, name) for module, name in copied if module in modules}
    marked = {
        (module, node.name)
        for module in modules
        for node in ast.walk(ast.parse((ROOT / module).read_text()))
        if isinstance(node, ast.ClassDef)
        and "mypyc_attr(allow_interpreted_subclasses=True)" in map(ast.unparse, node.decorator_list)
    }
    assert len(compiled) > 10
    assert marked == compiled
