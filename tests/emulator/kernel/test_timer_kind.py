"""The texts of the kinds of timers are defined only in TimerKind."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocketmq_testkit.emulator.kernel.timer_kind import TimerKind

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("emulator", "grpc_v2", "fixtures")
SETTERS = ("call_at", "call_later", "after", "send", "TimerPerInstant", "PopLongPolling")
"""Functions and classes with an argument for the kind of a timer."""
KINDS = {text: name for name, text in vars(TimerKind).items() if name.isupper()}


def test_each_kind_of_timer_has_a_text_of_its_own() -> None:
    """No two kinds have the same text, and no text is empty."""
    assert len(KINDS) == sum(name.isupper() for name in vars(TimerKind))
    assert all(text.strip() == text != "" for text in KINDS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_timer_is_set_with_a_literal_as_its_kind(folder: str) -> None:
    """A call that sets a timer uses a constant of TimerKind, because fixtures compare with these."""
    assert [each for path in sorted((ROOT / folder).rglob("*.py")) for each in literal_kinds(path)] == []


def literal_kinds(path: Path) -> Iterator[str]:
    """Yield the place and the text of each literal kind in a source."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and _name(node.func) in SETTERS:
            for given in (*node.args, *(each.value for each in node.keywords)):
                if isinstance(given, ast.Constant) and isinstance(given.value, str) and given.value in KINDS:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}: {given.value}"


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
