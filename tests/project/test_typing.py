"""The type annotations of the package, checked with programs of a user."""

import subprocess
import sys
from pathlib import Path

import pytest
from namespace_links import ROOT

RIGHT = """
import pytest
from rocketmq_testkit import Emulator, EmulatorOptions


@pytest.fixture
def rocketmq_config() -> EmulatorOptions:
    return {"seed": 7, "config": {"popPollingSize": 5, "flushDiskType": "SYNC_FLUSH"}}


@pytest.mark.rocketmq(**EmulatorOptions(brokers=2))
def test_it(rocketmq: Emulator) -> None:
    with Emulator(profile="fast", brokers=[{"brokerName": "a"}], topics=["orders:FIFO"]) as emulator:
        emulator.topic("orders").send(b"two teas", message_group="table-7")
"""
WRONG = """
from rocketmq_testkit import Emulator, EmulatorOptions

Emulator(profil="fast")
Emulator(brokers="2")
Emulator(profile="fats")
Emulator(topics="orders").topic("orders").send(5)
EmulatorOptions(profil="fast")
options: EmulatorOptions = {"sed": 7}
"""


def checked(text: str, folder: Path) -> list[str]:
    """Return mypy's errors for a program, without file and line."""
    (folder / "program.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(folder / "program.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [line.split(": ", 2)[2] for line in done.stdout.splitlines() if ": error: " in line]


@pytest.mark.parametrize("text", [RIGHT], ids=["right"])
def test_right_options_pass_a_type_checker(text: str, tmp_path: Path) -> None:
    """Correct options of the class, the fixture and the marker pass a type checker."""
    assert checked(text, tmp_path) == []


def test_misspelled_options_are_found_by_a_type_checker(tmp_path: Path) -> None:
    """A type checker finds wrong names and types of options."""
    found = checked(WRONG, tmp_path)
    assert [error.partition("  [")[0] for error in found] == [
        'Unexpected keyword argument "profil" for "Emulator"; did you mean "profile"?',
        'Argument "brokers" to "Emulator" has incompatible type "str"; '
        'expected "int | Sequence[Mapping[str, object]] | None"',
        'Argument "profile" to "Emulator" has incompatible type "Literal[\'fats\']"; '
        "expected \"Literal['faithful', 'fast'] | None\"",
        'Argument 1 to "send" of "Topic" has incompatible type "int"; expected "bytes | str"',
        'Extra key "profil" for TypedDict "EmulatorOptions"',
        'Extra key "sed" for TypedDict "EmulatorOptions"',
    ]
