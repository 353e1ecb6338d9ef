"""Tests of the command `rocketmq-audit`, run like a user."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark_rocketmq.audit import VERDICTS, EventKind, read_lines
from pyspark_rocketmq.audit.command import FAILED, SOUND, UNUSABLE, main, parser
from pyspark_rocketmq.audit.events import COLUMNS
from rocketmq_testkit.fixtures import Emulator

pytestmark = pytest.mark.sampled("tests")

JOURNAL = """
{"ts_us": 1000000, "event": "stored", "topic": "orders", "msgId": "m1", "keys": "1001"}
{"ts_us": 2000000, "event": "delivered", "topic": "orders", "msgId": "m1", "group": "shop"}
{"ts_us": 3000000, "event": "acked", "topic": "orders", "msgId": "m1", "group": "shop"}
{"ts_us": 4000000, "event": "delivered", "topic": "orders", "msgId": "m1", "group": "shop"}
"""
COMMAND = Path(sys.executable).with_name("rocketmq-audit")


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run the command in a separate process, since it stops its session at the end."""
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=600, check=False)


def test_an_audit_writes_page_sums_and_findings_and_returns_an_exit_code(tmp_path: Path, rocketmq: Emulator) -> None:
    """An audit of a journal file and a running emulator writes a page, sums and findings, and returns an exit code."""
    (tmp_path / "journal.jsonl").write_text(JOURNAL)
    rocketmq.topic("teas").send(b"tea")

    done = run(
        tmp_path / "journal.jsonl",
        rocketmq.control,
        "--save-journal",
        tmp_path / "emulator.jsonl",
        "--report",
        tmp_path / "audit.html",
        "--json",
        tmp_path / "audit.json",
        "--findings",
        tmp_path / "findings",
        "--scratch",
        tmp_path,
    )

    assert done.returncode == FAILED, done.stderr
    assert done.stdout.splitlines()[-1] == "5 events, 1 messages for groups: 1 duplicated"
    assert "1 duplicated" in (tmp_path / "audit.html").read_text()
    sums = json.loads((tmp_path / "audit.json").read_text())
    assert [line["verdicts"]["duplicated"] for line in sums["lines"]] == [1]
    assert list((tmp_path / "findings").glob("*.parquet"))
    [event] = read_lines((tmp_path / "emulator.jsonl").read_text().splitlines())
    assert event.topic == "teas"
    assert not list(tmp_path.glob("rocketmq-audit-*"))


def test_fail_on_decides_which_verdicts_fail_the_audit(tmp_path: Path) -> None:
    """With other verdicts in --fail-on the same journal is sound."""
    (tmp_path / "journal.jsonl").write_text(JOURNAL)
    done = run(tmp_path / "journal.jsonl", "--fail-on", "lost,unexpected")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        SOUND,
        "4 events, 1 messages for groups: no problems",
    )


def test_the_audit_page_names_every_option_verdict_event_and_column() -> None:
    page = (Path(__file__).parents[1] / "docs" / "audit.md").read_text()
    options = {word for action in parser()._actions for word in action.option_strings if word.startswith("--")}
    names = {f"`{option}" for option in options - {"--help"}}
    names |= {f"| **{verdict}** |" for verdict in VERDICTS} | {f"`{kind}`" for kind in EventKind}
    names |= {f"`{column}`" for column in COLUMNS}
    assert {name for name in names if name not in page} == set()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["none.jsonl"], "none.jsonl: there is no such journal"),
        (["http://127.0.0.1:1"], "http://127.0.0.1:1 is no control port of an emulator"),
        (["none.jsonl", "--save-journal", "x"], "give one address of a control port"),
        (
            ["none.jsonl", "--fail-on", "lost,mislaid"],
            "--fail-on=mislaid: there is no such verdict; there are lost, duplicated",
        ),
        (["none.jsonl", "--late-after", "soon"], "--late-after=soon: not a number of milliseconds"),
        ([], "JOURNAL: missing; the command needs it; use rocketmq-audit JOURNAL"),
    ],
)
def test_unusable_arguments_end_the_command_with_one_sentence(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2, before Spark is started."""
    assert main(words) == UNUSABLE
    said = capsys.readouterr().err
    assert problem in said
    assert "Traceback" not in said
