"""Class data archive of name servers and brokers, created at a version's first start."""

from collections.abc import Sequence

from ..drivers.build import build, locked
from ..drivers.toolchains import class_archive
from .apache import ApacheBroker, recipe


def quick_start(version: str) -> tuple[str, ...]:
    """Return JVM options with which processes of a version start faster.

    Raises BuildError, and TargetError if the first start fails.
    """
    folder = build(recipe(version))

    def start(jvm: Sequence[str]) -> None:
        with ApacheBroker(version, jvm=jvm):
            pass

    with locked(folder.with_name(f"{folder.name}.archive.lock")):
        if not class_archive.switches(folder):
            class_archive.make(folder, start)
    return tuple(class_archive.switches(folder))
