"""Apache's own ``mqadmin`` (rocketmq-tools 5.3.3, from its published jars), as a function.

Its exit status is 0 even if a command fails, so callers must check its output.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rocketmq_testkit.fixtures import Emulator

from .build import build
from .toolchains import class_archive
from .toolchains.java_build import JAVA_TOOLS, copy_jars, java_words
from .toolchains.recipe import BuildFolders, Launch, Recipe

VERSION = "5.3.3"
COMMAND_SECONDS = 60.0
_FIRST_RUNS = ("updateTopic -c DefaultCluster -t orders", "clusterList", "topicStatus -t orders")
"""Commands that run once after the build; the classes that they load are stored in the class data archive."""


def _build(folders: BuildFolders, version: str) -> None:
    copy_jars(folders, version)


def _words(launch: Launch) -> list[str]:
    return java_words(
        launch,
        "org.apache.rocketmq.tools.command.MQAdminStartup",
        f"rocketmq.log.root={launch.home}/logs",
        "rmq.logback.configurationFile=rmq.tools.logback.xml",
    )


def _archive(built: Path) -> None:
    def run(jvm: Sequence[str]) -> None:
        with Emulator() as emulator:
            for command in _FIRST_RUNS:
                _run(built, [*command.split(), "-n", emulator.namesrv], COMMAND_SECONDS, jvm)

    class_archive.make(built, run)


MQADMIN = Recipe(
    name="mqadmin",
    language="java",
    protocol="remoting",
    package="org.apache.rocketmq:rocketmq-tools",
    version=VERSION,
    folder=Path(__file__).parent / "java_tools",
    build=partial(_build, version=VERSION),
    command=_words,
    tools=JAVA_TOOLS,
    finish_in_place=_archive,
)


class MqadminError(Exception):
    """``mqadmin`` did not end in time, or printed that a command failed."""


def mqadmin(namesrv: str, *arguments: str, timeout: float = COMMAND_SECONDS) -> str:
    """Run one ``mqadmin`` command against the name server ``host:port``; return its stdout followed by its stderr.

    Raises BuildError if it cannot be assembled, MqadminError after ``timeout`` seconds. A command that fails does not
    raise; its error is in the text.
    """
    return _run(build(MQADMIN), [*arguments, "-n", namesrv], timeout)


def _run(built: Path, arguments: Sequence[str], timeout: float, jvm: Sequence[str] = ()) -> str:
    with tempfile.TemporaryDirectory(prefix="mqadmin-") as home:
        java, *words = _words(Launch(built=built, home=Path(home)))
        try:
            done = subprocess.run(
                [java, *jvm, *words, *arguments],
                env={**os.environ, "HOME": home, "ROCKETMQ_HOME": home},
                cwd=home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise MqadminError(f"mqadmin {' '.join(arguments)} did not end within {timeout:g} s") from error
    return done.stdout + done.stderr
