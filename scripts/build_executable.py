"""Build the executable `rocketmq-emulator`: one file that needs no Python on the machine.

    python scripts/build_executable.py [FOLDER]

writes FOLDER/rocketmq-emulator (default: dist/), for the system and the processor of this machine. It needs Go, and a
Python with a shared library (`libpython`). PyInstaller and the libraries are installed from `requirements.txt`, with
their hashes, into build/executable/. PyInstaller collects a folder with the program. A launcher in Go is put before a
zip archive of that folder.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from source_copy import copy_sources

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "scripts" / "executable"
WORK = ROOT / "build" / "executable"
LOCK = HERE / "requirements.txt"
NAME = "rocketmq-emulator"
MAGIC = b"RMQTKZIP"
"""The end of the file, after the length and the SHA-256 of the archive; see launcher/archive.go."""


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


def launcher() -> Path:
    """Compile the launcher; return its file."""
    file = WORK / "launcher"
    flags = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")
    call("go", "build", *flags, "-o", file, ".", cwd=HERE / "launcher", CGO_ENABLED="0", GOFLAGS="")
    return file


def files_of(folder: Path) -> Iterator[Path]:
    """Return all files and symbolic links below a folder, in a fixed order."""
    return (each for each in sorted(folder.rglob("*")) if each.is_symlink() or each.is_file())


def archive(folder: Path, file: Path) -> None:
    """Write a zip archive of a folder. The same files give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for each in files_of(folder):
            entry = zipfile.ZipInfo(each.relative_to(folder).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            if each.is_symlink():
                entry.external_attr = (stat.S_IFLNK | 0o777) << 16
                content = os.readlink(each).encode()
            else:
                mode = 0o755 if os.access(each, os.X_OK) else 0o644
                entry.external_attr = (stat.S_IFREG | mode) << 16
                content = each.read_bytes()
            packed.writestr(entry, content)


def build(target: Path) -> Path:
    """Build the executable into a folder; return its file."""
    WORK.mkdir(parents=True, exist_ok=True)
    folder = collect(environment())
    archive(folder, WORK / "program.zip")
    content = (WORK / "program.zip").read_bytes()
    target.mkdir(parents=True, exist_ok=True)
    made = target / f".{NAME}.new"
    trailer = len(content).to_bytes(8, "big") + hashlib.sha256(content).digest() + MAGIC
    made.write_bytes(launcher().read_bytes() + content + trailer)
    made.chmod(0o755)
    return made.replace(target / NAME)


if __name__ == "__main__":
    built = build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
    print(f"{built}: {built.stat().st_size / 1e6:.1f} MB")
