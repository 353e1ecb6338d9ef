"""The archive of the classes that name servers and brokers load, made at a version's first start."""

from collections.abc import Sequence

from ..drivers import class_archive
from ..drivers.build import build, locked
from .apache import ApacheBroker, recipe


def quick_start(version: str) -> tuple[str, ...]:
    """Switches for the JVMs of a version, with which they start sooner.

    Errors: BuildError, TargetError (the first start).
    """
    folder = build(recipe(version))

    def start(jvm: Sequence[str]) -> None:
        with ApacheBroker(version, jvm=jvm):
            pass

    with locked(folder.with_name(f"{folder.name}.archive.lock")):
        if not class_archive.switches(folder):
            class_archive.make(folder, start)
    return tuple(class_archive.switches(folder))
