"""Build the executable `rocketmq-emulator`: one file that needs no Python on the machine.

    python scripts/build_executable.py [FOLDER]

writes FOLDER/rocketmq-emulator (default: dist/), for the system and the processor of this machine. It needs Go, and a
Python with a shared library (`libpython`). PyInstaller and the libraries are installed from `requirements.txt`, with
their hashes, into build/executable/. PyInstaller collects a folder with the program. A launcher in Go is put before a
bundle of that folder; see launcher/bundle/bundle.go.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from source_copy import copy_sources

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "scripts" / "executable"
WORK = ROOT / "build" / "executable"
LOCK = HERE / "requirements.txt"
NAME = "rocketmq-emulator"


def call(*words: str | Path, cwd: Path = HERE, **variables: str) -> None:
    """Run a program, which must succeed. Its output is shown."""
    subprocess.run([str(word) for word in words], cwd=cwd, env={**os.environ, **variables}, check=True)


def environment() -> Path:
    """Make a virtual environment with the locked libraries and this package; return its folder of programs."""
    folder = WORK / "venv"
    programs = folder / "bin"
    locked = folder / "lock"
    if not locked.is_file() or locked.read_bytes() != LOCK.read_bytes():
        call(sys.executable, "-m", "venv", "--clear", folder)
        call(programs / "pip", "install", "--quiet", "--require-hashes", "--requirement", LOCK)
        shutil.copyfile(LOCK, locked)
    sources = copy_sources(WORK / "source")
    call(programs / "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--force-reinstall", sources)
    return programs


def collect(programs: Path) -> Path:
    """Let PyInstaller collect the program; return its folder."""
    words = ("--noconfirm", "--log-level", "WARN", "--distpath", WORK / "program", "--workpath", WORK / "work")
    call(programs / "pyinstaller", *words, "emulator.spec")
    return WORK / "program" / NAME


def compiled(package: str) -> Path:
    """Compile a program of the Go module `launcher`; return its file."""
    file = WORK / (Path(package).name or "launcher")
    flags = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")
    call("go", "build", *flags, "-o", file, package, cwd=HERE / "launcher", CGO_ENABLED="0", GOFLAGS="")
    return file


def build(target: Path) -> Path:
    """Build the executable into a folder; return its file."""
    WORK.mkdir(parents=True, exist_ok=True)
    folder = collect(environment())
    launcher, pack = compiled("."), compiled("./pack")
    target.mkdir(parents=True, exist_ok=True)
    made = target / f".{NAME}.new"
    with made.open("wb") as file:
        file.write(launcher.read_bytes())
        file.flush()
        subprocess.run([pack, folder], stdout=file, check=True)
    made.chmod(0o755)
    return made.replace(target / NAME)


if __name__ == "__main__":
    built = build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
    print(f"{built}: {built.stat().st_size / 1e6:.1f} MB")
