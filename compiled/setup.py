"""Builds the compiled modules of modules.txt, whose sources are in the folders above.

    python -m build --wheel --no-isolation compiled

Each module keeps its name, `rocketmq_testkit.emulator...`, because compiled modules call each other by it. Only its
file is in the package of this distribution.
"""

import os
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
GROUP = "rocketmq_testkit_compiled"
"""The name of the package, and the beginning of the name of the library with the code of all modules."""


def version() -> str:
    """Return the version of the pure distribution, which this one shares."""
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return found


def sources() -> list[str]:
    """Return the sources under their installed names, relative to the folder above."""
    return [f".ns/rocketmq_testkit/{line}" for line in (HERE / "modules.txt").read_text().split()]


def extensions() -> list[Extension]:
    """Translate the sources to C."""
    from mypyc.build import mypycify

    sys.path.insert(0, str(ROOT / "scripts"))
    import namespace_links

    namespace_links.main()
    here = Path.cwd()
    os.chdir(ROOT)  # paths in the configuration of mypy are relative to it
    try:
        found = mypycify(
            ["--config-file", "pyproject.toml", *sources()],
            opt_level=os.environ.get("ROCKETMQ_TESTKIT_OPT", "3"),
            debug_level="0",
            multi_file=True,
            target_dir=str(HERE / "build" / "c"),
            group_name=GROUP,
        )
    finally:
        os.chdir(here)
    for each in found:
        each.name = each.name.replace("rocketmq_testkit.", f"{GROUP}.", 1)
        # Warnings about generated C do not concern anybody, and differ between compilers.
        each.extra_compile_args = [word for word in each.extra_compile_args if word != "-Werror"] + ["-w"]
    return found


# A build runs this file for its metadata as well, which needs no modules. A translation takes a quarter of a minute.
builds = not {"build_ext", "bdist_wheel", "build"}.isdisjoint(sys.argv)
setup(version=version(), packages=[GROUP], ext_modules=extensions() if builds else [])
