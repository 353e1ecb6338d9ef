"""Tests of the example pipelines, started with the commands of the README and of their own page."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from quick_java import QUICK_JAVA
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.options.command_options import emulator_options, parse

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "pipelines"
SECONDS = 300.0


def lines(page: Path, part: str) -> list[str]:
    """Return the stripped lines of a page that contain a text."""
    return [line.strip() for line in page.read_text().splitlines() if part in line]


@contextmanager
def running(command: str, log: Path) -> Iterator[Callable[[Callable[[], bool]], None]]:
    """Run a pipeline until the end of the block; yields a function that waits until a condition is true."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=EXAMPLES,
            env={**os.environ, **QUICK_JAVA},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def until(true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not true():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)

    try:
        yield until
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_both_pipelines_run_with_the_commands_of_their_page(tmp_path: Path) -> None:
    """Both pipelines run with the commands of their page; the README starts the word count with the same command."""
    [serve] = lines(EXAMPLES / "README.md", "rocketmq-emulator --topic")
    commands = lines(EXAMPLES / "README.md", "python -m pipelines.")
    [of_readme] = lines(ROOT / "README.md", "python -m pipelines.")
    assert of_readme.removeprefix("../../.venv/bin/") == commands[0]
    assert (ROOT / "examples" / "pipelines").relative_to(ROOT).as_posix() in lines(ROOT / "README.md", "cd examples")[0]

    options = emulator_options(parse(serve.split()[1:]))
    with Emulator(topics=options["topics"]) as emulator:
        count, enrich = (
            command.replace("127.0.0.1:9876", emulator.namesrv)
            .replace("/tmp/", f"{tmp_path}/")
            .replace("python", sys.executable, 1)
            for command in commands
        )
        emulator.topic("lines").send(b"two teas")
        emulator.topic("customers").send(b'{"customer": "ada", "country": "NO"}')
        emulator.topic("orders").send(b'{"id": "1", "customer": "ada", "amount": 5}')
        emulator.topic("orders").send(b"hello")
        with running(count, tmp_path / "count.log") as counted, running(enrich, tmp_path / "enrich.log") as enriched:
            counted(lambda: len(emulator.messages("word-counts")) == 2)
            enriched(lambda: len(emulator.messages("orders-enriched")) == 1)
            enriched(lambda: len(emulator.messages("orders-refused")) == 1)
