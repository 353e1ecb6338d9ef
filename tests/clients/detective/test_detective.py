"""Thirty broken applications: for each, a sentence of the emulator names the mistake.

`detective.md` shows each mistake beside its sentence, so that a reader can judge them. UPDATE_DETECTIVE=1 writes it.
"""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from broken_applications import APPLICATIONS, Clue
from explained_sdks import Scene, Sdks
from rocketmq_testkit.fixtures import Emulator

CONFIG = {"enablePropertyFilter": True, "initPopOffsetByCheckMsgInMem": False, "recallMessageEnable": True}
"""SQL92 filters of remoting consumers, pops of new groups that start at the end, and recalls."""
PAGE = Path(__file__).with_name("detective.md")
HEAD = """# Thirty broken applications

Written by `UPDATE_DETECTIVE=1 pytest tests/clients/detective`. Ids, clients and times are replaced. Each row has the
mistake of an application, and the sentence of `explain`, a warning, `history` or an idle client that names it.

| application | mistake | verdict | sentence |
|---|---|---|---|
"""
_SHOWN = (
    (re.compile(r"\b[0-9A-F]{32,64}\b"), "ID"),
    (re.compile(r"\b(?:vm|[0-9]+(?:\.[0-9]+){3}|[\w.-]+)@[\w#@.-]+"), "CLIENT"),
    (re.compile(r"(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:\.\d+)?"), "TIME"),
    (re.compile(r"\b12(?:\.\d+)? s\b"), "12 s"),  # a measured time: one application works 12 s
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
)


@pytest.fixture(scope="module")
def shared_sdks() -> Iterator[Sdks]:
    """One emulator and one process of each SDK for all applications, which use distinct names."""
    with Emulator(config=CONFIG) as emulator:
        sdks = Sdks(emulator)
        for name in ("java-remoting", "go-remoting", "python"):
            sdks.driver(name)
        yield sdks
        sdks.close()


@pytest.fixture
def scene(shared_sdks: Sdks, name: str) -> Iterator[Scene]:
    """A scene for the application, whose name its topic and group have."""
    with ExitStack() as clients:
        yield Scene(shared_sdks, name.replace("_", "-"), clients)


@pytest.fixture(scope="module")
def rows() -> Iterator[dict[str, str]]:
    """The rows of the page by application: those of the file, or with UPDATE_DETECTIVE those of this run."""
    found = {line.split("|")[1].strip(): line for line in PAGE.read_text().splitlines() if line.startswith("| ")}
    yield found
    if os.environ.get("UPDATE_DETECTIVE"):
        PAGE.write_text(HEAD + "".join(f"{found[name]}\n" for name in APPLICATIONS if name in found))


def _row(name: str, clue: Clue) -> str:
    sentence = clue.sentence
    for pattern, shown in _SHOWN:
        sentence = pattern.sub(shown, sentence)
    sentence = sentence.replace("|", "\\|")
    return f"| {name} | {APPLICATIONS[name].mistake} | {clue.verdict} | {sentence} |"


def test_there_are_thirty_applications() -> None:
    assert len(APPLICATIONS) == 30
    assert all(application.mistake for application in APPLICATIONS.values())


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_sentence_names_the_mistake(scene: Scene, name: str, rows: dict[str, str]) -> None:
    """Verdict and sentence name the mistake with its wrong value, and are those of the page."""
    application = APPLICATIONS[name]
    clue = application.investigate(scene)
    assert clue.verdict == application.verdict, clue.sentence
    for value in application.values:
        assert value.replace("{name}", scene.name) in clue.sentence
    if os.environ.get("UPDATE_DETECTIVE"):
        rows[name] = _row(name, clue)
    assert rows[name] == _row(name, clue)
