"""The table of the reasons of explanations, from the docstrings of the enum `Reason`."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "emulator" / "explanation" / "reason.py"


def table() -> list[str]:
    """Return the lines of the table."""
    return ["| reason | meaning |", "|---|---|", *(f"| `{name}` | {meaning} |" for name, meaning in _reasons())]


def _reasons() -> Iterator[tuple[str, str]]:
    """Yield the name of each reason with the docstring below it, on one line and without a full stop."""
    (enum,) = (node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.ClassDef))
    for member, docstring in pairwise(enum.body):
        if isinstance(member, ast.Assign) and isinstance(docstring, ast.Expr):
            (name,), text = member.targets, docstring.value
            assert isinstance(name, ast.Name)
            assert isinstance(text, ast.Constant)
            yield name.id, " ".join(str(text.value).split()).removesuffix(".").replace("|", "\\|")
