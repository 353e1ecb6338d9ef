"""Import compiled modules of `rocketmq-testkit-compiled`, if it is installed, in place of modules in Python.

Compiled modules call each other directly, so either all of them are loaded or none. Therefore each package with
compiled modules calls `install` before its first module is loaded. `ROCKETMQ_TESTKIT_PURE=1` turns them off.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import find_spec
from types import ModuleType

PURE = "ROCKETMQ_TESTKIT_PURE"
"""The environment variable that turns compiled modules off, unless its value is empty or 0."""
_NAMESPACE, _PACKAGE = "rocketmq_testkit", "rocketmq_testkit_compiled"


class CompiledFinder:
    """Finds compiled modules by the names of their sources. `files`: paths of the compiled files by module name."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a compiled module, None for any other module."""
        file = self._files.get(name)
        if file is None:
            return None
        spec = ModuleSpec(name, ExtensionFileLoader(name, file), origin=file)
        spec.has_location = True
        return spec


def is_active() -> bool:
    """True if compiled modules are used in this process."""
    return any(isinstance(each, CompiledFinder) for each in sys.meta_path)


def install() -> None:
    """Use compiled modules from now on, unless they are not installed or turned off.

    Compiled modules of another version are not used: a RuntimeWarning is issued.
    """
    if os.environ.get(PURE, "0") not in ("", "0"):
        return
    package = find_spec(_PACKAGE)
    if package is None or not package.submodule_search_locations:
        return
    versions = _versions()
    if len(set(versions.values())) != 1:
        from warnings import warn

        found = " and ".join(f"{name} {version}" for name, version in versions.items())
        warn(
            f"{found}: compiled modules of another version are not used; both versions must be equal; "
            f"install 'rocketmq-testkit[compiled]' again, or set {PURE}=1",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    files = _files(package.submodule_search_locations[0])
    if files:  # empty if the wheel was built for another Python
        sys.meta_path.insert(0, CompiledFinder(files))


def _versions() -> dict[str, str]:
    """Return the versions of both distributions."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("rocketmq-testkit", "rocketmq-testkit-compiled"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "of unknown version"
    return found


def _files(folder: str) -> dict[str, str]:
    """Return the paths of the compiled files for this Python, by module name."""
    suffix = EXTENSION_SUFFIXES[0]
    found = {}
    for parent, _, names in os.walk(folder):
        package = parent.removeprefix(folder).replace(os.sep, ".")
        for name in names:
            if name.endswith(suffix):
                found[f"{_NAMESPACE}{package}.{name.removesuffix(suffix)}"] = os.path.join(parent, name)
    return found
