"""A Java application of the exploration's tests: a process with the published SDK, unmodified."""

import os
import subprocess
from pathlib import Path

from rocketmq_testkit import Emulator
from rocketmq_testkit.conformance.drivers import build, registry

MAIN = "OrderConsumer"
SOURCE = Path(__file__).parents[1] / "exploration" / "java" / f"{MAIN}.java"
CLASSES = "ROCKETMQ_TESTKIT_JAVA_CLASSES"
"""Environment variable with the folder of the compiled application, for explored tests in processes of their own."""
ARCHIVE = "classes.jsa"
_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-Xshare:auto", "-Drocketmq.log.level=error")


def compile_application(folder: Path) -> None:
    """Compile the application into a folder, and archive its classes. Raises CalledProcessError, BuildError."""
    jar = folder / "application.jar"
    subprocess.run(["javac", "-encoding", "UTF-8", "-d", folder / "classes", "-cp", _sdk(), SOURCE], check=True)
    subprocess.run(["jar", "--create", "--file", jar, "-C", folder / "classes", "."], check=True)
    with Emulator(topics=["orders"]) as emulator:
        first = JavaApplication(emulator, "remember", "first", folder, classes=folder)
        first.start(f"-XX:ArchiveClassesAtExit={folder / ARCHIVE}")
        emulator.topic("orders").send(b"", keys=["order-1"])
        emulator.assert_no_loss("orders", group="first", within="1m")
        first.stop()


def _sdk() -> str:
    return f"{build.build(registry.recipe('java-grpc'))}/lib/*"


class JavaApplication:
    """The process of one application, and its ledger, the file in which it notes the orders that it has processed."""

    def __init__(self, emulator: Emulator, name: str, group: str, folder: Path, *, classes: Path | None = None) -> None:
        self._emulator = emulator
        self._name = name
        self._group = group
        self._folder = folder
        self._classes = classes or Path(os.environ[CLASSES])
        self._ledger = folder / "ledger"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, archive: str = "") -> None:
        """Start the process, and wait until its consumer has started. `archive`: the JVM option for the archive."""
        archive = archive or f"-XX:SharedArchiveFile={self._classes / ARCHIVE}"
        path = f"{self._classes / 'application.jar'}:{_sdk()}"
        words = ["java", *_OPTIONS, archive, f"-Drocketmq.log.root={self._folder}", "-cp", path]
        arguments = [self._emulator.endpoint, self._group, "orders", str(self._ledger), self._name]
        pipe = subprocess.PIPE
        process = subprocess.Popen([*words, MAIN, *arguments], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self._process = process
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"

    def stop(self) -> None:
        """End the process once it has processed its current message. A no-op if it has ended."""
        if self._process is not None:
            self._process.communicate(timeout=30)
            self._process = None

    def kill(self) -> None:
        """Kill the process. A no-op if it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=30)
            self._process = None

    def crash(self) -> None:
        """Kill the process, and start another with the same ledger."""
        self.kill()
        self.start()

    @property
    def orders(self) -> list[str]:
        """The orders that the application has processed, in order."""
        return self._ledger.read_text().split() if self._ledger.exists() else []
