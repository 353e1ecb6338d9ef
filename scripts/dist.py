"""Build all that a release publishes.

    python scripts/dist.py [FOLDER] [PART ...]

writes into FOLDER (default: dist/). Parts are `python` (wheel and sdist), `node` (tarball), `go` (the files of a Go
module proxy), `java` (a Maven repository), `executable`, and `sbom` (bills of materials of the executable, in the
format CycloneDX); all by default. Nothing is published: .github/workflows/release.yml does that.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import build_executable
import go_module
import java_artifact
from source_copy import copy_sources

ROOT = Path(__file__).resolve().parent.parent
SBOM_TOOL = "cyclonedx-bom==7.5.0"


def call(*words: str | Path, cwd: Path = ROOT) -> None:
    """Run a program, which must succeed."""
    subprocess.run([str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, check=True)


def build_python(folder: Path) -> None:
    """Build the sdist, and the wheel from the sdist, with the locked setuptools."""
    with build_executable.locked():
        programs = build_executable.libraries()
    with tempfile.TemporaryDirectory() as temporary:
        copy = copy_sources(Path(temporary) / "source")
        code = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
        call(programs / "python", "-c", code, folder, cwd=copy)
        [sdist] = folder.glob("rocketmq_testkit-*.tar.gz")
        words = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
        call(programs / "pip", *words, sdist)


def build_node(folder: Path) -> None:
    """Pack the helper for Node tests, with the license."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "node"
        shutil.copytree(ROOT / "clients" / "node", copy, ignore=shutil.ignore_patterns("node_modules"))
        shutil.copy(ROOT / "LICENSE", copy)
        call("npm", "pack", "--silent", "--pack-destination", folder, cwd=copy)


def build_go(folder: Path) -> None:
    """Pack the module for Go tests."""
    go_module.pack(folder / "go")


def build_java(folder: Path) -> None:
    """Pack the helpers for Java tests."""
    java_artifact.pack(folder / "maven")


def build_sbom(folder: Path) -> None:
    """List the libraries of the executable with their versions and licenses."""
    tools = build_executable.WORK / "sbom"
    with build_executable.locked():
        programs = build_executable.environment()
        stamp = tools / "tool"
        if not build_executable.is_from(stamp, SBOM_TOOL):
            call(sys.executable, "-m", "venv", "--clear", tools)
            call(tools / "bin" / "pip", "install", "--quiet", SBOM_TOOL)
            stamp.write_text(SBOM_TOOL)
    file = folder / "rocketmq-emulator.cdx.json"
    words = ("environment", "--output-reproducible", "--output-format", "JSON", "--output-file", file)
    call(tools / "bin" / "cyclonedx-py", *words, programs / "python")


PARTS: Mapping[str, Callable[[Path], object]] = {
    "python": build_python,
    "node": build_node,
    "go": build_go,
    "java": build_java,
    "executable": build_executable.build,
    "sbom": build_sbom,
}


def main(arguments: Sequence[str]) -> int:
    """Build the parts; return 0, or 2 if there is no such part."""
    folder = Path(arguments[0] if arguments else ROOT / "dist").resolve()
    parts = arguments[1:] or list(PARTS)
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        print(f"{', '.join(unknown)}: no such part; known are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        PARTS[part](folder)
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        print(file.relative_to(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
