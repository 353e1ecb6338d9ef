"""Apache's own ``mqadmin`` (rocketmq-tools 5.3.3, from its published jars), as a function.

Its exit status is 0 even when a command fails, so callers judge by what it prints.
"""

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from .build import build
from .java_build import JAVA_TOOLS, copy_jars, java_words
from .recipe import Launch, Recipe, Workshop

VERSION = "5.3.3"
COMMAND_SECONDS = 60.0


def _build(workshop: Workshop, version: str) -> None:
    copy_jars(workshop, version)


def _words(launch: Launch) -> list[str]:
    return java_words(
        launch,
        "org.apache.rocketmq.tools.command.MQAdminStartup",
        f"rocketmq.log.root={launch.home}/logs",
        "rmq.logback.configurationFile=rmq.tools.logback.xml",
    )


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
)


class MqadminError(Exception):
    """``mqadmin`` did not end in time, or printed that a command failed."""


def mqadmin(namesrv: str, *arguments: str, timeout: float = COMMAND_SECONDS) -> str:
    """Run one ``mqadmin`` command against the name server ``host:port``; return its stdout, with its stderr after it.

    Raises BuildError when it cannot be assembled, MqadminError after ``timeout`` seconds. A command that fails does not
    raise: it is in the text.
    """
    built = build(MQADMIN)
    with tempfile.TemporaryDirectory(prefix="mqadmin-") as home:
        words = [*_words(Launch(built=built, home=Path(home))), *arguments, "-n", namesrv]
        try:
            done = subprocess.run(
                words,
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
