"""Builds and starts the Java programs: jars copied by Maven, plain javac, lightweight JVM options."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rocketmq_testkit.fixtures import Emulator

from . import class_archive
from .recipe import BuildError, BuildFolders, Launch, Tool

JAVA_TOOLS = (
    Tool("java", "install a JDK, version 17 or newer (Debian: apt-get install openjdk-17-jdk-headless)"),
    Tool("jar", "it belongs to the JDK that has javac"),
    Tool("javac", "install a JDK, version 17 or newer (Debian: apt-get install openjdk-17-jdk-headless)"),
    Tool("mvn", "install Maven 3 (Debian: apt-get install maven)"),
)
COMMON = Path(__file__).parents[1] / "java_common"


def copy_jars(folders: BuildFolders, version: str) -> None:
    """Fetch the jars of the folder's ``pom.xml``, with its property ``sdk.version`` set, into ``lib``.

    Raises BuildError if they differ from those in ``jars-<version>.json``, if the folder has one.
    """
    pom = folders.target / "pom.xml"
    # Maven writes next to the pom, and the source folder may be read-only.
    pom.write_bytes((folders.source / "pom.xml").read_bytes())
    folders.run(
        "mvn",
        "-q",
        "-B",
        "-f",
        pom,
        f"-Dsdk.version={version}",
        "dependency:copy-dependencies",
        f"-DoutputDirectory={folders.target / 'lib'}",
    )
    lock = folders.source / f"jars-{version}.json"
    if lock.is_file():
        _compare(json.loads(lock.read_text(encoding="utf-8")), lock_of(folders.target / "lib"))


def lock_of(folder: Path) -> dict[str, str]:
    """Return the jars in ``folder`` with the SHA-256 of each: the content of a lock file."""
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in sorted(folder.glob("*.jar"))}


def _compare(locked: dict[str, str], found: dict[str, str]) -> None:
    wrong = sorted(name for name in locked.keys() | found.keys() if locked.get(name) != found.get(name))
    if wrong:
        raise BuildError(f"the jars that Maven fetched differ from the lock file: {', '.join(wrong)}")


def build_driver(folders: BuildFolders, version: str) -> None:
    """Fetch the SDK, and compile the folder's sources and ``java_common`` into a jar next to the SDK's."""
    copy_jars(folders, version)
    sources = sorted([*folders.source.rglob("*.java"), *COMMON.rglob("*.java")])
    classes, jars = folders.target / "classes", folders.target / "lib"
    classes.mkdir()
    folders.run("javac", "-encoding", "UTF-8", "-d", classes, "-cp", f"{jars}/*", *sources)
    # A class data archive does not support folders.
    folders.run("jar", "--create", "--file", jars / "driver.jar", "-C", classes, ".")


def archive_driver(
    built: Path, words: Callable[[Launch], Sequence[str]], commands: Sequence[Mapping[str, Any]], address: str
) -> None:
    """Create the archive of the classes that a driver loads to serve ``commands`` against an emulator.

    ``address`` is the driver's address option, ``namesrv`` or ``endpoint``. The emulator has the topic ``orders`` and
    the group ``billing``. Raises BuildError.
    """

    def run(jvm: Sequence[str]) -> None:
        with Emulator(topics=["orders:NORMAL:1"]) as emulator, tempfile.TemporaryDirectory(prefix="driver-") as home:
            emulator.group("billing")
            java, *others = words(Launch(built=built, home=Path(home)))
            started = [java, *jvm, *others, f"--{address}", str(getattr(emulator, address))]
            class_archive.converse(started, commands, {**os.environ, "HOME": home})

    class_archive.make(built, run)


def java_words(launch: Launch, main: str, *properties: str) -> list[str]:
    """Return the command line that starts ``main`` with HOME as its user folder; ``properties`` are ``name=value``."""
    # The quick compiler and the serial collector start faster and use fewer cores; under load neither is wanted.
    light = ["-XX:TieredStopAtLevel=1", "-Xmx256m"]
    return [
        "java",
        "-XX:+UseSerialGC",
        "-Xshare:auto",
        *class_archive.switches(launch.built),
        *(["-Xmx1g"] if launch.load else light),
        f"-Duser.home={launch.home}",
        *(f"-D{pair}" for pair in properties),
        "-cp",
        f"{launch.built / 'lib'}/*",
        main,
    ]
