"""A mount namespace in which no Python of this machine starts, for programs that need none. It needs root."""

import os
import re
import shlex
import sys
from functools import cache
from pathlib import Path

INTERPRETER = re.compile(r"(?:python|pypy)(?:\d+(?:\.\d+)?t?)?")
LIBRARIES = ("lib*/python[23]*", "lib*/pypy[23]*", "local/lib/python[23]*")
"""Folders of standard libraries and packages, below the parent of an interpreter's folder."""
SHARED_LIBRARIES = ("lib*/libpython*.so*", "lib/*-linux-gnu*/libpython*.so*")
# The path at import: tests replace it by one without Python.
_FOLDERS = (*os.get_exec_path(), f"{sys.base_prefix}/bin", f"{sys.prefix}/bin", "/usr/bin", "/usr/local/bin")
_PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))


@cache
def interpreters() -> tuple[Path, ...]:
    """Return the interpreters in PATH, of this test run, and of pyenv, and programs that start them, without links."""
    folders = {Path(each) for each in _FOLDERS} | set(_PYENV.glob("versions/*/bin"))
    found = {
        each.resolve()
        for folder in folders
        if folder.is_dir()
        for each in folder.iterdir()
        if INTERPRETER.fullmatch(each.name) is not None and each.is_file()
    }
    return tuple(sorted(found))


@cache
def namespace() -> tuple[str, ...]:
    """Return the words before a command that run it in the namespace. The command keeps the process id."""
    prefixes = {each.parent.parent for each in interpreters()} | {Path(sys.base_prefix), Path(sys.prefix)}
    folders = {each.resolve() for prefix in prefixes for name in LIBRARIES for each in prefix.glob(name)}
    files = {each.resolve() for prefix in prefixes for name in SHARED_LIBRARIES for each in prefix.glob(name)}
    lines = [f"mount --bind /dev/null {shlex.quote(str(each))}" for each in (*interpreters(), *sorted(files))]
    lines += [f"mount -t tmpfs none {shlex.quote(str(each))}" for each in sorted(folders) if each.is_dir()]
    script = "\n".join([*lines, 'exec "$@"'])
    return ("unshare", "--mount", "sh", "-euc", script, "sh")
