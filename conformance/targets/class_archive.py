"""Class data archive of Apache's name server and broker, with which their JVMs start faster."""

from collections.abc import Sequence

from ..drivers.build import build, locked
from ..drivers.toolchains import class_archive
from .apache import ApacheBroker, recipe


def quick_start(version: str) -> tuple[str, ...]:
    """Return JVM options with which name server and broker of a version use their class data archive.

    If the version has no archive on this machine yet, it is created from the classes that a broker loads, which is
    started for that. Raises BuildError, and TargetError if the broker does not start.
    """
    folder = build(recipe(version))

    def start(jvm: Sequence[str]) -> None:
        with ApacheBroker(version, jvm=jvm):
            pass

    with locked(folder.with_name(f"{folder.name}.archive.lock")):
        if not class_archive.switches(folder):
            class_archive.make(folder, start)
    return tuple(class_archive.switches(folder))
