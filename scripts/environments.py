"""Virtual environments next to `.venv`, with other dependencies and Pythons; each is made once in a run.

    python scripts/environments.py [NAME ...]

makes all environments of a whole run, one after another. A run starts this in parallel to stages that mostly wait. A
stage that needs an environment waits until it is made, or makes it if that failed. With names, it makes these
environments anew; `ROCKETMQ_TESTKIT_OPT=3` optimizes the modules of `compiled`.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

import oldest
import pythons
from source_copy import digest_of_sources

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".reports"
"""Deleted at the start of a run, with the files that mark environments as made in this run."""
WHEELS = ROOT / ".cache" / "wheels"
"""Built wheels of other distributions of this project. Only the newest one of each distribution is kept."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment with `extras` and `requirements` installed.

    `oldest_of` names the extras whose oldest allowed versions are installed. `python` is a version such as `3.12`, used
    if the machine has it. With `on_top`, the environment also finds all packages of the running environment, and only
    further ones are installed. `builds` is a folder with another distribution of this project, which is built and
    installed last.
    """

    name: str
    extras: str
    requirements: tuple[str, ...] = ()
    oldest_of: tuple[str, ...] = ()
    _: KW_ONLY
    python: str = ""
    on_top: bool = False
    builds: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the environment."""
        return ROOT / f".venv-{self.name}"

    @property
    def interpreter(self) -> Path:
        """The environment's Python."""
        return self.folder / "bin" / "python"

    def constraints(self) -> list[str]:
        """Return pip constraints with the oldest allowed versions."""
        return oldest.of_project(*self.oldest_of) if self.oldest_of else []


OLDEST = Environment("oldest", "conformance,speed,test,yaml", oldest_of=("conformance", "speed", "test", "yaml"))
SPARK_OLDEST = Environment("spark-oldest", "conformance,spark,test", oldest_of=("spark",))
SPARK_CONNECT = Environment("spark-connect", "spark", ("pyspark[connect]",), on_top=True)
"""Of its own because pandas, a requirement of Spark Connect, makes each Python worker of Spark start later."""
SCHEMATHESIS = Environment("schemathesis", "speed", ("schemathesis==4.32.5", "openapi-spec-validator==0.9.0"))
"""Of its own because its newest versions of common libraries need not be those of the other tests."""
BROWSER = Environment("browser", "conformance", ("selenium==4.51.0",), on_top=True)
"""Of its own because only the tests of the web console use a browser."""
COMPILED = Environment("compiled", "conformance,speed,test,yaml", on_top=True, builds="compiled")
"""Of its own because an installed compiled distribution replaces modules in every process."""
PROTOBUF_5 = Environment("protobuf-5", "conformance,test,yaml", ("protobuf==5.*",), python="3.12")
PROTOBUF_6 = Environment("protobuf-6", "conformance,test,yaml", ("protobuf==6.*",), python="3.13")
OF_A_RUN = (OLDEST, PROTOBUF_5, PROTOBUF_6, SCHEMATHESIS, BROWSER, COMPILED)
ALL = (*OF_A_RUN, SPARK_OLDEST, SPARK_CONNECT)


def made(wanted: Environment) -> Path:
    """Return the environment's interpreter; make the environment unless this run has made it.

    Raises subprocess.CalledProcessError.
    """
    REPORTS.mkdir(exist_ok=True)
    with (REPORTS / f"{wanted.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = REPORTS / f"{wanted.name}.made"
        if not stamp.exists():
            _make(wanted)
            stamp.touch()
    return wanted.interpreter


def _make(wanted: Environment) -> None:
    shutil.rmtree(wanted.folder, ignore_errors=True)
    other = pythons.find(wanted.python) if wanted.python else None
    if wanted.python:
        print(f"{wanted.name} with {other or f'this Python, for there is no {wanted.python}'}", flush=True)
    # Without pip, whose installation takes a third of the time: that of the running environment installs there too.
    _call(other or sys.executable, "-m", "venv", "--without-pip", wanted.folder)
    if wanted.on_top:
        _add_packages_of_this_environment(wanted)
    words = ["-e", f".[{wanted.extras}]", *wanted.requirements]
    if wanted.oldest_of:
        constraints = REPORTS / f"{wanted.name}.txt"
        constraints.write_text("".join(f"{each}\n" for each in wanted.constraints()))
        print(constraints.read_text(), flush=True)
        words += ["-c", str(constraints)]
    install(wanted, *words)
    if wanted.on_top:  # its command starts the interpreter of its own environment
        install(wanted, "--no-deps", "--ignore-installed", "pytest")
    if wanted.builds:
        _build_and_install(wanted)


def install(wanted: Environment, *words: str | Path) -> None:
    """Install packages into an environment. Python compiles the modules that it imports, not pip all of them.

    Raises subprocess.CalledProcessError.
    """
    pip = (sys.executable, "-m", "pip", "--python", wanted.interpreter)
    _call(*pip, "install", "--quiet", "--no-compile", *words)


def _add_packages_of_this_environment(wanted: Environment) -> None:
    """Let an environment find the packages of the running one after its own."""
    [site] = wanted.folder.glob("lib/python*/site-packages")
    (site / "packages_of_the_run.pth").write_text(f"{sysconfig.get_path('purelib')}\n")


def _build_and_install(wanted: Environment) -> None:
    """Install another distribution, whose wheel is built unless there is one of the same sources.

    By default C is compiled without optimization, which takes half of the time: tests compare results, not speed.
    """
    level = os.environ.get("ROCKETMQ_TESTKIT_OPT", "0")
    folder = WHEELS / wanted.builds / _digest_of_wheel(wanted.builds, level)
    if not folder.exists():
        shutil.rmtree(folder.parent, ignore_errors=True)
        shutil.rmtree(ROOT / wanted.builds / "build", ignore_errors=True)  # a wheel has all that is found there
        begun = folder.with_suffix(".begun")
        words = ("-m", "build", "--wheel", "--no-isolation", "--outdir", begun, wanted.builds)
        _call(sys.executable, *words, ROCKETMQ_TESTKIT_OPT=level)
        begun.rename(folder)
    install(wanted, "--no-deps", *folder.glob("*.whl"))


def _digest_of_wheel(builds: str, level: str) -> str:
    """Return a hash of all that a wheel is built from: packages, recipe, interpreter and level of optimization."""
    found = hashlib.sha256(f"{sys.version} {level} {digest_of_sources()}".encode())
    for file in sorted((ROOT / builds).glob("*")):
        if file.is_file():
            found.update(f"{file.name}\n".encode())
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _call(*words: str | Path, **variables: str) -> None:
    command = [str(word) for word in words]
    print("$", " ".join(command), flush=True)
    environment = {**os.environ, **variables}
    subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=True, env=environment)


def main(names: Sequence[str]) -> int:
    """Make the environments of a whole run, or the named ones anew; the exit code is 2 if there is no such name."""
    known = {each.name: each for each in ALL}
    if unknown := [name for name in names if name not in known]:
        print(f"there is no environment {', '.join(unknown)}; known are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in names:
        (REPORTS / f"{name}.made").unlink(missing_ok=True)
    for each in [known[name] for name in names] or OF_A_RUN:
        made(each)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
