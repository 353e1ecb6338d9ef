"""Build the executable `rocketmq-emulator`: one file that needs no Python on the machine.

    python scripts/build_executable.py [FOLDER]

writes FOLDER/rocketmq-emulator (default: dist/), for the system and the processor of this machine. It needs Go, and a
Python with a shared library (`libpython`). PyInstaller and the libraries are installed from `requirements.txt`, with
their hashes, into build/executable/. PyInstaller collects a folder with the program. A launcher in Go is put before a
bundle of that folder; see launcher/bundle/bundle.go. Steps whose sources are those of the last build are left out.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from source_copy import copy_sources, digest_of_sources

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "scripts" / "executable"
WORK = ROOT / "build" / "executable"
LOCK = HERE / "requirements.txt"
NAME = "rocketmq-emulator"


def call(*words: str | Path, cwd: Path = HERE, **variables: str) -> None:
    """Run a program, which must succeed. Its output is shown."""
    subprocess.run([str(word) for word in words], cwd=cwd, env={**os.environ, **variables}, check=True)


@contextmanager
def locked() -> Iterator[None]:
    """Wait until no other process builds in the same folder."""
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_from(stamp: Path, sources: str) -> bool:
    """Return True if a step was done with these sources."""
    return stamp.is_file() and stamp.read_text() == sources


def libraries() -> Path:
    """Make a virtual environment with the locked libraries; return its folder of programs."""
    folder = WORK / "venv"
    programs = folder / "bin"
    kept = folder / "requirements.txt"
    if not is_from(kept, LOCK.read_text()):
        call(sys.executable, "-m", "venv", "--clear", folder)
        call(programs / "pip", "install", "--quiet", "--require-hashes", "--requirement", LOCK)
        shutil.copyfile(LOCK, kept)
    return programs


def environment() -> Path:
    """Add this package to the environment of the libraries; return its folder of programs."""
    programs = libraries()
    digest, stamp = digest_of_sources(), WORK / "venv" / "sources"
    if not is_from(stamp, digest):
        stamp.unlink(missing_ok=True)
        sources = copy_sources(WORK / "source")
        words = ("install", "--quiet", "--no-deps", "--no-build-isolation", "--force-reinstall")
        call(programs / "pip", *words, sources)
        stamp.write_text(digest)
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


def digest_of_build() -> str:
    """Return a hash of all that the executable is built from: packages, libraries, recipe, launcher and interpreter."""
    found = hashlib.sha256(f"{sys.version} {digest_of_sources()}".encode())
    for file in (Path(__file__), *sorted(each for each in HERE.rglob("*") if "__pycache__" not in each.parts)):
        if file.is_file():
            found.update(f"{file.name}\n".encode())
            found.update(file.read_bytes())
    return found.hexdigest()


def built() -> Path:
    """Build the executable in the working folder, unless it is from the same sources; return its file."""
    file, stamp, digest = WORK / NAME, WORK / "built", digest_of_build()
    if file.is_file() and is_from(stamp, digest):
        return file
    stamp.unlink(missing_ok=True)
    folder = collect(environment())
    launcher, pack = compiled("."), compiled("./pack")
    with file.open("wb") as made:
        made.write(launcher.read_bytes())
        made.flush()
        subprocess.run([pack, folder], stdout=made, check=True)
    file.chmod(0o755)
    stamp.write_text(digest)
    return file


def build(target: Path) -> Path:
    """Build the executable into a folder; return its file."""
    with locked():
        file = built()
        target.mkdir(parents=True, exist_ok=True)
        made = target / f".{NAME}.new"
        shutil.copy(file, made)
        return made.replace(target / NAME)


if __name__ == "__main__":
    result = build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
    print(f"{result}: {result.stat().st_size / 1e6:.1f} MB")
