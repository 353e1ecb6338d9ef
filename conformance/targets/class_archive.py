"""An archive of the classes that name servers and brokers load: both start with a quarter less of processor time.

It lies beside the jars and is made once, of what a first start loads. A JVM of another version starts without it.
"""

import tempfile
from pathlib import Path

from ..drivers.build import build, locked
from ..drivers.recipe import Workshop
from .apache import ApacheBroker, recipe


def quick_start(version: str) -> tuple[str, ...]:
    """Switches for the JVMs of a version, with which they start sooner.

    Errors: BuildError, TargetError (the first start).
    """
    folder = build(recipe(version))
    archive = folder / "classes.jsa"
    with locked(folder.with_name(f"{folder.name}.archive.lock")):
        if not archive.is_file():
            _make(version, folder / "lib", archive)
    return (f"-XX:SharedArchiveFile={archive}",)


def _make(version: str, jars: Path, archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=f"apache-{version}-classes-") as name:
        folder = Path(name)
        with ApacheBroker(version, jvm=[f"-XX:DumpLoadedClassList={folder}/%p.list"]):
            pass
        listed = folder / "classes"
        listed.write_text("".join(f"{each}\n" for each in _loaded(folder)))
        draft = archive.with_suffix(".draft")
        switches = ("-XX:+UseSerialGC", "-Xshare:dump", f"-XX:SharedClassListFile={listed}")
        # The class path must be what brokers have: they are given its jars in the same words.
        Workshop(folder, folder).run("java", *switches, f"-XX:SharedArchiveFile={draft}", "-cp", f"{jars}/*")
        draft.replace(archive)


def _loaded(folder: Path) -> list[str]:
    """The lines of all lists, each once; of one whose process was killed the last line may be half a one."""
    lines: dict[str, None] = {}
    for each in sorted(folder.glob("*.list")):
        lines |= dict.fromkeys(each.read_text().rpartition("\n")[0].splitlines())
    return list(lines)
